/**
 * What a decision costs the store: its calls, the changes of its commit, and the bytes of both. A decision that costs more
 * fails here. Raise a number only with the reason in the commit.
 */
import {
  type AuthorizeOptions,
  createTollgate,
  type LocalKeyBucketHandle,
  type MeteringBucketHandle,
  type Tollgate
} from "@tollgate/core"
import { decisions } from "@tollgate/decisions"
import { MemoryStore } from "@tollgate/memory"
import type { StoreOperations } from "@tollgate/store"
import { isBackgroundCall } from "@tollgate/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { secret } from "./stores.ts"

interface Call {
  readonly operation: string
  readonly items: ReadonlyArray<unknown>
}

const calls: Array<Call> = []

/** Notes the calls that are not background work. Without `now`, the operations of a decision are called as all others are. */
const note = (inner: StoreOperations): StoreOperations => {
  const noted =
    <Args extends readonly [string, ReadonlyArray<unknown>, ...ReadonlyArray<unknown>], A>(
      operation: string,
      run: (...args: Args) => A
    ) =>
    (...args: Args): A => {
      const [partition, items] = args
      if (!isBackgroundCall(operation, partition, items)) calls.push({ operation, items })
      return run(...args)
    }
  return {
    ...inner,
    get: noted("get", inner.get),
    getByUniqueKey: noted("getByUniqueKey", inner.getByUniqueKey),
    list: noted("list", inner.list),
    counters: noted("counters", inner.counters),
    commit: noted("commit", inner.commit)
  }
}

let gate: Tollgate
let production: LocalKeyBucketHandle
let key: string
/** The plan of its consumer has a rate limit. */
let limitedKey: string
let meteringBucketId: string
let billing: MeteringBucketHandle

beforeAll(async () => {
  // The log of decisions costs them nothing.
  gate = await createTollgate({ store: note(MemoryStore.open()), secret, modules: [decisions()] })
  const account = gate.account("acme")
  production = account.keyBucket("production")
  const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  key = apiKeys[0].key ?? ""
  billing = await account.meteringBuckets.ensure("default")
  meteringBucketId = billing.id
  const rateLimits = { planned: { limit: 1_000, per: "second" } } as const
  const plan = { planExternalId: "pro", meters: { requests: { max: 1e9 }, tokens: { max: 1e9 } } }
  await billing.plans.create(plan)
  await billing.plans.create({ ...plan, planExternalId: "limited", rateLimits })
  await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
  const bob = await production.consumers.create({ name: "bob" }, { withApiKey: true })
  limitedKey = bob.apiKeys[0].key ?? ""
  await billing.subscriptions.create({ customerKey: "bob", planExternalIds: ["limited"] })
})
afterAll(() => gate.close())

const rateLimit = { limit: 1_000, per: "second" } as const

interface Cost {
  readonly reads: number
  readonly commits: number
  readonly changes: number
  /** What the calls carry, as JSON. Ids and times are of constant length. */
  readonly bytes: number
}

const measure = async (consumerKey: string, options?: AuthorizeOptions): Promise<Cost> => {
  // The first decisions learn what later ones know.
  for (let count = 0; count < 3; count++) await production.authorize(consumerKey, options)
  calls.length = 0
  expect(await production.authorize(consumerKey, options)).toMatchObject({ allowed: true })
  const commits = calls.filter(({ operation }) => operation === "commit")
  return {
    reads: calls.length - commits.length,
    commits: commits.length,
    changes: commits.reduce((sum, { items }) => sum + items.length, 0),
    bytes: calls.reduce((sum, { items }) => sum + JSON.stringify(items).length, 0)
  }
}

const expectAtMost = (cost: Cost, bound: Cost) => {
  const { bytes, ...counts } = cost
  const { bytes: maxBytes, ...expected } = bound
  expect(counts).toEqual(expected)
  expect(bytes).toBeLessThanOrEqual(maxBytes)
}

