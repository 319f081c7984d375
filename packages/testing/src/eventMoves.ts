/**
 * Work in the background: events are moved from the partitions of their changes to the logs of their accounts, the last use
 * of keys and the bytes of accounts are written, and directories are searched for work. These functions let a test wait for the events, or leave all
 * of it out when it counts the calls of operations.
 */
import { Partition, type StoreOperations, type StoreQuery } from "@tollgate/core/store"
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

/** Whether a key or a change is about the log of an account in the directory of partitions with events. */
const isLogEntry = (item: unknown): boolean => {
  const key = typeof item === "object" && item !== null && "key" in item ? item.key : item
  return String(key).startsWith(`pending/${Partition.eventsDirectory}/`)
}

/** The index terms of metering buckets with work. */
const workTerms = ["deleting", "reserves", "trials"].map((term) => `listing/${term}`)

const isWorkQuery = (item: unknown): boolean =>
  isQuery(item) && item.indexTerms.length === 1 && workTerms.includes(item.indexTerms[0] ?? "")

/** Whether a store is called by a background job. The arguments are those of the operation after the partition. */
export const isBackgroundCall = (operation: string, partition: string, items: unknown): boolean => {
  if (partition.startsWith(`${Partition.eventsDirectory}/`)) return true
  if (!Array.isArray(items)) return false
  if (partition === Partition.eventsDirectory && items.length > 0 && items.every(isLogEntry)) return true
  if (operation === "commit" && items.length > 0) {
    return [isRemovalFromOutbox, isLastUse, isByteCount].some((isBackground) => items.every(isBackground))
  }
  if (operation === "counters" && items.every((counter) => bytesCounter.test(String(counter)))) return true
  if (operation === "list" && items.every(isWorkQuery)) return true
  const isOutboxQuery = (item: unknown) => isQuery(item) && item.indexTerms.includes(outboxTerm)
  return operation === "list" && (partition === Partition.eventsDirectory || items.every(isOutboxQuery))
}

const countEvents = Effect.fnUntraced(function* (store: StoreOperations) {
  const [directory] = yield* store.list(Partition.eventsDirectory, [{ indexTerms: ["pending"], ...everyEntry }])
  const partitions = (directory?.records ?? []).map(({ key }) => key.slice("pending/".length) as Partition.Partition)
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
