/**
 * All stores on real infrastructure: a SQLite file, a PostgreSQL server, a redis-server, a Redis Cluster of three masters.
 */
import { join } from "node:path"
import { MemoryStore } from "@tollgate/memory"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { Store, type StoreOperations } from "@tollgate/store"
import { startPostgres, startRedis, startRedisCluster, temporaryFolder } from "@tollgate/testing"
import { Context, Effect, Layer, type Scope } from "effect"
import { Cluster } from "ioredis"

export interface Adapter {
  readonly name: string
  readonly store: StoreOperations
}

const buildAdapter = <E>(name: string, layer: Layer.Layer<Store, E>): Effect.Effect<Adapter, E, Scope.Scope> =>
  Effect.map(Layer.build(layer), (context) => ({ name, store: Context.get(context, Store) }))

export const adapters: ReadonlyArray<Effect.Effect<Adapter, unknown, Scope.Scope>> = [
  buildAdapter("memory", MemoryStore.layer),
  Effect.flatMap(temporaryFolder, (folder) => buildAdapter("SQLite file", SqliteStore.layer(join(folder, "bench.db")))),
  Effect.flatMap(startPostgres({ durable: true }), ({ url }) => buildAdapter("Postgres", PostgresStore.layer(url))),
  Effect.flatMap(startRedis(), ({ url }) => buildAdapter("Redis", RedisStore.layer(url))),
  Effect.gen(function* () {
    const { nodes } = yield* startRedisCluster()
    const cluster = yield* Effect.acquireRelease(
      Effect.sync(() => new Cluster([...nodes])),
      (cluster) => Effect.sync(() => cluster.disconnect())
    )
    return yield* buildAdapter("Redis Cluster", RedisStore.layer(cluster))
  })
]
