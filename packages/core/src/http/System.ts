import { Effect } from "effect"
import type { AllOperations } from "../operations/AllOperations.ts"
import * as Partition from "../store/Partition.ts"
import type { StoreOperations } from "../store/Store.ts"

const healthy = { status: "ok" } as const

/** The health checks. */
export const makeSystemOperations = (store: StoreOperations): AllOperations["system"] => ({
  alive: () => Effect.succeed(healthy),
  // Any key will do, even one that does not exist: the check only needs a response from the store.
  ready: () => Effect.as(store.get(Partition.keysDirectory, ["any"]), healthy)
})
