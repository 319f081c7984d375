import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { type RedisSource, RedisStore, type RedisStoreOptions } from "@tollgate/redis"
import { Change, Partition, StoreOpenError, type StoreOperations } from "@tollgate/store"
import { storeContract } from "@tollgate/store-testkit"
import {
  bringCountersToZero,
  Contention,
  findFreePort,
  loseReplies,
  runWorkers,
  startFaultyProxy,
  startRedis,
  startRedisCluster,
  surviveOutage
} from "@tollgate/testing"
import { Effect, Fiber, Layer, Logger, References, type Scope } from "effect"
import { Cluster, Redis } from "ioredis"

const partition = Partition.forKeyBucket("acme", "production")
const put = (key: string, fields: Partial<Extract<Change, { _tag: "Put" }>> = {}) =>
  Change.Put({ key, expect: 0, body: "body", indexTerms: ["t"], uniqueKeys: [], ...fields })
const add = (counter: string, by = 1) => Change.Add({ counter, by, ttl: 60_000 })

const open = (source: RedisSource, options?: RedisStoreOptions): Effect.Effect<StoreOperations, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => RedisStore.open(source, options)),
    (store) => Effect.promise(() => store.close())
  )

const client = (source: string): Effect.Effect<Redis, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new Redis(source)),
    (client) => Effect.sync(() => client.disconnect())
  )

const clusterClient = Effect.gen(function* () {
  const { nodes } = yield* startRedisCluster({ masters: 3 })
  return yield* Effect.acquireRelease(
    Effect.sync(() => new Cluster([...nodes])),
    (cluster) => Effect.sync(() => cluster.disconnect())
  )
})

const getOpenError = (source: RedisSource) =>
  Effect.flip(Effect.scoped(Layer.build(RedisStore.layer(source)))).pipe(
    Effect.tap((error) => Effect.sync(() => assert.instanceOf(error, StoreOpenError)))
  )

/** Runs a program and returns the warnings that it logs. */
const collectWarnings = Effect.fnUntraced(function* (program: Effect.Effect<unknown, unknown, Scope.Scope>) {
  const warnings: Array<string> = []
  const logger = Logger.make(({ message }) => void warnings.push(String(message)))
  yield* program.pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, "Warn"))
  return warnings
})

// The contract has commits of ten thousand changes, which exceed the default timeout on a busy machine.
const layer = (source: RedisSource, options?: RedisStoreOptions) =>
  RedisStore.layer(source, { commandTimeout: 30_000, ...options })
storeContract("Redis", Layer.unwrap(Effect.map(startRedis(), ({ url }) => layer(url))), { clock: "server" })
storeContract("a Redis Cluster of three masters", Layer.unwrap(Effect.map(clusterClient, (client) => layer(client))), {
  clock: "server"
})

