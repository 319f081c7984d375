/**
 * Customers with keys and subscriptions, for the benchmarks of metering and rate limits.
 */
import { createTollgate } from "@tollgate/core"
import type { Module } from "@tollgate/core/module"
import type { StoreOperations } from "@tollgate/store"
import { makeSubscription } from "@tollgate/testing"
import { createInBatches, account as defaultAccount, secret } from "./keys.ts"

export const customers = 500
/** A limit that no run reaches. */
export const unreachableLimit = 2 ** 40
export const unreachableRateLimit = { limit: 50_000, per: "second" } as const
export const concurrency = 64

/** A request of the customer with this number, now. */
export const makeUsageEvent = (id: string, index: number) => ({
  specversion: "1.0" as const,
  id,
  source: "/bench",
  type: "request",
  subject: `c-${index % customers}`,
  time: new Date().toISOString(),
  data: { meters: { requests: 1 } }
})

/** Creates a gate with consumers that each have a key and a subscription. */
export const loadCustomers = async (
  store: StoreOperations,
  account = defaultAccount,
  modules: ReadonlyArray<Module> = []
) => {
  const gate = await createTollgate({ store, secret, modules })
  const bench = gate.account(account)
  const [keyBucket, meteringBucket] = [bench.keyBucket("production"), await bench.meteringBuckets.ensure("default")]
  const plan = await meteringBucket.plans.create({
    label: "Pro",
    planExternalId: "pro",
    meters: { requests: { max: unreachableLimit } }
  })
  const created = await createInBatches(customers, async (index) => {
    const consumer = await keyBucket.consumers.create({ name: `c-${index}` }, { withApiKey: true })
    const subscription = await meteringBucket.subscriptions.create(
      makeSubscription(plan.id, "pro", { customerKey: consumer.name, subscriptionExternalId: `s-${index}` })
    )
    return { key: consumer.apiKeys[0].key ?? "", subscriptionId: subscription.id }
  })
  const getCustomer = (index: number) => created[index % customers] ?? { key: "", subscriptionId: "" }
  const metering = { meteringBucketId: meteringBucket.id, meters: { requests: 1 } }
  return {
    gate,
    keyBucket,
    metering,
    keys: created.map(({ key }) => key),
    authorize: (index: number) => keyBucket.authorize(getCustomer(index).key, { metering }),
    /** With a rate limit and a quota in one decision. */
    authorizeLimited: (index: number) =>
      keyBucket.authorize(getCustomer(index).key, { rateLimit: unreachableRateLimit, metering }),
    consume: (index: number) => meteringBucket.usage.consume(getCustomer(index).subscriptionId, { requests: 1 }),
    record: (index: number) =>
      meteringBucket.usage.record({ customerKey: `c-${index % customers}`, meters: { requests: 1 } }),
    recordEvents: (ids: ReadonlyArray<string>) =>
      meteringBucket.usage.recordEvents(ids.map((id, index) => makeUsageEvent(id, index))),
    reserveAndSettle: async (index: number) => {
      const { subscriptionId } = getCustomer(index)
      const { id } = await meteringBucket.usage.reserve(subscriptionId, { meters: { requests: 10 } })
      await meteringBucket.usage.settle(subscriptionId, id, { meters: { requests: 1 } })
    }
  }
}
