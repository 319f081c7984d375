import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import {
  Change,
  Partition,
  type StoreConflict,
  StoreOpenError,
  type StoreOperations,
  type StoreUnavailable
} from "@tollgate/core"
import { type RedisSource, RedisStore, type RedisStoreOptions } from "@tollgate/redis"
import { storeContract } from "@tollgate/store-testkit"
import { freePort, Rivalry, runWorkers, startFaultyProxy, startRedis, startRedisCluster } from "@tollgate/testing"
import { Effect, Fiber, Layer, Logger, References, type Scope } from "effect"
import { Cluster, Redis } from "ioredis"

const partition = Partition.keys("acme", "production")
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

const refusalOf = (source: RedisSource, options?: RedisStoreOptions) =>
  Effect.flip(Effect.scoped(Layer.build(RedisStore.layer(source, options)))).pipe(
    Effect.tap((error) => Effect.sync(() => assert.instanceOf(error, StoreOpenError)))
  )

/** What a program logs as a warning. */
const warningsOf = Effect.fnUntraced(function* (program: Effect.Effect<unknown, unknown, Scope.Scope>) {
  const warnings: Array<string> = []
  const logger = Logger.make(({ message }) => void warnings.push(String(message)))
  yield* program.pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, "Warn"))
  return warnings
})

// The contract says nothing about time: ten thousand changes take longer than the default on a busy machine.
const layer = (source: RedisSource) => RedisStore.layer(source, { commandTimeout: 30_000 })
storeContract("Redis", Layer.unwrap(Effect.map(startRedis(), ({ url }) => layer(url))))
storeContract("a Redis Cluster of three masters", Layer.unwrap(Effect.map(clusterClient, layer)))

