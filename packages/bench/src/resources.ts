/**
 * A temporary folder and a redis-server for the stores of a run. Closing the scope removes both.
 */
import { startRedis, temporaryFolder } from "@tollgate/testing"
import { Effect } from "effect"

export interface Resources {
  readonly folder: string
  /** The URL of a redis-server. */
  readonly redis: string
}

export const openResources = Effect.gen(function* () {
  return { folder: yield* temporaryFolder, redis: (yield* startRedis()).url } satisfies Resources
})
