/**
 * A client that the host hands in may come from another copy or another major of ioredis than the store's own.
 */
import { assert, describe, it } from "@effect/vitest"
import { Change, Partition } from "@tollgate/core"
import { type IoredisClient, RedisStore, type RedisStoreOptions } from "@tollgate/redis"
import { storeContract } from "@tollgate/store-testkit"
import { recordSockets, startFaultyProxy, startRedis, startRedisCluster } from "@tollgate/testing"
import { Effect, Layer, type Scope } from "effect"
import { Cluster as Cluster6, Redis as Redis6 } from "ioredis"
import { Cluster as Cluster5, Redis as Redis5, type RedisOptions } from "ioredis5"

const partition = Partition.keys("acme", "production")
const add = (counter: string) => Change.Add({ counter, by: 1, ttl: 60_000 })
const put = (key: string, body = "body") => Change.Put({ key, expect: 0, body, indexTerms: ["t"], uniqueKeys: ["c"] })

/** What the tests themselves ask of a host's client. */
interface Host extends IoredisClient {
  readonly options: { readonly keyPrefix?: string | undefined }
  readonly disconnect: () => void
}

type Nodes = ReadonlyArray<{ readonly host: string; readonly port: number }>
type Settings = Omit<RedisOptions, "Connector">

interface Major {
  readonly name: string
  readonly redis: (path: string, settings?: Settings) => Host & { readonly select: (db: number) => Promise<unknown> }
  readonly cluster: (nodes: Nodes, options?: { keyPrefix?: string; redisOptions?: Settings }) => Host
}

const majors: ReadonlyArray<Major> = [
  {
    name: "ioredis 5",
    redis: (path, settings = {}) => new Redis5(path, settings),
    cluster: (nodes, options = {}) => new Cluster5([...nodes], options)
  },
  {
    name: "ioredis 6",
    redis: (path, settings = {}) => new Redis6(path, settings),
    cluster: (nodes, options = {}) => new Cluster6([...nodes], options)
  }
]

const scoped = <A extends Host>(make: () => A): Effect.Effect<A, never, Scope.Scope> =>
  Effect.acquireRelease(Effect.sync(make), (client) => Effect.sync(() => client.disconnect()))

const open = (source: IoredisClient, options?: RedisStoreOptions) =>
  Effect.acquireRelease(
    Effect.promise(() => RedisStore.open(source, options)),
    (store) => Effect.promise(() => store.close())
  )

// The contract has commits that take a busy machine longer than a command may take by default.
const unhurried = { commandTimeout: 20_000 }

for (const { name, redis } of majors) {
  storeContract(
    `Redis, through a client of ${name}`,
    Layer.unwrap(
      Effect.gen(function* () {
        const { url } = yield* startRedis()
        return RedisStore.layer(yield* scoped(() => redis(url)), unhurried)
      })
    )
  )
}

storeContract(
  "a Redis Cluster, through a client of ioredis 5",
  Layer.unwrap(
    Effect.gen(function* () {
      const { nodes } = yield* startRedisCluster({ masters: 3 })
      return RedisStore.layer(yield* scoped(() => new Cluster5([...nodes])), unhurried)
    })
  )
)

describe.each(majors)("a client of $name that is handed in", ({ redis, cluster }) => {
  it.live("is the only place that data goes to", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis({ tcp: true })
      const sockets = yield* recordSockets
      const store = yield* open(yield* scoped(() => redis(url)))
      yield* store.commit(partition, [put("a")])
      assert.isAbove(sockets.length, 1)
      for (const socket of sockets) assert.include([undefined, Number(new URL(url).port)], socket.port)
      const admin = yield* scoped(() => new Redis6(url))
      assert.include(yield* Effect.promise(() => admin.keys("*")), `tollgate:{${partition}}:records`)
    })
  )

  it.live("is followed to the database that it has selected", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const host = yield* scoped(() => redis(url, { db: 2 }))
      yield* Effect.promise(() => host.select(3))
      const store = yield* open(host)
      yield* store.commit(partition, [put("a")])
      const admin = yield* scoped(() => new Redis6(url, { db: 3 }))
      assert.isAbove(yield* Effect.promise(() => admin.dbsize()), 0)
    })
  )

  it.live.each([
    { maxRetriesPerRequest: null, autoResendUnfulfilledCommands: false },
    { maxRetriesPerRequest: 20, enableOfflineQueue: true, retryStrategy: null, commandTimeout: 600_000 },
    { enableAutoPipelining: true, stringNumbers: true, readOnly: true, monitor: true }
  ])("makes no write unsafe with its settings %o", (settings) =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const proxy = yield* startFaultyProxy(url)
      const address = `redis://127.0.0.1:${proxy.port}`
      const host = yield* scoped(() => redis(address, { ...settings, lazyConnect: true }))
      const store = yield* open(host)
      for (let round = 1; round <= 3; round++) {
        proxy.cutReplyTo(`mark ${round}`)
        const committed = yield* store.commit(partition, [
          Change.Put({ key: `r${round}`, expect: 0, body: `mark ${round}`, indexTerms: [], uniqueKeys: [] }),
          add("n")
        ])
        assert.strictEqual(proxy.cuts(), round)
        assert.strictEqual(committed.totals.get("n"), round)
      }
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [3])
    })
  )

  it.live("keeps its key prefix in front of the store's", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const host = yield* scoped(() => redis(url, { keyPrefix: "shop:" }))
      const admin = yield* scoped(() => new Redis6(url))
      const [byDefault, named] = [yield* open(host), yield* open(host, { prefix: "gate:" })]
      yield* byDefault.commit(partition, [put("a"), add("n")])
      yield* named.commit(partition, [put("a"), add("n")])
      const keys = yield* Effect.promise(() => admin.keys("*"))
      for (const key of keys) assert.match(key, /^shop:(tollgate|gate):\{keys\/acme\/production\}:/)
      assert.isTrue(keys.some((key) => key.startsWith("shop:gate:")))
      assert.isTrue(keys.some((key) => key.startsWith("shop:tollgate:")))
    })
  )

  it.live("keeps its key prefix on a cluster, wherever it is set, and the cluster client stays as it was", () =>
    Effect.gen(function* () {
      const { nodes } = yield* startRedisCluster({ masters: 3 })
      const admin = yield* scoped(() => new Cluster6([...nodes]))
      for (const options of [{ keyPrefix: "shop:" }, { redisOptions: { keyPrefix: "shop:", stringNumbers: true } }]) {
        const host = yield* scoped(() => cluster(nodes, options))
        const store = yield* open(host, { prefix: "gate:" })
        yield* store.commit(partition, [put("a"), add("n")])
        assert.strictEqual(host.options.keyPrefix, "shop:")
        assert.strictEqual(yield* Effect.promise(() => admin.exists(`shop:gate:{${partition}}:records`)), 1)
        yield* store.clear(partition)
      }
    })
  )
})
