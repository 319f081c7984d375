/**
 * What the log of decisions costs: `authorize` with the module, compared with the same without it, for requests that are
 * allowed and for those that are refused.
 */
import { join } from "node:path"
import { decisions } from "@tollgate/decisions"
import { MemoryStore } from "@tollgate/memory"
import { SqliteStore } from "@tollgate/sqlite"
import type { StoreOperations } from "@tollgate/store"
import { concurrency, loadCustomers } from "./customers.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

const measure = async (storeName: string, store: StoreOperations, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const logged = await loadCustomers(store, "with-log", [decisions()])
  const plain = await loadCustomers(store, "without-log")
  const refuse =
    ({ keyBucket, keys }: typeof plain) =>
    (index: number) =>
      keyBucket.authorize(keys[index % keys.length] ?? "", { scopes: ["none:has-it"] })
  const allowed = await compare(
    runConcurrently(concurrency, logged.authorizeLimited),
    runConcurrently(concurrency, plain.authorizeLimited),
    effort
  )
  const refused = await compare(
    runConcurrently(concurrency, refuse(logged)),
    runConcurrently(concurrency, refuse(plain)),
    effort
  )
  await logged.gate.close()
  await plain.gate.close()
  const comparedWith = "the same without the log of decisions"
  return [
    { name: `authorize with rate limit and quota, ${storeName}, with the log of decisions`, comparedWith, ...allowed },
    { name: `authorize that refuses, ${storeName}, with the log of decisions`, comparedWith, ...refused }
  ]
}

export const decisionLogInMemory = (effort: Effort): Promise<ReadonlyArray<Row>> =>
  measure("memory", MemoryStore.open(), effort)

export const decisionLogOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<ReadonlyArray<Row>> => {
  const store = await SqliteStore.open(join(folder, "decision-log.db"))
  const rows = await measure("SQLite file", store, effort)
  await store.close()
  return rows
}
