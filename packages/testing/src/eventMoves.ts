/**
 * Work in the background: events are moved from the partitions of their changes to the logs of their accounts, the last use
 * of keys and the bytes of accounts are written, and directories are searched for work. These functions let a test wait for the events, or leave all
 * of it out when it counts the calls of operations.
 */
import { Partition, type StoreOperations, type StoreQuery } from "@tollgate/store"
import { Effect } from "effect"
import { eventually } from "./eventually.ts"

const outboxTerm = "outbox"
const everyEntry = { offset: 0, limit: 10_000 }

const isQuery = (value: unknown): value is StoreQuery =>
  typeof value === "object" && value !== null && "indexTerms" in value

const isRemovalFromOutbox = (change: object): boolean =>
  "_tag" in change && change._tag === "Delete" && "key" in change && String(change.key).startsWith(`${outboxTerm}/`)

/** Whether a change notes the last use of a key. */
const isLastUse = (change: object): boolean =>
  "_tag" in change && change._tag === "Raise" && "counter" in change && String(change.counter).startsWith("used:")

const bytesCounter = /^(bytes$|responses:)/

/** Whether a change adds to the bytes of an account or of a partition. */
const isByteCount = (change: object): boolean =>
  "_tag" in change && change._tag === "Add" && "counter" in change && bytesCounter.test(String(change.counter))

/** Whether a store is called by a background job. The arguments are those of the operation after the partition. */
export const isBackgroundCall = (operation: string, partition: string, items: unknown): boolean => {
  if (partition === Partition.jobsDirectory || partition.startsWith(`${Partition.eventsDirectory}/`)) return true
  // What is noted of decisions and of usage.
  if (partition.startsWith("stats/")) return true
  if (!Array.isArray(items)) return false
  if (operation === "get" && partition === Partition.meteringDirectory && items.length === 1) return true
  if (operation === "commit" && items.length > 0) {
    return [isRemovalFromOutbox, isLastUse, isByteCount].some((isBackground) => items.every(isBackground))
  }
  if (operation === "counters" && items.every((counter) => bytesCounter.test(String(counter)))) return true
  const isOutboxQuery = (item: unknown) => isQuery(item) && item.indexTerms.includes(outboxTerm)
  return operation === "list" && items.every(isOutboxQuery)
}

const countEvents = Effect.fnUntraced(function* (store: StoreOperations) {
  const pages = yield* store.list(Partition.jobsDirectory, [
    { indexTerms: ["held"], ...everyEntry },
    { indexTerms: ["due"], ...everyEntry }
  ])
  // The keys are `held/<process>/<partition>` and `due/<kind>/<partition>`.
  const partitions = new Set(
    pages.flatMap(({ records }) => records.map(({ key }) => key.split("/").slice(2).join("/") as Partition.Partition))
  )
  const counts = yield* Effect.forEach(partitions, (partition) =>
    Effect.map(store.list(partition, [{ indexTerms: [outboxTerm], ...everyEntry }]), ([page]) => page?.total ?? 0)
  )
  return counts.reduce((sum, count) => sum + count, 0)
})

/** Waits, on the real clock, until all events of a store are in the logs of their accounts. */
export const waitForEvents = (store: StoreOperations) =>
  Effect.promise(() =>
    eventually(async () => {
      const count = await Effect.runPromise(countEvents(store))
      if (count > 0) throw new Error(`${count} events have not been moved`)
    })
  )
