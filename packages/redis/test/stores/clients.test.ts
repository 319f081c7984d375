/**
 * The store with the host's client, which may be of another copy or another major version of ioredis than the store's.
 */
import { assert, describe, it } from "@effect/vitest"
import { type IoredisClient, RedisStore, type RedisStoreOptions } from "@tollgate/redis"
import { Change, Partition } from "@tollgate/store"
import { storeContract } from "@tollgate/store-testkit"
import { recordSockets, startFaultyProxy, startRedis, startRedisCluster } from "@tollgate/testing"
import { Effect, Layer, type Scope } from "effect"
import { Cluster as Cluster6, Redis as Redis6 } from "ioredis"
import { Cluster as Cluster5, Redis as Redis5, type RedisOptions } from "ioredis5"

const partition = Partition.forKeyBucket("acme", "production")
const add = (counter: string) => Change.Add({ counter, by: 1, ttl: 60_000 })
const put = (key: string, body = "body") => Change.Put({ key, expect: 0, body, indexTerms: ["t"], uniqueKeys: ["c"] })

/** The members of the host's client that these tests use. */
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

// The contract has commits that exceed the default timeout on a busy machine.
const longTimeout = { commandTimeout: 20_000 }

for (const { name, redis } of majors) {
  storeContract(
    `Redis, through a client of ${name}`,
    Layer.unwrap(
      Effect.gen(function* () {
        const { url } = yield* startRedis()
        return RedisStore.layer(yield* scoped(() => redis(url)), longTimeout)
      })
    ),
    { clock: "server" }
  )
}

storeContract(
  "a Redis Cluster, through a client of ioredis 5",
  Layer.unwrap(
    Effect.gen(function* () {
      const { nodes } = yield* startRedisCluster({ masters: 3 })
      return RedisStore.layer(yield* scoped(() => new Cluster5([...nodes])), longTimeout)
    })
  ),
  { clock: "server" }
)

describe.each(majors)("opening a store with a client of $name", ({ redis, cluster }) => {
  it.live("connects only to the server of that client", () =>
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

  it.live("uses the database that the client has selected", () =>
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
  ])("applies commits once despite the client settings %o", (settings) =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const proxy = yield* startFaultyProxy(url)
      const host = yield* scoped(() => redis(`redis://127.0.0.1:${proxy.port}`, { ...settings, lazyConnect: true }))
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

  it.live("puts the client's key prefix before the store's prefix", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const host = yield* scoped(() => redis(url, { keyPrefix: "shop:" }))
      const admin = yield* scoped(() => new Redis6(url))
      const [unprefixed, prefixed] = [yield* open(host), yield* open(host, { prefix: "gate:" })]
      yield* unprefixed.commit(partition, [put("a"), add("n")])
      yield* prefixed.commit(partition, [put("a"), add("n")])
      const keys = yield* Effect.promise(() => admin.keys("*"))
      for (const key of keys) assert.match(key, /^shop:(tollgate|gate):\{keys\/acme\/production\}:/)
      assert.isTrue(keys.some((key) => key.startsWith("shop:gate:")))
      assert.isTrue(keys.some((key) => key.startsWith("shop:tollgate:")))
    })
  )

  it.live("keeps the key prefix of a cluster client and leaves that client unchanged", () =>
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
