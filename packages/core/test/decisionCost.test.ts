/**
 * What a decision costs the store: its calls, the changes of its commit, and the bytes of both. A decision that costs more
 * fails here. Raise a number only with the reason in the commit.
 */
import { type AuthorizeOptions, createTollgate, type LocalKeyBucketHandle, type Tollgate } from "@tollgate/core"
import type { StoreOperations } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
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

beforeAll(async () => {
  gate = await createTollgate({ store: note(MemoryStore.open()), secret })
  const account = gate.account("acme")
  production = account.keyBucket("production")
  const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  key = apiKeys[0].key ?? ""
  const billing = await account.meteringBuckets.ensure("default")
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
    expectAtMost(cost, { reads: 1, commits: 1, changes: 8, bytes: 735 })
  })

  it("two more changes for each further meter", async () => {
    const meters = { requests: 1, tokens: 100 }
    const cost = await measure(key, { rateLimit, metering: { meteringBucketId, meters } })
    expectAtMost(cost, { reads: 1, commits: 1, changes: 10, bytes: 945 })
  })

  it("one more change for a rate limit of the plan", async () => {
    const metering = { meteringBucketId, meters: { requests: 1 } }
    const cost = await measure(limitedKey, { metering })
    expectAtMost(cost, { reads: 1, commits: 1, changes: 8, bytes: 740 })
  })

  it("nothing, with a key that is malformed", async () => {
    calls.length = 0
    expect(await production.authorize(`${key}x`, { rateLimit })).toEqual({ allowed: false, reason: "malformed-key" })
    expect(calls).toEqual([])
  })
})
