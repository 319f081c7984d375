/**
 * Copies of whole stores, between every two kinds of stores.
 */
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { MemoryStore } from "@tollgate/memory"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import type { ClosableStore, StoreWithContents } from "@tollgate/store"
import { copyStore } from "@tollgate/store/copy"
import { StoreState } from "@tollgate/store-testkit"
import { createDatabase, startRedisCluster, temporaryFolder } from "@tollgate/testing"
import { Effect, type Scope } from "effect"
import { Cluster } from "ioredis"
import { inject } from "vitest"
import { describeGate, fillStore, openGate, useGate } from "./copies.ts"

type OpenStore = Effect.Effect<StoreWithContents, never, Scope.Scope>

/** Closes the store at the end of the test. */
const open = (start: () => ClosableStore<StoreWithContents> | Promise<ClosableStore<StoreWithContents>>): OpenStore =>
  Effect.acquireRelease(
    Effect.promise(async () => start()),
    (store) => Effect.promise(() => store.close())
  )

const memory = open(() => MemoryStore.open())
const sqlite = Effect.flatMap(temporaryFolder, (folder) => open(() => SqliteStore.open(join(folder, "store.db"))))
const redis = Effect.suspend(() => open(() => RedisStore.open(inject("redisUrl"), { prefix: `${randomUUID()}:` })))
const postgres = Effect.suspend(() =>
  Effect.flatMap(createDatabase(inject("postgresUrl")), ({ url }) => open(() => PostgresStore.open(url)))
)
const cluster = Effect.gen(function* () {
  const { nodes } = yield* startRedisCluster()
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => new Cluster([...nodes])),
    (client) => Effect.sync(() => client.disconnect())
  )
  return yield* open(() => RedisStore.open(client, { prefix: "[shop]*:" }))
})

const kinds: ReadonlyArray<readonly [name: string, store: OpenStore]> = [
  ["memory", memory],
  ["SQLite", sqlite],
  ["Redis", redis],
  ["PostgreSQL", postgres]
]
const pairs = [
  ...kinds.flatMap(([fromName, from]) => kinds.map(([toName, to]) => [fromName, toName, from, to] as const)),
  ["SQLite", "a Redis Cluster", sqlite, cluster] as const,
  ["a Redis Cluster", "PostgreSQL", cluster, postgres] as const
]

/** The pairs with a server run where the stores on servers are selected, the others where they are not. */
const needsServer = ([from, to]: (typeof pairs)[number]): boolean =>
  [from, to].some((name) => name !== "memory" && name !== "SQLite")
const selectedPairs = pairs.filter((pair) => needsServer(pair) === inject("stores").includes("Redis"))

describe("a copy has the same contents and behaves in the same way", () => {
  it.live.each(selectedPairs)("from %s to %s", ([, , openFrom, openTo]) =>
    Effect.gen(function* () {
      const [from, to] = [yield* openFrom, yield* openTo]
      const { store, state, snapshotOf } = StoreState.watch(from)
      const contents = yield* Effect.promise(() => fillStore(store))
      const result = yield* Effect.promise(() => copyStore(from, to))
      assert.isAbove(result.records, 20)
      assert.isAbove(result.counters, 2)
      assert.isAbove(result.replays, 3)
      assert.isAbove(result.partitions, 5)
      assert.deepStrictEqual(yield* snapshotOf(to), yield* state.snapshot)

      yield* Effect.promise(async () => {
        const [source, target] = await Promise.all([openGate(from), openGate(to)])
        assert.deepStrictEqual(await describeGate(target, contents), await describeGate(source, contents))
        await useGate(target, contents)
        await Promise.all([source.close(), target.close()])
      })
    }).pipe(Effect.scoped)
  )

  it.live("has the hash of its original, also after a second copy", () =>
    Effect.gen(function* () {
      const [first, second, third] = [yield* memory, yield* sqlite, yield* memory]
      yield* Effect.promise(() => fillStore(first))
      const { hash } = yield* Effect.promise(() => copyStore(first, second))
      assert.strictEqual((yield* Effect.promise(() => copyStore(second, third))).hash, hash)
    }).pipe(Effect.scoped)
  )
})
