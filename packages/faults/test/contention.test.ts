/**
 * Four processes on one SQLite file, one Redis server and one PostgreSQL server, and four gates on one store in memory.
 * Each consumer name is created once, a rolled consumer always has exactly one key without an expiry, a quota is used completely and never
 * exceeded, and no key stays valid after its consumer is removed.
 */
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import type { StoreOperations } from "@tollgate/store"
import { makeSubscription, runWorkers } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import type { ContenderInput } from "./contender.worker.ts"
import {
  account,
  bucket,
  type ContentionInput,
  type ContentionResult,
  compete,
  names,
  quota,
  removedConsumers
} from "./contention.ts"
import { openSharedStore, type SharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"

const contenders = [0, 1, 2, 3]
const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, number) => total + number, 0)

let scope: Scope.Closeable
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

type ContenderResult = ContentionResult & { readonly thresholds?: ReadonlyArray<number> }

/** Creates the shared records, runs the contenders, and checks their results and the final state of the store. */
const runContention = async (
  name: string,
  store: StoreOperations,
  runAll: (inputs: ReadonlyArray<ContentionInput>) => Promise<ReadonlyArray<ContenderResult>>
) => {
  const gate = await createTollgate({ store, secret })
  const acme = gate.account(account)
  const keyBucket = acme.keyBucket(bucket)
  for (const consumer of ["rolled", ...removedConsumers])
    await keyBucket.consumers.create({ name: consumer }, { withApiKey: true })
  const alice = await keyBucket.consumers.create({ name: "alice" }, { withApiKey: true })
  const { id: bucketId } = await acme.meteringBuckets.create()
  const meteringBucket = acme.meteringBucket(bucketId)
  const plan = { label: "P", planExternalId: "p", meters: { requests: { max: quota } } }
  const { id: planId } = await meteringBucket.plans.create(plan)
  const { id: subscriptionId } = await meteringBucket.subscriptions.create(makeSubscription(planId, "p", {}))
  const key = alice.apiKeys[0].key ?? ""

  const results = await runAll(contenders.map((contender) => ({ contender, bucketId, subscriptionId, key })))
  const total = (count: (result: ContentionResult) => number) => sum(results.map(count))
  const created = results.flatMap((result) => result.created)
  const rolls = total((result) => result.rolls)
  const failedChecks = total((result) => result.failedChecks)
  const orphans = total((result) => result.orphans)
  const accepted = total((result) => result.accepted)
  console.log(
    `contention, ${name}: ${created.length} of ${names.length} names created once; ${rolls} rolls, ` +
      `${failedChecks} of ${total((result) => result.checks)} checks without exactly one key that does not expire; ` +
      `${accepted} of ${accepted + total((result) => result.overQuota)} uses accepted, quota ${quota}; ` +
      `${total((result) => result.keysOfRemoved)} keys created during ${removedConsumers.length} removals ` +
      `(${total((result) => result.removalConflicts)} conflicts), ${orphans} orphans`
  )
  expect(results.flatMap(({ unexpectedErrors }) => unexpectedErrors)).toEqual([])
  expect(created.sort()).toEqual([...names].sort())
  for (const consumer of names) expect((await keyBucket.keys.list(consumer)).total).toBe(1)
  const keys = (await keyBucket.keys.list("rolled")).data
  expect(keys.filter(({ expiresOn }) => expiresOn === undefined).length).toBe(1)
  expect(keys.length).toBe(1 + rolls)
  expect(failedChecks).toBe(0)
  expect(accepted).toBe(quota)
  const { meters } = await meteringBucket.usage.quotas(subscriptionId)
  expect(meters["requests"]).toEqual({ max: quota, used: quota, remaining: 0 })
  expect(orphans).toBe(0)
  const { data } = await keyBucket.consumers.list()
  expect(data.filter((consumer) => removedConsumers.includes(consumer.name))).toEqual([])
  await gate.close()
  return results
}

const inProcesses = (shared: SharedStore) => (inputs: ReadonlyArray<ContentionInput>) =>
  runWorkers<ContenderResult>(
    new URL("./contender.worker.ts", import.meta.url),
    inputs.map((input): ContenderInput => ({ ...input, shared, secret }))
  )

it("four gates on one store in memory lose no write and exceed no quota", async () => {
  const store = MemoryStore.open()
  await runContention("memory, 4 gates", store, (inputs) =>
    Promise.all(
      inputs.map(async (input) => {
        const gate = await createTollgate({ store, secret })
        const result = await compete(gate, input)
        await gate.close()
        return result
      })
    )
  )
}, 60_000)

it.each(sharedStoreKinds)(
  "four processes on one %s store lose no write and exceed no quota",
  async (kind) => {
    const shared = await Effect.runPromise(Scope.provide(startSharedStore(kind), scope))
    const store = await openSharedStore(shared)
    const results = await runContention(`${kind}, 4 processes`, store, inProcesses(shared))
    // Exactly one process is notified of each threshold.
    expect(results.flatMap(({ thresholds = [] }) => thresholds).sort()).toEqual([0.8, 1])
    await store.close()
  },
  120_000
)
