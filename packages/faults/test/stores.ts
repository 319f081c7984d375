/**
 * Every kind of store, real, and opened once for a file of tests: each world in it has a part of its own.
 */
import { type Partition, Store, type StoreOperations } from "@tollgate/core"
import { RedisStore } from "@tollgate/redis"
import { startRedisCluster } from "@tollgate/testing"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { Cluster } from "ioredis"
import { afterAll, beforeAll } from "vitest"
import { secret, stores } from "../../core/test/stores.ts"

const cluster = Effect.gen(function* () {
  const { nodes } = yield* startRedisCluster({ masters: 3 })
  return yield* Effect.acquireRelease(
    Effect.sync(() => new Cluster([...nodes])),
    (client) => Effect.sync(() => client.disconnect())
  )
})

export { secret, stores }

export const storesAndCluster: typeof stores = [
  ...stores,
  ["a Redis Cluster", Layer.unwrap(Effect.map(cluster, RedisStore.layer))]
]

/** A part of a store that looks like a whole one: what is done in it meets nothing of any other part. */
const partOf = (store: StoreOperations, name: string): StoreOperations => {
  const within = (partition: Partition.Partition) => `${name}/${partition}` as Partition.Partition
  return {
    get: (partition, ...rest) => store.get(within(partition), ...rest),
    getByUniqueKey: (partition, ...rest) => store.getByUniqueKey(within(partition), ...rest),
    list: (partition, ...rest) => store.list(within(partition), ...rest),
    counters: (partition, ...rest) => store.counters(within(partition), ...rest),
    commit: (partition, ...rest) => store.commit(within(partition), ...rest),
    clear: (partition) => store.clear(within(partition))
  }
}

/** Opens a store before a group of tests and closes it behind them; gives a new and empty part of it at every call. */
export const openedFor = (layer: Layer.Layer<Store, unknown>): (() => StoreOperations) => {
  const scope = Scope.makeUnsafe()
  let store: StoreOperations
  let parts = 0
  beforeAll(async () => {
    store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
  }, 60_000)
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => partOf(store, `part-${++parts}`)
}