describe("opening a Redis store", () => {
  it.live("says what is wrong with an address, where, and what to do; never the password", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const absent = yield* refusalOf(`redis://user:s3cret@127.0.0.1:${port}`)
      assert.strictEqual(
        absent.message,
        `Cannot open the Redis at redis://127.0.0.1:${port}: it does not answer. Start it, or check host, port and TLS.`
      )
      for (const [source, problem] of [
        ["", "its address is not a URL"],
        ["localhost:6379", "localhost:// is not a Redis address"],
        ["http://user:s3cret@localhost", "http:// is not a Redis address"],
        ["redis://", "it names no host"],
        ["s3cret words", "its address is not a URL"]
      ] as const) {
        const error = yield* refusalOf(source)
        assert.include(error.message, problem)
        assert.include(error.message, "Give redis://host:port")
        assert.notInclude(error.message, "s3cret")
      }
      for (const source of [
        `redis://user:pass@s3cret@127.0.0.1:${port}`,
        `redis://127.0.0.1:${port}?password=s3cret`,
        { host: "127.0.0.1", port, password: "s3cret" }
      ]) {
        const error = yield* refusalOf(source)
        assert.notInclude(inspect(error, { depth: 10 }) + JSON.stringify(error) + error.message, "s3cret")
      }
      assert.include((yield* refusalOf({ host: "127.0.0.1", port })).message, `127.0.0.1:${port}`)
      assert.include((yield* refusalOf("redis://localhost", { prefix: "{x}" })).message, "has a brace in it")
    })
  )

  it.live("says when the password is wrong", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis({ tcp: true, arguments: ["--requirepass", "right"] })
      const address = url.replace("//", "//:wrong@")
      const error = yield* refusalOf(address)
      assert.include(error.message, "does not accept the user or the password")
      assert.notInclude(inspect(error, { depth: 10 }) + JSON.stringify(error) + error.message, "wrong@")
      assert.notInclude(inspect(error, { depth: 10 }) + JSON.stringify(error), "args")
      yield* open(url.replace("//", "//:right@"))
    })
  )

  it.live("warns in one line when the server keeps nothing, or only now and then, or throws records away", () =>
    Effect.gen(function* () {
      const nothing = yield* startRedis({ arguments: ["--appendonly", "no"] })
      const snapshots = yield* startRedis({ arguments: ["--appendonly", "no", "--save", "3600", "1"] })
      const everything = yield* startRedis()
      const evicting = yield* startRedis({
        arguments: ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]
      })
      const warnings = (url: string) => warningsOf(Layer.build(RedisStore.layer(url)))
      assert.deepStrictEqual(yield* warnings(nothing.url), [
        `The Redis at ${nothing.url} keeps nothing: all is lost when it stops. Set appendonly yes`
      ])
      assert.include((yield* warnings(snapshots.url))[0], "keeps snapshots only")
      assert.deepStrictEqual(yield* warnings(everything.url), [])
      assert.include((yield* warnings(evicting.url))[0], "throws records away when its memory is full (allkeys-lru)")
    })
  )

  it.live("works beside a client that is handed in, with its key prefix, and leaves it open and as it was", () =>
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

  it.live("keeps stores with different prefixes apart", () =>
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
  it.live("applies a commit once, and answers it, when its reply is lost", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const proxy = yield* startFaultyProxy(url)
      const store = yield* open(`redis://127.0.0.1:${proxy.port}`)
      for (let round = 1; round <= 5; round++) {
        proxy.cutReplyTo(`mark ${round}`)
        const committed = yield* store.commit(partition, [put(`r${round}`, { body: `mark ${round}` }), add("n")])
        assert.strictEqual(proxy.cuts(), round)
        assert.strictEqual(committed.totals.get("n"), round)
        assert.isUndefined(committed.replayed)
        assert.strictEqual(
          (yield* store.get(partition, [`r${round}`]))[0]?.version,
          committed.versions.get(`r${round}`)
        )
      }
      const once = { id: "id", fingerprint: "f", result: "mark 6", ttl: 60_000 }
      proxy.cutReplyTo("mark 6")
      assert.isUndefined((yield* store.commit(partition, [add("n")], once)).replayed)
      assert.strictEqual((yield* store.commit(partition, [add("n")], once)).replayed?.result, "mark 6")
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [6])
    })
  )

  it.live("fails within a second while the server is down, and works again when it is back", () =>
    Effect.gen(function* () {
      const server = yield* startRedis({ tcp: true, arguments: ["--appendfsync", "always"] })
      const store = yield* open(server.url)
      yield* store.commit(partition, [put("kept")])
      yield* server.kill
      const calls: ReadonlyArray<Effect.Effect<unknown, StoreUnavailable | StoreConflict>> = [
        store.get(partition, ["kept"]),
        store.commit(partition, [put("a")]),
        store.list(partition, [{ indexTerms: ["t"], offset: 0, limit: 1 }])
      ]
      for (const call of calls) {
        const error = yield* Effect.timeout(Effect.flip(call), "3 seconds")
        assert.strictEqual(error._tag, "StoreUnavailable")
        assert.isTrue("retryable" in error && error.retryable)
      }
      yield* server.restart
      const answered = yield* Effect.retry(store.get(partition, ["kept"]), { times: 10 })
      assert.strictEqual(answered[0]?.key, "kept")
      yield* store.commit(partition, [put("b")])
    })
  )

  it.live("leaves a caller that is interrupted before its batch is sent out of it", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const [store, admin] = [yield* open(url), yield* client(url)]
      const calls = Effect.promise(() => admin.info("commandstats")).pipe(
        Effect.map((info) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0))
      )
      const before = yield* calls
      // The batch is sent once this turn of the event loop ends, which no fiber here yields to.
      const left = yield* Effect.forkChild(store.commit(partition, [add("left")]), { startImmediately: true })
      const stayed = yield* Effect.forkChild(store.commit(partition, [add("stayed")]), { startImmediately: true })
      const lookup = yield* Effect.forkChild(store.getByUniqueKey(partition, ["c"]), { startImmediately: true })
      yield* Effect.all([Fiber.interrupt(left), Fiber.interrupt(lookup)])
      assert.strictEqual((yield* Fiber.join(stayed)).totals.get("stayed"), 1)
      assert.deepStrictEqual(yield* store.counters(partition, ["left", "stayed"]), [0, 1])
      assert.strictEqual(yield* calls, before + 1)
    })
  )

  it.live("does not wait for a server that has stopped answering", () =>
    Effect.gen(function* () {
      const server = yield* startRedis()
      const store = yield* open(server.url, { commandTimeout: 200 })
      yield* server.pause
      const error = yield* Effect.flip(store.commit(partition, [add("n")]))
      assert.deepInclude(error, { _tag: "StoreUnavailable", outcome: "unknown", retryable: true })
      yield* server.resume
      yield* Effect.retry(store.get(partition, ["a"]), { times: 10 })
    })
  )

  it.live("drops a connection that has gone silent, and goes on with a new one", () =>
    Effect.gen(function* () {
      const server = yield* startRedis()
      const proxy = yield* startFaultyProxy(server.url)
      const store = yield* open(`redis://127.0.0.1:${proxy.port}`, { commandTimeout: 200 })
      yield* store.commit(partition, [add("n")])
      proxy.silence()
      yield* Effect.flip(store.commit(partition, [add("n")]))
      const answered = yield* Effect.retry(store.counters(partition, ["n"]), { times: 10 })
      assert.deepStrictEqual(answered, [2])
    })
  )

  it.live("lets nobody wait for a commit that waits for replicas", () =>
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

  it.live("does not notice that the server forgot its scripts", () =>
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

  it.live("answers only what enough replicas have, where it is asked to", () =>
    Effect.gen(function* () {
      const primary = yield* startRedis({ tcp: true, arguments: ["--repl-diskless-sync-delay", "0"] })
      const { hostname, port } = new URL(primary.url)
      const store = yield* open(primary.url, { waitReplicas: { count: 1, timeout: 100 } })
      const lonely = yield* Effect.flip(store.commit(partition, [put("a")]))
      assert.deepInclude(lonely, { _tag: "StoreUnavailable", outcome: "unknown", retryable: true })
      assert.include(lonely.message, "0 of 1 replicas confirmed the write")
      const replica = yield* startRedis({ arguments: ["--replicaof", hostname, port] })
      const copy = yield* client(replica.url)
      const linked = Effect.promise(() => copy.info("replication"))
      yield* Effect.repeat(linked, { until: (info) => info.includes("master_link_status:up") })
      const patient = yield* open(primary.url, { waitReplicas: { count: 1, timeout: 5_000 } })
      yield* patient.commit(partition, [put("b")])
      const replicated = yield* Effect.promise(() => copy.hexists(`tollgate:{${partition}}:records`, "b"))
      assert.strictEqual(replicated, 1)
    })
  )

  it.live("leaves nothing behind when all is deleted, and lets the server forget what expires", () =>
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
      const left = (yield* Effect.promise(() => admin.keys("*"))).filter((key) => !key.includes(":attempt:"))
      assert.deepStrictEqual(left, [`tollgate:{${partition}}:sequence`])
    })
  )

  it.live("keeps no counter for ever, also one that somebody removed in between", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const store = yield* open(url)
      const host = yield* client(url)
      const key = `tollgate:{${partition}}:counter:n`
      for (const ttl of [100_000, 90_000]) {
        yield* store.commit(partition, [Change.Add({ counter: "n", by: 1, ttl })])
        const left = yield* Effect.promise(() => host.pttl(key))
        assert.isTrue(left > ttl - 10_000 && left <= ttl * 1.2, `${left} of ${ttl}`)
        yield* Effect.promise(() => host.del(key))
      }
    })
  )

  it.live("refuses what comes after it was closed", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const store = yield* Effect.promise(() => RedisStore.open(url))
      yield* Effect.promise(() => store.close())
      const error = yield* Effect.flip(store.get(partition, ["a"]))
      assert.include(error.message, "the store has been closed")
    })
  )

  it.live(
    "is shared by four processes: one winner a name, no counter over its maximum",
    () =>
      Effect.gen(function* () {
        const { url } = yield* startRedis()
        const results = yield* Effect.promise(() =>
          runWorkers<Rivalry.ContentionResult>(new URL("rival.worker.ts", import.meta.url), [url, url, url, url])
        )
        const store = yield* open(url)
        yield* Effect.promise(() => Rivalry.findViolations(store, results))
      }),
    60_000
  )
})
