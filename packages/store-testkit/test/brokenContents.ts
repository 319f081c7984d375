/**
 * Stores whose contents are read or written wrongly, each in one way, and the case that must detect it.
 */
import type { StoreContentsOperations, StoreEntry, StoreOperations, StoreRecord } from "@tollgate/store"
import { Effect, Stream } from "effect"

type BreakContents = (inner: StoreContentsOperations, store: StoreOperations) => StoreContentsOperations

export interface BrokenContents {
  readonly fault: string
  /** The name of the contract case that detects the fault. */
  readonly caughtBy: string
  readonly breakContents: BreakContents
}

type Entries = ReadonlyArray<StoreEntry>

const rewriteWritten =
  (rewrite: (entries: Entries) => Entries): BreakContents =>
  (inner) => ({ ...inner, write: (partition, entries) => inner.write(partition, rewrite(entries)) })

const rewriteEach = (rewrite: (entry: StoreEntry) => StoreEntry | undefined): BreakContents =>
  rewriteWritten((entries) => entries.flatMap((entry) => rewrite(entry) ?? []))

const rewriteRecords = (rewrite: (record: StoreRecord) => StoreRecord): BreakContents =>
  rewriteEach((entry) => (entry._tag === "Record" ? { ...entry, record: rewrite(entry.record) } : entry))

/** Rewrites all entries that are read, as one batch. */
const rewriteRead =
  (rewrite: (entries: Entries) => Entries): BreakContents =>
  (inner) => ({
    ...inner,
    read: (partition) =>
      Stream.unwrap(
        Effect.map(Stream.runCollect(inner.read(partition)), (batches) =>
          Stream.fromIterable([rewrite(batches.flat())])
        )
      ).pipe(Stream.filter((batch) => batch.length > 0))
  })

const rewriteBatches =
  (rewrite: (batch: Entries) => Entries): BreakContents =>
  (inner) => ({ ...inner, read: (partition) => Stream.map(inner.read(partition), rewrite) })

const isRecord = (entry: StoreEntry) => entry._tag === "Record"
const getVersion = (entry: StoreEntry) => (entry._tag === "Record" ? entry.record.version : 0)
const getKey = (entry: StoreEntry) => (entry._tag === "Record" ? entry.record.key : "")
const compareKeys = (left: StoreEntry, right: StoreEntry) =>
  isRecord(left) && isRecord(right) ? (getKey(left) < getKey(right) ? -1 : 1) : 0

/** Lists only the partitions that have an entry of this kind. */
const listOnly =
  (tag: StoreEntry["_tag"]): BreakContents =>
  (inner) => ({
    ...inner,
    partitions: inner.partitions.pipe(
      Stream.filterEffect((partition) =>
        Effect.map(Stream.runCollect(inner.read(partition)), (batches) =>
          batches.flat().some(({ _tag }) => _tag === tag)
        )
      )
    )
  })

const readBack = "what was written is read back exactly"
const ofRecord = "a written record has its version, index terms, unique keys and parent"
const inOrder = "written records are listed in their order, before records that are created later"
const eachOnce = "ten thousand records are read in the order of creation, each once"
const batches = "batches are limited in number and in size"
const partitions = "every partition that contains anything is listed"

