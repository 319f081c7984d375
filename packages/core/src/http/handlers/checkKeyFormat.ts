import { Effect } from "effect"
import { Forbidden, Principal } from "../../access/Principal.ts"
import type { KeyVisibility } from "../../records/ApiKey.ts"

/** Whoever may only read does not see key values. */
export const checkKeyFormat = (format: KeyVisibility | undefined): Effect.Effect<void, Forbidden, Principal> =>
  Effect.flatMap(Principal, ({ access }) =>
    format === "visible" && access === "read"
      ? Effect.fail(new Forbidden({ problem: "This credential may not see key values; ask for masked ones" }))
      : Effect.void
  )
