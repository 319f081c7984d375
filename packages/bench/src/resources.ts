/**
 * Where the stores of a run are: a folder on the disk, and a redis-server, both gone when it ends.
 */
import { startRedis, temporaryFolder } from "@tollgate/testing"
import { Effect } from "effect"

export interface Resources {
  readonly folder: string
  /** The address of a redis-server. */
  readonly redis: string
}

export const openResources = Effect.gen(function* () {
  return { folder: yield* temporaryFolder, redis: (yield* startRedis()).url } satisfies Resources
})
