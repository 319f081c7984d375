import { Context } from "effect"

/** Whether spans may have the names of accounts, key buckets and consumers. */
export const SpanNames = Context.Reference<boolean>("@tollgate/core/telemetry/SpanNames", {
  defaultValue: () => false
})
