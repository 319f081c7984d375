import { Context } from "effect"

/** The option `publicUrl`, without a slash at its end. */
export const PublicUrl = Context.Reference<string | undefined>("@tollgate/core/modules/PublicUrl", {
  defaultValue: () => undefined
})