describe("a decision costs the store", () => {
  it("one read, with a key", async () => {
    expectAtMost(await measure(key), { reads: 1, commits: 0, changes: 0, bytes: 60 })
  })

  it("one read and one change, with a key and a limit", async () => {
    expectAtMost(await measure(key, { rateLimit }), { reads: 1, commits: 1, changes: 1, bytes: 205 })
  })

  it("one read and one commit, with a key, a limit and a meter", async () => {
    const cost = await measure(key, { rateLimit, metering: { meteringBucketId, meters: { requests: 1 } } })
    expectAtMost(cost, { reads: 1, commits: 1, changes: 7, bytes: 655 })
  })

  it("two more changes for each further meter", async () => {
    const meters = { requests: 1, tokens: 100 }
    const cost = await measure(key, { rateLimit, metering: { meteringBucketId, meters } })
    expectAtMost(cost, { reads: 1, commits: 1, changes: 9, bytes: 865 })
  })

  it("one more change for a rate limit of the plan", async () => {
    const metering = { meteringBucketId, meters: { requests: 1 } }
    const cost = await measure(limitedKey, { metering })
    expectAtMost(cost, { reads: 1, commits: 1, changes: 7, bytes: 660 })
  })

  it("nothing more for a period, a soft limit, overrides and features", async () => {
    await billing.plans.create({
      planExternalId: "everything",
      meters: { requests: { max: 1, period: "day", isSoftLimit: true }, tokens: { max: 1e9 } },
      features: { exports: true, seats: 5 }
    })
    await billing.subscriptions.create({
      customerKey: "dora",
      planExternalIds: ["everything"],
      overrides: { meters: { tokens: { max: 1e9 } }, features: { seats: 6 } }
    })
    const dora = await production.consumers.create({ name: "dora" }, { withApiKey: true })
    const metering = { meteringBucketId, meters: { requests: 1, tokens: 100 } }
    const cost = await measure(dora.apiKeys[0].key ?? "", { rateLimit, metering, features: ["exports"] })
    expectAtMost(cost, { reads: 1, commits: 1, changes: 9, bytes: 865 })
  })

  it("nothing more for credit", async () => {
    await billing.subscriptions.create({ customerKey: "fred", planExternalIds: ["pro"] })
    const { grants } = billing.customer("fred")
    for (const priority of [1, 2, 3]) await grants.create({ meter: "requests", amount: 1e6, priority })
    await grants.create({ meter: "tokens", amount: 1e6, expiresOn: "2099-01-01T00:00:00Z" })
    const fred = await production.consumers.create({ name: "fred" }, { withApiKey: true })
    const metering = { meteringBucketId, meters: { requests: 1, tokens: 100 } }
    const cost = await measure(fred.apiKeys[0].key ?? "", { rateLimit, metering })
    expectAtMost(cost, { reads: 1, commits: 1, changes: 9, bytes: 865 })
    // Also where grants are spent, and one of them was used up.
    await billing.customer("fred").consume({ requests: 1e9 + 1e6 })
    const spending = await measure(fred.apiKeys[0].key ?? "", { rateLimit, metering })
    expectAtMost(spending, { reads: 1, commits: 1, changes: 9, bytes: 865 })
  })

  it("one more change for each plan of a pending change, none for a cancellation and for usage that is continued", async () => {
    const metering = { meteringBucketId, meters: { requests: 1 } }
    const emma = billing.customer("emma")
    const { apiKeys } = await production.consumers.create({ name: "emma" }, { withApiKey: true })
    const measureEmma = () => measure(apiKeys[0].key ?? "", { rateLimit, metering })
    await emma.changePlan({ planExternalIds: ["pro"], at: "now" })
    const plain = { reads: 1, commits: 1, changes: 7, bytes: 655 }
    expectAtMost(await measureEmma(), plain)
    await emma.changePlan({ planExternalIds: ["limited"], at: "period-end" })
    expectAtMost(await measureEmma(), { ...plain, changes: 8, bytes: 730 })
    await emma.cancel({ at: "period-end" })
    expectAtMost(await measureEmma(), plain)
    await emma.cancel({ at: "now" })
    await billing.subscriptions.create({ customerKey: "emma", planExternalIds: ["pro"], continueUsage: true })
    expectAtMost(await measureEmma(), plain)
  })

  it("one read, with a key whose consumer is disabled", async () => {
    await production.consumers.create({ name: "carol", disabled: true })
    const carol = await production.keys.create("carol")
    calls.length = 0
    const metering = { meteringBucketId, meters: { requests: 1 } }
    expect(await production.authorize(carol.key, { rateLimit, metering })).toEqual({
      allowed: false,
      reason: "disabled-consumer"
    })
    expect(calls.map(({ operation }) => operation)).toEqual(["getByUniqueKey"])
  })

  it("nothing, with a key that is malformed", async () => {
    calls.length = 0
    expect(await production.authorize(`${key}x`, { rateLimit })).toEqual({ allowed: false, reason: "malformed-key" })
    expect(calls).toEqual([])
  })
})
