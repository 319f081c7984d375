/**
 * Real stores of every kind. Each is opened once per group of tests; each test gets its own isolated part of it.
 */

import { RedisStore } from "@tollgate/redis"
import { type Partition, Store, type StoreOperations } from "@tollgate/store"
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

/** A view of a store that prefixes every partition, so that it shares no records with other views. */
const isolate = (store: StoreOperations, name: string): StoreOperations => {
  const toIsolated = (partition: Partition.Partition) => `${name}/${partition}` as Partition.Partition
  return {
    get: (partition, ...rest) => store.get(toIsolated(partition), ...rest),
    getByUniqueKey: (partition, ...rest) => store.getByUniqueKey(toIsolated(partition), ...rest),
    list: (partition, ...rest) => store.list(toIsolated(partition), ...rest),
    search: (partition, ...rest) => store.search(toIsolated(partition), ...rest),
    counters: (partition, ...rest) => store.counters(toIsolated(partition), ...rest),
    commit: (partition, ...rest) => store.commit(toIsolated(partition), ...rest),
    clear: (partition) => store.clear(toIsolated(partition))
  }
}

/** Opens a store before a group of tests and closes it afterwards. Each call of the result returns a new, empty part. */
export const setUpStore = (layer: Layer.Layer<Store, unknown>): (() => StoreOperations) => {
  const scope = Scope.makeUnsafe()
  let store: StoreOperations
  let count = 0
  beforeAll(async () => {
    store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
  }, 60_000)
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => isolate(store, `part-${++count}`)
}
