import { Context } from "effect"

/** Whether this process does background work. Otherwise another process does what it causes. */
export const Background = Context.Reference<boolean>("@tollgate/core/jobs/Background", { defaultValue: () => true })
