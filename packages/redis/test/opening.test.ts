/**
 * What a store refuses to be opened with. A wrong argument must never end in a connection to localhost:6379.
 */

import { assert, describe, it } from "@effect/vitest"
import { createClient } from "@redis/client"
import { Change, Partition, StoreOpenError } from "@tollgate/core"
import { type RedisSource, RedisStore, type RedisStoreOptions } from "@tollgate/redis"
import { recordSockets, startFaultyProxy, startRedis } from "@tollgate/testing"
import { Effect, Layer } from "effect"
import { Cluster, Redis } from "ioredis"

const partition = Partition.keys("acme", "production")

/** As a host without types would call it. Fails the test when a socket was opened. */
const refusalOf = Effect.fnUntraced(function* (source: unknown, options?: unknown) {
  const sockets = yield* recordSockets
  const layer = RedisStore.layer(source as RedisSource, options as RedisStoreOptions)
  const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
  assert.instanceOf(error, StoreOpenError)
  assert.lengthOf(sockets, 0)
  assert.notInclude(error.message, "\n")
  assert.notInclude(error.message, "s3cret")
  return error.message
})

const kinds =
  "Give a redis:// or rediss:// URL as a string, the path of a Unix socket, ioredis options with a host, or an ioredis client."

describe("a Redis store is not opened on", () => {
  it.live.each<readonly [what: string, source: unknown, message: string]>([
    ["undefined", undefined, `its first argument is undefined. ${kinds}`],
    ["null", null, `its first argument is null. ${kinds}`],
    ["a number", 6379, `its first argument is a number. ${kinds}`],
    ["a function", () => undefined, `its first argument is a function. ${kinds}`],
    ["a URL object", new URL("redis://:s3cret@localhost"), `its first argument is a URL. ${kinds}`],
    ["a class of ioredis", Redis, `its first argument is a function. ${kinds}`],
    ["a map", new Map(), `its first argument is a Map. ${kinds}`],
    [
      "a list of cluster nodes",
      [{ host: "localhost", port: 7000 }],
      "its first argument is an array. For Redis Cluster, give new Cluster(nodes) of ioredis."
    ],
    [
      "a promise",
      Promise.resolve("redis://localhost"),
      "its first argument is a promise. Await it first, as in RedisStore.open(await client)."
    ],
    [
      "a client of node-redis",
      createClient({ url: "redis://:s3cret@localhost" }),
      "its first argument is a client of the redis package. Give its URL as a string, or an ioredis client."
    ],
    ["empty options", {}, "its ioredis options name no server. Set host and port, or path, or sentinels and name."],
    ["options without a host", { hots: "redis", port: 6380 }, "name no server (they set hots, port)"],
    ["options of node-redis", { url: "redis://:s3cret@localhost" }, "name no server (they set url)"],
    ["a host that is undefined", { host: undefined, password: "s3cret" }, "name no server (they set host, password)"],
    [
      "options of the store among those of ioredis",
      { host: "localhost", prefix: "shop:" },
      "prefix is not an option of ioredis. Give it in the second argument, as in RedisStore.open(options, { prefix })."
    ]
  ])("%s", ([, source, message]) =>
    Effect.gen(function* () {
      assert.include(yield* refusalOf(source), message)
    })
  )

  it.live("a key prefix with braces, be it of a client, a cluster or an address", () =>
    Effect.gen(function* () {
      const braces = 'the prefix "{shop}:" has a brace in it. Choose one without { and }.'
      const settings = { keyPrefix: "{shop}:", lazyConnect: true }
      for (const source of [
        new Redis(settings),
        new Cluster([{ host: "localhost", port: 7000 }], settings),
        "redis://localhost?keyPrefix={shop}:",
        { host: "localhost", keyPrefix: "{shop}:" }
      ]) {
        assert.include(yield* refusalOf(source), braces)
      }
    })
  )
})

describe("a Redis store is not opened with", () => {
  const names = "The options are prefix, commandTimeout, waitReplicas."
  const replicas = "Give { count, timeout }: a number of replicas from 1, and milliseconds from 1."
  it.live.each<readonly [what: string, options: unknown, message: string]>([
    ["a misspelled option", { commandTimout: 5 }, `there is no option commandTimout. ${names}`],
    ["an option of SQLite", { durability: "full" }, `there is no option durability. ${names}`],
    ["a name that objects have anyway", { toString: 1 }, `there is no option toString. ${names}`],
    ["options that are no object", "shop:", "its options are not an object. Give an object with any of prefix,"],
    ["null for options", null, "its options are not an object"],
    ["a prefix that is no string", { prefix: 5 }, 'the prefix is not a string. Give one such as "tollgate:".'],
    ["a prefix with a brace", { prefix: "{x}" }, 'the prefix "{x}" has a brace in it'],
    ["a time-out in words", { commandTimeout: "2s" }, "commandTimeout is not a positive integer"],
    ["no time at all", { commandTimeout: 0 }, "Give a number of milliseconds from 1."],
    ["more time than a timer can hold", { commandTimeout: 2 ** 31 }, "commandTimeout is not a positive integer"],
    ["a bare number of replicas", { waitReplicas: 1 }, `waitReplicas is not an object. ${replicas}`],
    ["a misspelled option of replicas", { waitReplicas: { replicas: 1 } }, `has no option replicas. ${replicas}`],
    ["replicas without a time-out", { waitReplicas: { count: 1 } }, `not a positive integer. ${replicas}`]
  ])("%s", ([, options, message]) =>
    Effect.gen(function* () {
      assert.include(yield* refusalOf("redis://127.0.0.1:1", options), message)
      assert.include(yield* refusalOf("redis://127.0.0.1:1", options), "Cannot open the Redis at redis://127.0.0.1:1: ")
    })
  )
})

describe("opening a Redis store", () => {
  it.live("takes undefined for an option that is not set", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis()
      const options = { prefix: undefined, commandTimeout: undefined, waitReplicas: undefined }
      yield* Effect.promise(() => RedisStore.open(url, options).then((store) => store.close()))
    })
  )

  it.live("lets the query of an address change no setting that safe writing needs", () =>
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
