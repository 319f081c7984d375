import { Effect } from "effect"
import { Forbidden, Principal } from "../../access/Principal.ts"
import type { KeyVisibility } from "../../records/ApiKey.ts"

/** Rejects `key-format=visible` for read-only credentials: they must not see key values. */
export const checkCanSeeKeyValues = (format: KeyVisibility | undefined): Effect.Effect<void, Forbidden, Principal> =>
  Effect.flatMap(Principal, ({ access }) =>
    format === "visible" && access === "read"
      ? Effect.fail(new Forbidden({ problem: "A read-only credential cannot see key values. Use key-format=masked." }))
      : Effect.void
  )
