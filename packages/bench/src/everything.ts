/**
 * What a plan with everything costs a decision: two plans with features, three grants, overrides, labels and the log of decisions,
 * compared with a plain plan.
 */
import { join } from "node:path"
import { decisions } from "@tollgate/decisions"
import { MemoryStore } from "@tollgate/memory"
import { SqliteStore } from "@tollgate/sqlite"
import type { StoreOperations } from "@tollgate/store"
import { concurrency, loadCustomers, unreachableLimit, unreachableRateLimit } from "./customers.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

/** Gives every customer a second plan, overrides and grants. */
const loadEverything = async (store: StoreOperations) => {
  const loaded = await loadCustomers(store, "with-everything", [decisions()])
  const { gate, keyBucket, keys, metering } = loaded
  const bucket = gate.account(keyBucket.accountName).meteringBucket(metering.meteringBucketId)
  const meters = { requests: { max: 1_000 }, tokens: { max: unreachableLimit } }
  await bucket.plans.create({ planExternalId: "add-on", meters, features: { exports: true, seats: 5 } })
  for await (const { id, customerKey } of bucket.subscriptions.list()) {
    await bucket.subscriptions.update(id, {
      planExternalIds: ["pro", "add-on"],
      overrides: { meters: { tokens: { max: unreachableLimit } }, features: { seats: 6 } }
    })
    const { grants } = bucket.customer(customerKey)
    for (const priority of [1, 2, 3]) await grants.create({ meter: "requests", amount: 1_000_000, priority })
  }
  return (index: number) =>
    keyBucket.authorize(keys[index % keys.length] ?? "", {
      rateLimit: unreachableRateLimit,
      metering,
      features: ["exports"],
      labels: { model: index % 2 === 0 ? "small" : "large" }
    })
}

const measure = async (storeName: string, store: StoreOperations, effort: Effort): Promise<Row> => {
  const authorizeWithEverything = await loadEverything(store)
  const plain = await loadCustomers(store, "with-a-plain-plan")
  const { allowed } = await authorizeWithEverything(0)
  if (!allowed) throw new Error("a customer with everything is refused")
  return {
    name: `authorize with rate limit and quota, ${storeName}, a plan with everything`,
    comparedWith: "the same with a plain plan",
    target: 0.85,
    ...(await compare(
      runConcurrently(concurrency, authorizeWithEverything),
      runConcurrently(concurrency, plain.authorizeLimited),
      effort
    ))
  }
}

export const everythingInMemory = (effort: Effort): Promise<Row> => measure("memory", MemoryStore.open(), effort)

export const everythingOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<Row> =>
  measure("SQLite file", await SqliteStore.open(join(folder, "everything.db")), effort)
