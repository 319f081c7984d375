/**
 * Where the stores of a run are: a folder on the disk, and a redis-server, both gone when it ends.
 */
import { startRedis, temporaryFolder } from "@tollgate/testing"
import { Effect } from "effect"

export interface Places {
  readonly folder: string
  /** The address of a redis-server. */
  readonly redis: string
}

export const places = Effect.gen(function* () {
  return { folder: yield* temporaryFolder, redis: (yield* startRedis()).url } satisfies Places
})
