/**
 * `key.revealed`: who reads the values of existing keys is in the log before the values are in the response.
 */
import { hash } from "node:crypto"
import { createTollgate, type EventJson } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { StoreUnavailable } from "@tollgate/store"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { descriptions } from "./allModules.ts"
import { freshAccount, readLog, useGate } from "./eventGates.ts"
import { makeClient } from "./http/client.ts"
import { grants, secret, stores, tokens } from "./stores.ts"

const expiresOn = "2090-01-01T00:00:00.000Z"
const everything = "include-api-keys=true&key-format=visible"

interface Names {
  readonly consumer: string
  readonly keyId: string
}

/** The requests that show the values of existing keys. */
const reads: Readonly<Record<string, (names: Names) => readonly [method: string, path: string, body?: object]>> = {
  "keys.list": ({ consumer }) => ["GET", `/consumers/${consumer}/keys?key-format=visible`],
  "keys.get": ({ consumer, keyId }) => ["GET", `/consumers/${consumer}/keys/${keyId}?key-format=visible`],
  "keys.find": ({ keyId }) => ["GET", `/keys/${keyId}?key-format=visible`],
  "consumers.list": () => ["GET", `/consumers?${everything}`],
  "consumers.get": ({ consumer }) => ["GET", `/consumers/${consumer}?${everything}`],
  "consumers.update": ({ consumer }) => ["PATCH", `/consumers/${consumer}?${everything}`, { description: "x" }]
}

/** Those that accept `key-format`, and show no value of an existing key. */
const others = ["consumers.create", "consumers.remove", "consumers.rollKey"]

const onlyReveals = (log: ReadonlyArray<EventJson>) => log.filter(({ type }) => type === "key.revealed")

it("is considered for every operation with a key-format", () => {
  const withFormat = descriptions.filter(({ parameterDocs }) => "key-format" in parameterDocs).map(({ id }) => id)
  expect([...withFormat].sort()).toEqual([...Object.keys(reads), ...others].sort())
})

describe.each(stores)("reading values, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const setUp = async () => {
    const accountName = freshAccount()
    const bucket = gate().account(accountName).keyBucket("production")
    const { id, apiKeys } = await bucket.consumers.create({ name: "alice" }, { withApiKey: true })
    const [{ id: keyId, key }] = apiKeys
    const send = makeClient(gate().handler, `/v1/accounts/${accountName}/key-buckets/production`)
    const call = (method: string, path: string, body?: object) =>
      send(method, path, { token: tokens.admin, ...(body === undefined ? {} : { body }) })
    return {
      ...bucket,
      call,
      consumerId: id,
      keyId,
      key,
      readReveals: async () => onlyReveals(await readLog(store(), gate(), accountName))
    }
  }

  it.each(Object.keys(reads))("%s writes one event for the consumer", async (name) => {
    const { call, consumerId, keyId, key, readReveals } = await setUp()
    const [method, path, body] = reads[name]?.({ consumer: "alice", keyId }) ?? []
    const masked = await call(method ?? "", path?.replace("visible", "masked") ?? "", body)
    expect([masked.status, JSON.stringify(masked.body).includes(String(key))]).toEqual([200, false])
    expect(await readReveals()).toEqual([])
    const visible = await call(method ?? "", path ?? "", body)
    expect([visible.status, JSON.stringify(visible.body).includes(String(key))]).toEqual([200, true])
    expect(await readReveals()).toMatchObject([
      {
        actor: { type: "token", id: expect.any(String) },
        subject: { type: "consumer", id: consumerId, name: "alice" },
        data: { consumerId, consumerName: "alice", keyBucketName: "production", keyIds: [keyId], count: 1 }
      }
    ])
  })

  it("writes one event for each consumer of a list, with the first 100 ids and the number of all", async () => {
    const { consumers, keys, keyId, readReveals } = await setUp()
    await keys.createMany(
      "alice",
      Array.from({ length: 120 }, () => ({}))
    )
    await consumers.create({ name: "bob", apiKeys: [{}, {}] })
    await consumers.create({ name: "carol" })
    await consumers.list({ apiKeys: true, keyFormat: "visible" })
    await consumers.get("alice", { apiKeys: true, keyFormat: "visible" })
    const reveals = await readReveals()
    expect(reveals.map(({ actor }) => actor)).toEqual(reveals.map(() => ({ type: "host" })))
    expect(reveals.map(({ subject, data }) => [subject.name, data["count"]])).toEqual([
      // A list shows 100 keys of a consumer.
      ["alice", 100],
      ["bob", 2],
      ["alice", 121]
    ])
    const { keyIds } = reveals.at(-1)?.data ?? {}
    expect([keyIds].flat()).toHaveLength(100)
    expect([keyIds].flat()[0]).toBe(keyId)
  })

  it("is not written for values that are new, not kept, or not shown", async () => {
    const { call, consumers, keys, keyId, readReveals } = await setUp()
    await consumers.create({ name: "bob" }, { withApiKey: true, keyFormat: "visible" })
    expect((await consumers.rollKey("alice", { expiresOn })).key).toMatch(/^tg_/)
    const rolled = await call("POST", "/consumers/alice/roll-key?key-format=visible", { expiresOn })
    expect(rolled).toMatchObject({ status: 200, body: { consumerName: "alice", key: expect.stringMatching(/^tg_/) } })
    await keys.update("alice", keyId, { key: "a-value-of-an-update" })
    await consumers.create({ name: "carol" })
    await keys.import("carol", { keys: [{ hash: hash("sha256", freshAccount()), algorithm: "sha256" }] })
    await keys.list("carol", { keyFormat: "visible" })
    await keys.list("alice", { keyFormat: "none" })
    await keys.get("alice", keyId)
    await expect(keys.find("key_000000000000000000000000", { keyFormat: "visible" })).rejects.toThrow()
    expect(await readReveals()).toEqual([])
  })
})

it.each(Object.entries(reads))("%s fails without a value if the event cannot be committed", async (_, toRequest) => {
  const store = MemoryStore.open()
  const writer = await createTollgate({ store, secret })
  const { consumers } = writer.account("acme").keyBucket("production")
  const { apiKeys } = await consumers.create({ name: "alice" }, { withApiKey: true })
  const [{ id: keyId, key = "" }] = apiKeys
  const isReveal = (change: object): boolean => JSON.stringify(change).includes("key.revealed")
  const unavailable = new StoreUnavailable({ operation: "commit", outcome: "not-applied", cause: "away" })
  const commit: typeof store.commit = (partition, changes, idempotency) =>
    changes.some(isReveal) ? Effect.fail(unavailable) : store.commit(partition, changes, idempotency)
  const reader = await createTollgate({ store: { ...store, commit }, secret, tokens: grants })
  const call = makeClient(reader.handler, "/v1/accounts/acme/key-buckets/production")
  const [method, path, body] = toRequest({ consumer: "alice", keyId })
  const refused = await call(method, path, body === undefined ? {} : { body })
  expect(refused).toMatchObject({ status: 503, body: { code: "store-unavailable" } })
  expect(JSON.stringify(refused.body)).not.toContain(key)
  expect((await call(method, path.replace("visible", "masked"), body === undefined ? {} : { body })).status).toBe(200)
  await reader.close()
  await writer.close()
})
