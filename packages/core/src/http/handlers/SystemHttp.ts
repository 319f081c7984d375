import { Effect } from "effect"
import * as Partition from "../../store/Partition.ts"
import { Store } from "../../store/Store.ts"
import type { GroupHandlers } from "../GroupHandlers.ts"
import { mapErrorsToProblems } from "../mapErrorsToProblems.ts"

const healthy = { status: "ok" } as const

export const SystemHttp = Effect.gen(function* () {
  const store = yield* Store
  return {
    alive: () => Effect.succeed(healthy),
    // Any key will do, even one that does not exist: the check only needs a response from the store.
    ready: () => mapErrorsToProblems(Effect.as(store.get(Partition.keysDirectory, ["any"]), healthy))
  } satisfies GroupHandlers<"system">
})
