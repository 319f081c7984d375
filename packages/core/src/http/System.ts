import { Partition, type StoreOperations } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { Operations } from "../api/Operations.ts"
import type { SystemApi } from "../api/SystemApi.ts"

const healthy = { status: "ok" } as const

/** The health checks. */
export const makeSystemOperations = (store: StoreOperations): Operations<typeof SystemApi> => ({
  alive: () => Effect.succeed(healthy),
  // Any key will do, even one that does not exist: the check only needs a response from the store.
  ready: () => Effect.as(store.get(Partition.keysDirectory, ["any"]), healthy)
})
