import { signal } from "@preact/signals"

/** Increases with each change of plan, which changes what is left, too. */
export const planRevision = signal(0)