describe("opening a Redis store", () => {
  it.live("reports the problem, the location and the remedy, but never the password", () =>
    Effect.gen(function* () {
      const port = yield* findFreePort
      const unreachable = yield* getOpenError(`redis://user:s3cret@127.0.0.1:${port}`)
      assert.strictEqual(
        unreachable.message,
        `Cannot open the Redis at redis://127.0.0.1:${port}: it does not respond. Start it, or check host, port and TLS.`
      )
      for (const [source, problem] of [
        ["", "the URL is not valid"],
        ["localhost:6379", "localhost:// is not a Redis URL"],
        ["http://user:s3cret@localhost", "http:// is not a Redis URL"],
        ["redis://", "the URL has no host"],
        ["s3cret words", "the URL is not valid"]
      ] as const) {
        const error = yield* getOpenError(source)
        assert.include(error.message, problem)
        assert.include(error.message, "Use redis://host:port")
        assert.notInclude(error.message, "s3cret")
      }
      for (const source of [
        `redis://user:pass@s3cret@127.0.0.1:${port}`,
        `redis://127.0.0.1:${port}?password=s3cret`,
        { host: "127.0.0.1", port, password: "s3cret" }
      ]) {
        const error = yield* getOpenError(source)
        assert.notInclude(inspect(error, { depth: 10 }) + JSON.stringify(error) + error.message, "s3cret")
      }
      assert.include((yield* getOpenError({ host: "127.0.0.1", port })).message, `127.0.0.1:${port}`)
    })
  )

  it.live("reports a wrong password", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis({ tcp: true, arguments: ["--requirepass", "right"] })
      const error = yield* getOpenError(url.replace("//", "//:wrong@"))
      assert.include(error.message, "rejects the username or the password")
      assert.notInclude(inspect(error, { depth: 10 }) + JSON.stringify(error) + error.message, "wrong@")
      assert.notInclude(inspect(error, { depth: 10 }) + JSON.stringify(error), "args")
      yield* open(url.replace("//", "//:right@"))
    })
  )

  it.live("warns in one line about missing persistence, snapshots only, and eviction", () =>
    Effect.gen(function* () {
      const unpersisted = yield* startRedis({ arguments: ["--appendonly", "no"] })
      const snapshots = yield* startRedis({ arguments: ["--appendonly", "no", "--save", "3600", "1"] })
      const durable = yield* startRedis()
      const evicting = yield* startRedis({
        arguments: ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]
      })
      const warnings = (url: string) => collectWarnings(Layer.build(RedisStore.layer(url)))
      assert.deepStrictEqual(yield* warnings(unpersisted.url), [
        `The Redis at ${unpersisted.url} has no persistence: all data is lost when it stops. Set appendonly yes`
      ])
      assert.include((yield* warnings(snapshots.url))[0], "persists snapshots only")
      assert.deepStrictEqual(yield* warnings(durable.url), [])
      assert.include((yield* warnings(evicting.url))[0], "evicts records when its memory is full (allkeys-lru)")
    })
  )

  it.live("duplicates the host's client, keeps its key prefix, and leaves it open and unchanged", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const host = new Redis(url, { keyPrefix: "shop:", maxRetriesPerRequest: 7 })
      const store = yield* Effect.promise(() => RedisStore.open(host))
      yield* store.commit(partition, [put("a", { uniqueKeys: ["c"] }), add("n")])
      yield* Effect.promise(() => store.close())
      assert.strictEqual(host.status, "ready")
      assert.strictEqual(host.options.maxRetriesPerRequest, 7)
      const keys = yield* Effect.promise(() => host.keys("*"))
      assert.isAbove(keys.length, 0)
      for (const key of keys) assert.match(key, /^shop:tollgate:\{keys\/acme\/production\}:/)
      host.disconnect()
    })
  )

  it.live("isolates stores with different prefixes", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const [one, two] = [yield* open(url, { prefix: "one:" }), yield* open(url, { prefix: "two:" })]
      yield* one.commit(partition, [put("a", { uniqueKeys: ["c"] })])
      yield* two.commit(partition, [put("a", { uniqueKeys: ["c"] })])
      yield* one.clear(partition)
      assert.strictEqual((yield* two.get(partition, ["a"]))[0]?.key, "a")
    })
  )
})

