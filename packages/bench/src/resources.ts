/**
 * A temporary folder and servers for the stores of a measurement. Closing the scope removes them.
 */
import { startPostgres, startRedis, temporaryFolder } from "@tollgate/testing"
import { Effect } from "effect"

export interface Resources {
  readonly folder: string
  /** The URL of a redis-server. */
  readonly redis: string
  /** The URL of a PostgreSQL server with its default settings: an acknowledged commit survives a crash of the machine. */
  readonly postgres: string
}

export const openResources = Effect.gen(function* () {
  const [redis, postgres] = [yield* startRedis(), yield* startPostgres({ durable: true })]
  return { folder: yield* temporaryFolder, redis: redis.url, postgres: postgres.url } satisfies Resources
})
