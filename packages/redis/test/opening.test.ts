/**
 * Invalid arguments of `RedisStore.open`. None may lead to a connection to localhost:6379, the default of ioredis.
 */
import { assert, describe, it } from "@effect/vitest"
import { createClient } from "@redis/client"
import { ConfigurationError } from "@tollgate/core"
import { type RedisSource, RedisStore, type RedisStoreOptions } from "@tollgate/redis"
import { Change, Partition } from "@tollgate/store"
import { recordSockets, startFaultyProxy, startRedis } from "@tollgate/testing"
import { Effect, Layer } from "effect"
import { Cluster, Redis } from "ioredis"

const partition = Partition.forKeyBucket("acme", "production")

/** Opens a store with untyped arguments, as JavaScript would. Fails the test if a socket was opened. */
const getOpenError = Effect.fnUntraced(function* (
  source: unknown,
  options?: unknown,
  tag: "StoreOpenError" | "ConfigurationError" = "StoreOpenError"
) {
  const sockets = yield* recordSockets
  const layer = RedisStore.layer(source as RedisSource, options as RedisStoreOptions)
  const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
  assert.strictEqual(error._tag, tag)
  assert.lengthOf(sockets, 0)
  assert.notInclude(error.message, "\n")
  assert.notInclude(error.message, "s3cret")
  return error.message
})

const acceptedSources =
  "Pass a redis:// or rediss:// URL as a string, the path of a Unix socket, ioredis options with a host, or an ioredis client."

describe("RedisStore.open rejects as its first argument", () => {
  it.live.each<readonly [name: string, source: unknown, message: string]>([
    ["undefined", undefined, `the first argument is undefined. ${acceptedSources}`],
    ["null", null, `the first argument is null. ${acceptedSources}`],
    ["a number", 6379, `the first argument is a number. ${acceptedSources}`],
    ["a function", () => undefined, `the first argument is a function. ${acceptedSources}`],
    ["a URL object", new URL("redis://:s3cret@localhost"), `the first argument is a URL. ${acceptedSources}`],
    ["a class of ioredis", Redis, `the first argument is a function. ${acceptedSources}`],
    ["a map", new Map(), `the first argument is a Map. ${acceptedSources}`],
    [
      "a list of cluster nodes",
      [{ host: "localhost", port: 7000 }],
      "the first argument is an array. For Redis Cluster, pass an ioredis Cluster: new Cluster(nodes)."
    ],
    [
      "a promise",
      Promise.resolve("redis://localhost"),
      "the first argument is a promise. Await it first, as in RedisStore.open(await client)."
    ],
    [
      "a client of node-redis",
      createClient({ url: "redis://:s3cret@localhost" }),
      "the first argument is a client of the redis package. Pass its URL as a string, or an ioredis client."
    ],
    ["empty options", {}, "the ioredis options name no server. Set host and port, or path, or sentinels and name."],
    ["options without a host", { hots: "redis", port: 6380 }, "name no server (they set hots, port)"],
    ["options of node-redis", { url: "redis://:s3cret@localhost" }, "name no server (they set url)"],
    ["a host that is undefined", { host: undefined, password: "s3cret" }, "name no server (they set host, password)"],
    [
      "store options among the ioredis options",
      { host: "localhost", prefix: "shop:" },
      "prefix is not an ioredis option. Pass it in the second argument, as in RedisStore.open(options, { prefix })."
    ]
  ])("%s", ([, source, message]) =>
    Effect.gen(function* () {
      assert.include(yield* getOpenError(source), message)
    })
  )

  it.live("a key prefix with braces, of a client, a cluster or a URL", () =>
    Effect.gen(function* () {
      const braces = "its keyPrefix contains a brace. Use a prefix without { and }."
      const settings = { keyPrefix: "{shop}:", lazyConnect: true }
      for (const source of [
        new Redis(settings),
        new Cluster([{ host: "localhost", port: 7000 }], settings),
        "redis://localhost?keyPrefix={shop}:",
        { host: "localhost", keyPrefix: "{shop}:" }
      ]) {
        assert.include(yield* getOpenError(source), braces)
      }
    })
  )
})

describe("RedisStore.open rejects as its options", () => {
  const names = "the options are prefix, commandTimeout, waitReplicas"
  const milliseconds = "must be a number of milliseconds, an integer from 1 to 2147483647"
  it.live.each<readonly [name: string, options: unknown, message: string]>([
    ["a misspelled option", { commandTimout: 5 }, `commandTimout: unknown option; ${names}`],
    ["an option of SQLite", { durability: "full" }, `durability: unknown option; ${names}`],
    ["a name that every object inherits", { toString: 1 }, `toString: unknown option; ${names}`],
    ["options that are not an object", "shop:", `options: must be an object; ${names}`],
    ["an array for options", [], `options: must be an object; ${names}`],
    ["null for options", null, `options: must be an object; ${names}`],
    ["a prefix that is not a string", { prefix: 5 }, 'prefix: must be a string without { and }, such as "tollgate:"'],
    ["a prefix with a brace", { prefix: "{s3cret}" }, "prefix: must be a string without { and }"],
    ["a timeout in words", { commandTimeout: "2s" }, `commandTimeout: ${milliseconds}`],
    ["a timeout of 0", { commandTimeout: 0 }, `commandTimeout: ${milliseconds}`],
    ["null for a timeout", { commandTimeout: null }, `commandTimeout: ${milliseconds}`],
    ["a timeout above the maximum of setTimeout", { commandTimeout: 2 ** 31 }, `commandTimeout: ${milliseconds}`],
    [
      "a number for waitReplicas",
      { waitReplicas: 1 },
      "waitReplicas: must be an object; the options are count, timeout"
    ],
    [
      "a misspelled option in waitReplicas",
      { waitReplicas: { replicas: 1 } },
      "waitReplicas.replicas: unknown option; the options are count, timeout"
    ],
    ["waitReplicas without a timeout", { waitReplicas: { count: 1 } }, `waitReplicas.timeout: ${milliseconds}`],
    [
      "waitReplicas of none",
      { waitReplicas: { count: 0, timeout: 1 } },
      "waitReplicas.count: must be a number of replicas"
    ]
  ])("%s", ([, options, message]) =>
    Effect.gen(function* () {
      const source = "redis://:s3cret@127.0.0.1:1"
      assert.include(yield* getOpenError(source, options, "ConfigurationError"), message)
      const opened = RedisStore.open(source, options as RedisStoreOptions).catch((error: unknown) => error)
      assert.instanceOf(yield* Effect.promise(() => opened), ConfigurationError)
    })
  )
})

describe("opening a Redis store", () => {
  it.live("treats undefined as an option that is not set", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const options = { prefix: undefined, commandTimeout: undefined, waitReplicas: undefined }
      yield* Effect.promise(() => RedisStore.open(url, options).then((store) => store.close()))
    })
  )

  it.live("does not let the query of a URL override the settings that safe writes depend on", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const proxy = yield* startFaultyProxy(url)
      const query = "maxRetriesPerRequest=none&autoResendUnfulfilledCommands=&lazyConnect="
      const store = yield* Effect.acquireRelease(
        Effect.promise(() => RedisStore.open(`redis://127.0.0.1:${proxy.port}?${query}`)),
        (store) => Effect.promise(() => store.close())
      )
      proxy.cutReplyTo("mark")
      const committed = yield* store.commit(partition, [
        Change.Put({ key: "a", expect: 0, body: "mark", indexTerms: [], uniqueKeys: [] })
      ])
      assert.strictEqual(proxy.cuts(), 1)
      assert.lengthOf(committed.versions, 1)
    })
  )
})
