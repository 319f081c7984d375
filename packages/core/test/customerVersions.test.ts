/**
 * A decision checks only the customer, not each of its subscriptions. So every commit that changes a subscription must
 * change its customer, too.
 */
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { type Change, Store, type StoreOperations } from "@tollgate/store"
import { DateTime, Effect } from "effect"
import { expect, it } from "vitest"
import { persistDueChanges } from "../src/metering/subscriptions/persistDueChanges.ts"
import { secret } from "./stores.ts"

it("every commit that changes a subscription changes its customer", async () => {
  const commits: Array<ReadonlyArray<string>> = []
  const inner = MemoryStore.open()
  const isWrite = (change: Change) => change._tag === "Put" || change._tag === "Delete"
  const store: StoreOperations = {
    ...inner,
    commit: (partition, changes, ...rest) => {
      const keys = changes.filter(isWrite).map(({ key }) => key)
      if (keys.some((key) => key.startsWith("subscription/"))) commits.push(keys)
      return inner.commit(partition, changes, ...rest)
    }
  }
  const gate = await createTollgate({ store, secret, background: false })
  const billing = await gate.account("acme").meteringBuckets.ensure("default")
  await billing.plans.create({ planExternalId: "pro", meters: { requests: { max: 10 } } })
  await billing.plans.create({ planExternalId: "other", meters: { requests: { max: 20 } } })
  const subscribe = (fields = {}) =>
    billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"], ...fields })
  const first = await subscribe()
  await billing.subscriptions.update(first.id, { status: "unpaid" })
  const second = await subscribe({ status: "trialing", trialEndDate: "2100-01-01T00:00:00Z" })
  const afterTrial = DateTime.makeUnsafe("2100-01-01T01:00:00Z")
  await Effect.runPromise(Effect.provideService(persistDueChanges(billing.id, afterTrial), Store, store))
  const alice = billing.customer("alice")
  await alice.changePlan({ planExternalIds: ["other"], at: "period-end" })
  await alice.withdrawPendingChange()
  await alice.cancel({ at: "now" })
  await billing.subscriptions.remove(first.id)
  await billing.subscriptions.remove(second.id)
  await gate.close()
  expect(commits).toHaveLength(9)
  for (const keys of commits) expect(keys).toContain("customer/alice")
})
