/**
 * Compares and measures entries of the contents of a store.
 */
import type { StoreEntry } from "@tollgate/store"

/** The keys of the records, in order. */
export const toKeys = (entries: ReadonlyArray<StoreEntry>): ReadonlyArray<string> =>
  entries.flatMap((entry) => (entry._tag === "Record" ? [entry.record.key] : []))

/** The names of the counters and rate limits, sorted. */
export const toCounterNames = (entries: ReadonlyArray<StoreEntry>): ReadonlyArray<string> =>
  entries.flatMap((entry) => (entry._tag === "Counter" ? [entry.name] : [])).sort()

const getName = (entry: StoreEntry): string => {
  if (entry._tag === "Counter") return `1 ${entry.name}`
  return entry._tag === "Replay" ? `2 ${entry.id}` : "0"
}

/** Sorts counters and replays, whose order is not defined. The sequence number and the records stay in their order. */
export const sortEntries = (entries: ReadonlyArray<StoreEntry>): ReadonlyArray<StoreEntry> =>
  entries.toSorted((left, right) => {
    const [leftName, rightName] = [getName(left), getName(right)]
    return leftName === rightName ? 0 : leftName < rightName ? -1 : 1
  })

const maxEntries = 500
/** A batch that is not full takes one more entry, of any size. */
const maxCharacters = 1_000_000

const getTextLength = (entry: StoreEntry): number => {
  if (entry._tag === "Record") return entry.record.body.length
  return entry._tag === "Replay" ? entry.result.length : 0
}

/** The numbers of batches that are empty, have too many entries, or are too large. */
export const measureBatches = (batches: ReadonlyArray<ReadonlyArray<StoreEntry>>) => ({
  empty: batches.filter((batch) => batch.length === 0).length,
  tooMany: batches.filter((batch) => batch.length > maxEntries).length,
  tooLarge: batches.filter(
    (batch) => batch.slice(0, -1).reduce((size, entry) => size + getTextLength(entry), 0) >= maxCharacters
  ).length
})
