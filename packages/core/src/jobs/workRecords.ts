/**
 * The directory of work. A held entry says that a process may have left work in a partition, which it does itself while it
 * lives. A due entry says when a partition has work of one kind, for any process.
 */

import { type Change, Collection, makeTimeIndex, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"

/** The entries that a process holds. */
export const heldBy = (processId: string): string => `held:${processId}`

export const dueIndex = makeTimeIndex("on", "minute")

const HeldEntry = Schema.Struct({
  holder: Schema.String,
  partition: Schema.String,
  /** Whose work it is. Accounts take turns. */
  accountName: Schema.String
})
export type HeldEntry = typeof HeldEntry.Type

export const heldRecords = Collection.make({
  name: "held",
  format: 1,
  schema: HeldEntry,
  key: ({ holder, partition }) => `${holder}/${partition}`,
  indexTerms: ({ holder }) => [heldBy(holder)]
})

const DueEntry = Schema.Struct({
  kind: Schema.String,
  partition: Schema.String,
  accountName: Schema.String,
  /** No work of this kind in the partition is due earlier. */
  dueOn: Timestamp,
  /** The process that does the work now. */
  holder: Schema.optionalKey(Schema.String),
  /** Whether no work was left when it was last done. Then it is looked at once more, and removed. */
  isQuiet: Schema.optionalKey(Schema.Boolean),
  /** How often it has failed since it was last done. */
  failures: Schema.optionalKey(Schema.Int)
})
export type DueEntry = typeof DueEntry.Type

/** The key of a due entry. */
export const dueKey = (kind: string, partition: string): string => `${kind}/${partition}`

export const dueRecords = Collection.make({
  name: "due",
  format: 1,
  schema: DueEntry,
  key: ({ kind, partition }) => dueKey(kind, partition),
  indexTerms: ({ holder, dueOn }) => (holder === undefined ? dueIndex.terms(dueOn) : [heldBy(holder)])
})

/** The change that lets any process do the work of an entry. */
export const giveUp = (entry: Collection.Entry<DueEntry>): Change => {
  const { holder: _, ...value } = entry.value
  return dueRecords.replace(entry, value)
}

/** Queries for the entries that a process holds: the held ones, and the due ones whose work it does. */
export const heldQueries = (processId: string, limit: number) =>
  [heldRecords, dueRecords].map(({ indexTerm }) => ({ indexTerms: [indexTerm(heldBy(processId))], offset: 0, limit }))
