import { type Partition, StoreConflict, type StoreError, type StoreOperations } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { RateLimitPolicy } from "./RateLimit.ts"
import type { RateLimited } from "./RateLimitError.ts"
import { makeTake, type RateLimitStatus, toRateLimited, toStatuses } from "./RateLimitTake.ts"

/** Takes a request without a key from a limit, which all requests of a client share. Fails if none is left. */
export const takeFromLimit = (
  store: StoreOperations,
  partition: Partition.Partition,
  policy: RateLimitPolicy,
  client: string
): Effect.Effect<ReadonlyArray<RateLimitStatus>, RateLimited | StoreError> => {
  const takes = [makeTake(policy, "client", client, 1)]
  return store
    .commit(
      partition,
      takes.map(({ change }) => change)
    )
    .pipe(
      Effect.map((commitResult) => toStatuses(takes, commitResult)),
      Effect.mapError((error) => (error instanceof StoreConflict ? (toRateLimited(takes, error) ?? error) : error))
    )
}