describe("a Redis store", () => {
  it.live("applies a commit once and returns its result when the reply is lost", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const proxy = yield* startFaultyProxy(url)
      const store = yield* open(`redis://127.0.0.1:${proxy.port}`)
      yield* loseReplies(store, proxy)
    })
  )

  it.live("fails fast while the server is down, and recovers after its restart", () =>
    Effect.gen(function* () {
      const server = yield* startRedis({ tcp: true, arguments: ["--appendfsync", "always"] })
      const store = yield* open(server.url)
      yield* surviveOutage(store, server)
    })
  )

  it.live("removes an interrupted caller from a batch that is not sent yet", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const [store, admin] = [yield* open(url), yield* client(url)]
      const calls = Effect.promise(() => admin.info("commandstats")).pipe(
        Effect.map((info) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0))
      )
      const before = yield* calls
      // The batch is sent on the next tick, and none of these fibers yields to the event loop.
      const interrupted = yield* Effect.forkChild(store.commit(partition, [add("interrupted")]), {
        startImmediately: true
      })
      const remaining = yield* Effect.forkChild(store.commit(partition, [add("remaining")]), { startImmediately: true })
      const lookup = yield* Effect.forkChild(store.getByUniqueKey(partition, ["c"]), { startImmediately: true })
      yield* Effect.all([Fiber.interrupt(interrupted), Fiber.interrupt(lookup)])
      assert.strictEqual((yield* Fiber.join(remaining)).totals.get("remaining"), 1)
      assert.deepStrictEqual(yield* store.counters(partition, ["interrupted", "remaining"]), [0, 1])
      assert.strictEqual(yield* calls, before + 1)
    })
  )

  it.live("times out when the server stops responding", () =>
    Effect.gen(function* () {
      const server = yield* startRedis()
      const store = yield* open(server.url, { commandTimeout: 2_000 })
      yield* server.pause
      const error = yield* Effect.flip(store.commit(partition, [add("n")]))
      assert.deepInclude(error, { _tag: "StoreUnavailable", outcome: "unknown", retryable: true })
      yield* server.resume
      yield* Effect.retry(store.get(partition, ["a"]), { times: 10 })
    })
  )

  it.live("drops a silent connection and continues on a new one", () =>
    Effect.gen(function* () {
      const server = yield* startRedis()
      const proxy = yield* startFaultyProxy(server.url)
      const store = yield* open(`redis://127.0.0.1:${proxy.port}`, { commandTimeout: 2_000 })
      yield* store.commit(partition, [add("n")])
      proxy.silence()
      yield* Effect.flip(store.commit(partition, [add("n")]))
      const totals = yield* Effect.retry(store.counters(partition, ["n"]), { times: 10 })
      assert.deepStrictEqual(totals, [2])
    })
  )

  it.live("does not block reads while a commit waits for replicas", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const store = yield* open(url, { waitReplicas: { count: 1, timeout: 1_000 } })
      const commits = Effect.forEach([1, 2, 3], (index) => Effect.flip(store.commit(partition, [put(`r${index}`)])), {
        concurrency: "unbounded"
      })
      const read = Effect.as(store.get(partition, ["r1"]), "read")
      assert.strictEqual(yield* Effect.raceFirst(Effect.as(commits, "commits"), read), "read")
    })
  )

  it.live("keeps working when the server loses its script cache", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const [store, admin] = [yield* open(url), yield* client(url)]
      const commits = Effect.forEach(Array.from({ length: 500 }), () => store.commit(partition, [add("n")]), {
        concurrency: 16
      })
      const flushes = Effect.forEach(Array.from({ length: 50 }), () => Effect.promise(() => admin.script("FLUSH")))
      yield* Effect.all([commits, flushes], { concurrency: 2 })
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [500])
    })
  )

  it.live("acknowledges a commit only when enough replicas have it, with waitReplicas", () =>
    Effect.gen(function* () {
      const primary = yield* startRedis({ tcp: true, arguments: ["--repl-diskless-sync-delay", "0"] })
      const { hostname, port } = new URL(primary.url)
      const store = yield* open(primary.url, { waitReplicas: { count: 1, timeout: 100 } })
      const unreplicated = yield* Effect.flip(store.commit(partition, [put("a")]))
      assert.deepInclude(unreplicated, { _tag: "StoreUnavailable", outcome: "unknown", retryable: true })
      assert.include(unreplicated.message, "0 of 1 replicas confirmed the write")
      const replica = yield* startRedis({ arguments: ["--replicaof", hostname, port] })
      const copy = yield* client(replica.url)
      const replicationInfo = Effect.promise(() => copy.info("replication"))
      yield* Effect.repeat(replicationInfo, { until: (info) => info.includes("master_link_status:up") })
      const replicatedStore = yield* open(primary.url, { waitReplicas: { count: 1, timeout: 5_000 } })
      yield* replicatedStore.commit(partition, [put("b")])
      const replicated = yield* Effect.promise(() => copy.hexists(`tollgate:{${partition}}:records`, "b"))
      assert.strictEqual(replicated, 1)
    })
  )

  it.live("leaves no keys after deletes and clear, and sets a TTL on everything that expires", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const [store, admin] = [yield* open(url), yield* client(url)]
      const { versions } = yield* store.commit(partition, [put("a", { uniqueKeys: ["c"], indexTerms: ["t", "u"] })])
      yield* store.commit(partition, [Change.Delete({ key: "a", expect: versions.get("a") ?? 0 })])
      yield* store.commit(partition, [add("n")], { id: "id", fingerprint: "", result: "", ttl: 60_000 })
      const keys = yield* Effect.promise(() => admin.keys("*"))
      for (const key of keys) {
        if (/:(sequence|expiring)$/.test(key)) continue
        const ttl = yield* Effect.promise(() => admin.pttl(key))
        assert.isTrue(ttl > 0 && ttl <= 60_000, `${key} is kept for ${ttl} ms`)
      }
      yield* store.clear(partition)
      const remaining = (yield* Effect.promise(() => admin.keys("*"))).filter((key) => !key.includes(":attempt:"))
      assert.deepStrictEqual(remaining, [`tollgate:{${partition}}:sequence`])
    })
  )

  it.live("sets a TTL on every counter, also after the host deleted it", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const store = yield* open(url)
      const host = yield* client(url)
      const key = `tollgate:{${partition}}:counter:n`
      for (const ttl of [100_000, 90_000]) {
        yield* store.commit(partition, [Change.Add({ counter: "n", by: 1, ttl })])
        const remaining = yield* Effect.promise(() => host.pttl(key))
        assert.isTrue(remaining > ttl - 10_000 && remaining <= ttl * 1.2, `${remaining} of ${ttl}`)
        yield* Effect.promise(() => host.del(key))
      }
    })
  )

  it.live("removes a counter that a batch brings to 0, unless a later commit of the batch changes it again", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const [store, admin] = [yield* open(url), yield* client(url)]
      yield* bringCountersToZero(store, partition)
      const prefix = `tollgate:{${partition}}:`
      const members = yield* Effect.promise(() => admin.zrange(`${prefix}expiring`, "0", "-1"))
      assert.deepStrictEqual(members.sort(), ["counter:raised", "counter:restarted"])
      const keys = yield* Effect.promise(() => admin.keys("*:counter:*"))
      assert.deepStrictEqual(
        keys.sort(),
        members.map((member) => prefix + member)
      )
      for (const key of keys) assert.isBelow(yield* Effect.promise(() => admin.pttl(key)), 120_000)
      yield* store.commit(partition, [add("restarted", -3), add("raised", -1), put("a")])
      assert.deepStrictEqual(yield* Effect.promise(() => admin.zrange(`${prefix}expiring`, "0", "-1")), [])
    })
  )

  it.live("rejects calls after close", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const store = yield* Effect.promise(() => RedisStore.open(url))
      yield* Effect.promise(() => store.close())
      const error = yield* Effect.flip(store.get(partition, ["a"]))
      assert.include(error.message, "the store is closed")
    })
  )

  it.live("is consistent when four processes share it: unique names, no counter over its maximum", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const results = yield* Effect.promise(() =>
        runWorkers<Contention.ContentionResult>(new URL("contender.worker.ts", import.meta.url), [url, url, url, url])
      )
      const store = yield* open(url)
      yield* Effect.promise(() => Contention.assertConsistent(store, results))
    })
  )

  it.live("is consistent when four clients of a cluster share it", () =>
    Effect.gen(function* () {
      const cluster = yield* clusterClient
      const stores = yield* Effect.all(Array.from({ length: 4 }, () => open(cluster)))
      const results = yield* Effect.promise(() => Promise.all(stores.map(Contention.compete)))
      yield* Effect.promise(() => Contention.assertConsistent(stores[0] ?? assert.fail(), results))
    })
  )
})
