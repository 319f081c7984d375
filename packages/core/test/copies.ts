/**
 * A Tollgate with everything that a store can contain, and what a caller sees of it.
 */
import { hash } from "node:crypto"
import { createTollgate, type Tollgate } from "@tollgate/core"
import type { DeploymentsModule } from "@tollgate/deployments"
import type { StoreOperations } from "@tollgate/store"
import { eventually } from "@tollgate/testing"
import { expect } from "vitest"
import { memoryDeployments } from "./allModules.ts"
import { secret } from "./stores.ts"

const suppliedKey = "a-key-that-the-caller-supplied"
const importedKey = "a-key-of-another-system-1"
const meters = { requests: 1 }
const rateLimit = { name: "slow", limit: 2, per: "day" } as const

export interface Contents {
  readonly keys: ReadonlyArray<string>
  readonly keyOfAlice: string
  readonly meteringBucketId: string
  readonly subscriptionId: string
  readonly versionOfAlice: number
}

type Gate = Tollgate<DeploymentsModule>

export const openGate = (store: StoreOperations): Promise<Gate> =>
  createTollgate({
    store,
    secret,
    publicUrl: "http://gate",
    modules: [memoryDeployments()]
  })

const getHandles = (gate: Gate, meteringBucketId = "bckt_none") => {
  const acme = gate.account("acme")
  return { acme, production: acme.keyBucket("production"), billing: acme.meteringBucket(meteringBucketId) }
}

const createKeys = async (gate: Gate) => {
  const { production } = getHandles(gate)
  const { apiKeys, version } = await production.consumers.create(
    { name: "alice", tags: { team: "blue" }, managers: ["boss@example.com"] },
    { withApiKey: true, idempotencyKey: "alice" }
  )
  for (const name of ["zoe", "bob", "mia"]) await production.consumers.create({ name, tags: { team: "red" } })
  const fields = [
    { description: "plain" },
    { expiresOn: "2099-01-01T00:00:00.000Z", scopes: ["orders:read"] },
    { expiresOn: "2020-01-01T00:00:00.000Z" },
    { disabled: true },
    { key: suppliedKey }
  ]
  const created = await production.keys.createMany("bob", fields, { idempotencyKey: "many" })
  await production.keys.import("mia", { keys: [{ hash: hash("sha256", importedKey), algorithm: "sha256" }] })
  await production.consumers.remove("zoe")
  const keyOfAlice = apiKeys[0].key ?? ""
  return { keyOfAlice, keys: [keyOfAlice, importedKey, ...created.data.map(({ key }) => key ?? "")], version }
}

const meter = async (gate: Gate, key: string) => {
  const { acme, production } = getHandles(gate)
  const billing = await acme.meteringBuckets.ensure("default")
  const rateLimits = { steady: { limit: 5, per: "day" as const } }
  await billing.plans.create({ label: "pro", meters: { requests: { max: 5 } }, rateLimits })
  const input = { customerKey: "alice", planExternalIds: ["pro"] }
  const { id } = await billing.subscriptions.create(input, { idempotencyKey: "subscription" })
  await billing.usage.consume(id, { requests: 2 }, { idempotencyKey: "consume" })
  const metering = { meteringBucketId: billing.id, meters }
  for (const allowed of [true, true, false]) {
    expect(await production.authorize(key, { metering, rateLimit })).toMatchObject({ allowed })
  }
  return { meteringBucketId: billing.id, subscriptionId: id }
}

const deploy = async (gate: Gate) => {
  const { deployments } = getHandles(gate).acme.project("web")
  const { uploadUrl } = await deployments.createSource({ branchName: "main" }, { idempotencyKey: "source" })
  const { id } = await deployments.upload(uploadUrl, new Uint8Array(5))
  await eventually(async () => expect((await deployments.status(id)).status).toBe("SUCCESS"))
}

/** Fills an empty store with consumers, keys of all kinds, usage, limits and deployments. */
export const fillStore = async (store: StoreOperations): Promise<Contents> => {
  const gate = await openGate(store)
  try {
    const { keyOfAlice, keys, version } = await createKeys(gate)
    const metered = await meter(gate, keyOfAlice)
    await deploy(gate)
    return { keys, keyOfAlice, versionOfAlice: version, ...metered }
  } finally {
    await gate.close()
  }
}

/** Everything that a caller can read. */
export const describeGate = async (gate: Gate, { keys, meteringBucketId, subscriptionId }: Contents) => {
  const { acme, production, billing } = getHandles(gate, meteringBucketId)
  const { deployments } = acme.project("web")
  return {
    accounts: await gate.accounts.list(),
    consumers: await production.consumers.list({ apiKeys: true, keyFormat: "masked" }),
    visible: await production.keys.list("bob", { keyFormat: "visible" }),
    red: await production.consumers.list({ tags: { team: "red" } }),
    buckets: [await acme.keyBuckets.list(), await acme.meteringBuckets.list(), await acme.projects.list()],
    plans: await billing.plans.list(),
    subscriptions: await billing.subscriptions.list(),
    quotas: await billing.usage.quotas(subscriptionId),
    deployments: await deployments.list(),
    versions: await deployments.versions((await deployments.list()).data[0]?.name ?? ""),
    verifications: await Promise.all(keys.map((key) => production.verify(key)))
  }
}

/** Repeats calls with their idempotency keys, exhausts what is left of limits, and writes. */
export const useGate = async (
  gate: Gate,
  { keyOfAlice, meteringBucketId, subscriptionId, versionOfAlice }: Contents
) => {
  const { production, billing } = getHandles(gate, meteringBucketId)
  const alice = await production.consumers.create(
    { name: "alice", tags: { team: "blue" }, managers: ["boss@example.com"] },
    { withApiKey: true, idempotencyKey: "alice" }
  )
  expect(alice.apiKeys[0].key).toBe(keyOfAlice)
  const repeated = await billing.usage.consume(subscriptionId, { requests: 2 }, { idempotencyKey: "consume" })
  expect(repeated.meters["requests"]).toMatchObject({ used: 2 })
  expect((await billing.usage.quotas(subscriptionId)).meters["requests"]).toMatchObject({ used: 4 })

  const metering = { meteringBucketId, meters }
  expect(await production.authorize(keyOfAlice, { rateLimit, metering })).toMatchObject({ reason: "rate-limited" })
  expect(await production.authorize(keyOfAlice, { metering })).toMatchObject({ allowed: true })
  expect(await production.authorize(keyOfAlice, { metering })).toMatchObject({ reason: "over-quota" })

  const changed = await production.consumers.update("alice", { tags: { team: "red" } }, { ifMatch: versionOfAlice })
  expect(changed.version).toBeGreaterThan(versionOfAlice)
  await production.consumers.create({ name: "adam", tags: { team: "red" } })
  const { data } = await production.consumers.list({ tags: { team: "red" } })
  expect(data.map(({ name }) => name)).toEqual(["alice", "bob", "mia", "adam"])
}