export const brokenContents: ReadonlyArray<BrokenContents> = [
  {
    fault: "a copied record loses its index terms",
    caughtBy: ofRecord,
    breakContents: rewriteRecords((record) => ({ ...record, indexTerms: [] }))
  },
  {
    fault: "a copied record loses its search terms",
    caughtBy: "a copy has the same terms, and its records can be changed",
    breakContents: rewriteRecords(({ searchTerms: _, ...record }) => record)
  },
  {
    fault: "a copied record loses its unique keys",
    caughtBy: ofRecord,
    breakContents: rewriteRecords((record) => ({ ...record, uniqueKeys: [] }))
  },
  {
    fault: "a copied record loses its parent",
    caughtBy: ofRecord,
    breakContents: rewriteRecords(({ parent: _, ...record }) => record)
  },
  {
    fault: "a copied record gets another version",
    caughtBy: readBack,
    breakContents: rewriteRecords((record) => ({ ...record, version: 1 }))
  },
  {
    fault: "records are written in the order of their keys",
    caughtBy: inOrder,
    breakContents: rewriteWritten((entries) => entries.toSorted(compareKeys))
  },
  {
    fault: "records are read in the order of their keys",
    caughtBy: "read returns the sequence number, the records in the order of creation, counters and replays",
    breakContents: rewriteRead((entries) => entries.toSorted(compareKeys))
  },
  {
    fault: "records are read in the order of their versions",
    caughtBy: eachOnce,
    breakContents: rewriteRead((entries) => entries.toSorted((left, right) => getVersion(left) - getVersion(right)))
  },
  {
    fault: "a copy forgets the sequence number",
    caughtBy: "versions continue after the sequence number, also that of deleted records",
    breakContents: rewriteEach((entry) => (entry._tag === "Sequence" ? undefined : entry))
  },
  {
    fault: "a partition without records loses its sequence number",
    caughtBy: "a cleared partition has only its sequence number, and so has its copy",
    breakContents: rewriteRead((entries) => (entries.some(isRecord) ? entries : []))
  },
  {
    fault: "a copied counter expires a second later",
    caughtBy: readBack,
    breakContents: rewriteEach((entry) =>
      entry._tag === "Counter" ? { ...entry, expiresAt: entry.expiresAt + 1_000 } : entry
    )
  },
  {
    fault: "a copied counter starts at 0",
    caughtBy: "a written counter counts on, and keeps its maximum",
    breakContents: rewriteEach((entry) => (entry._tag === "Counter" ? { ...entry, value: 0 } : entry))
  },
  {
    fault: "a copied rate limit is full",
    caughtBy: "a written rate limit has as much left as the original",
    breakContents: rewriteEach((entry) => (entry._tag === "Counter" && entry.value > 1e12 ? undefined : entry))
  },
  {
    fault: "a copy forgets replays",
    caughtBy: "a written replay returns the first result, with its names",
    breakContents: rewriteEach((entry) => (entry._tag === "Replay" ? undefined : entry))
  },
  {
    fault: "a copied replay loses its names",
    caughtBy: "a written replay returns the first result, with its names",
    breakContents: rewriteEach((entry) =>
      entry._tag === "Replay"
        ? { ...entry, versions: entry.versions.map(([, version], index) => [String(index), version] as const) }
        : entry
    )
  },
  {
    fault: "a second write changes counters again",
    caughtBy: "writing entries again changes nothing",
    breakContents: (inner, store) => ({
      ...inner,
      write: Effect.fnUntraced(function* (partition, entries) {
        const counters = entries.filter((entry) => entry._tag === "Counter")
        const names = counters.map(({ name }) => name)
        const values = yield* store.counters(partition, names)
        yield* inner.write(
          partition,
          entries.map((entry) =>
            entry._tag === "Counter"
              ? { ...entry, value: entry.value + (values[names.indexOf(entry.name)] ?? 0) }
              : entry
          )
        )
      })
    })
  },
  {
    fault: "expired entries live again in a copy",
    caughtBy: "entries that have expired are neither written nor read",
    breakContents: rewriteEach((entry) =>
      "expiresAt" in entry ? { ...entry, expiresAt: Math.max(entry.expiresAt, 4_000_000_000_000) } : entry
    )
  },
  {
    fault: "texts end at a NUL",
    caughtBy: "names and texts may be empty, long, and contain any character",
    breakContents: rewriteRecords((record) => ({ ...record, body: record.body.split("\u0000", 1)[0] ?? "" }))
  },
  {
    fault: "names are normalized",
    caughtBy: "names and texts may be empty, long, and contain any character",
    breakContents: rewriteEach((entry) =>
      entry._tag === "Counter" ? { ...entry, name: entry.name.normalize("NFC") } : entry
    )
  },
  {
    fault: "invalid entries are left out without an error",
    caughtBy: "entries with lone surrogates or invalid numbers are rejected",
    breakContents: (inner) => ({
      ...inner,
      write: (partition, entries) =>
        Effect.catchDefect(inner.write(partition, entries), () => inner.write(partition, entries.slice(0, -1)))
    })
  },
  {
    fault: "the last record of each batch is read twice",
    caughtBy: eachOnce,
    breakContents: rewriteBatches((batch) => [...batch, ...batch.slice(-1)])
  },
  {
    fault: "the last record of a full batch is lost",
    caughtBy: eachOnce,
    breakContents: rewriteBatches((batch) => (batch.length === 500 ? batch.slice(0, -1) : batch))
  },
  {
    fault: "everything is read in one batch",
    caughtBy: batches,
    breakContents: rewriteRead((entries) => entries)
  },
  {
    fault: "batches are limited in number only",
    caughtBy: batches,
    breakContents: (inner) => ({
      ...inner,
      read: (partition) =>
        inner.read(partition).pipe(
          Stream.flatMap((batch) => Stream.fromIterable(batch)),
          Stream.grouped(500)
        )
    })
  },
  { fault: "partitions without records are not listed", caughtBy: partitions, breakContents: listOnly("Record") },
  { fault: "partitions with only counters are not listed", caughtBy: partitions, breakContents: listOnly("Sequence") },
  {
    fault: "a partition that does not exist has entries",
    caughtBy: "a partition without entries is empty, and so is its copy",
    breakContents: rewriteRead((entries) => (entries.length === 0 ? [{ _tag: "Sequence", value: 1 }] : entries))
  }
]
