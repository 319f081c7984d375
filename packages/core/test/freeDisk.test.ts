/**
 * A disk with less free space than the reserve: a reserve that no disk has.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createTollgate, InsufficientStorage } from "@tollgate/core"
import { SqliteStore } from "@tollgate/sqlite"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeClient } from "./http/client.ts"
import { grants, secret } from "./stores.ts"

const folder = mkdtempSync(join(tmpdir(), "tollgate-free-"))
afterAll(() => rmSync(folder, { recursive: true }))

const open = async (freeDiskReserveMebibytes: number) => {
  const store = await SqliteStore.open(join(folder, "store.db"), { freeDiskReserveMebibytes })
  const gate = await createTollgate({ store, secret, tokens: grants })
  return { gate, close: () => gate.close().then(() => store.close()) }
}

const large = { text: "x".repeat(20_000) }
let key: string
let bucketId: string
let subscriptionId: string
beforeAll(async () => {
  const { gate, close } = await open(0)
  const { keyBucket, meteringBuckets, meteringBucket } = gate.account("acme")
  const { apiKeys } = await keyBucket("b").consumers.create({ name: "first", metadata: large }, { withApiKey: true })
  key = apiKeys[0]?.key ?? ""
  bucketId = (await meteringBuckets.create()).id
  const { plans, subscriptions } = meteringBucket(bucketId)
  await plans.create({ label: "p", planExternalId: "p", meters: { requests: { label: "Requests", max: 10 } } })
  subscriptionId = (await subscriptions.create({ customerKey: "first", planExternalIds: ["p"] })).id
  await close()
})

it("refuses large writes with 507, and goes on to decide and to write a little", async () => {
  const { gate, close } = await open(2 ** 40)
  const call = makeClient(gate.handler)
  const path = "/v1/accounts/acme/key-buckets/b/consumers"
  const refused = await call("POST", path, { body: { name: "second", metadata: large } })
  expect(refused).toMatchObject({ status: 507, body: { code: "insufficient-storage" } })
  expect((await call("GET", `${path}/second`)).status).toBe(404)
  const { keyBucket, meteringBucket } = gate.account("acme")
  const inProcess = keyBucket("b").consumers.create({ name: "second", metadata: large })
  await expect(inProcess).rejects.toBeInstanceOf(InsufficientStorage)

  expect((await call("POST", path, { body: { name: "third" } })).status).toBe(200)
  expect(await keyBucket("b").verify(key)).toMatchObject({ valid: true })
  await meteringBucket(bucketId).usage.consume(subscriptionId, { requests: 1 })
  expect((await call("DELETE", `${path}/first`)).status).toBe(204)
  await close()
})

it("accepts them without a reserve", async () => {
  const { gate, close } = await open(0)
  const { consumers } = gate.account("acme").keyBucket("b")
  expect(await consumers.create({ name: "second", metadata: large })).toMatchObject({ name: "second" })
  await close()
})
