/**
 * Encodes commits to one partition as arguments of the function `tollgate_commit`, and decodes its outcomes.
 */
import {
  type Change,
  type CommitResult,
  type IdempotencyRecord,
  type Partition,
  StoreConflict,
  toReplayedResult
} from "@tollgate/core/store"
import { parseNumberArray, toNumberArray, toTextArray } from "./arrayLiteral.ts"
import { toIndexName, toStoredName } from "./indexName.ts"
import { encodePut, type Put } from "./recordCodec.ts"
import { collectNumberNames, decodeReplay, encodeContent, type NumberName } from "./replays.ts"
import { kinds, outcomes } from "./sql/commitFunction.ts"

export interface Commit {
  readonly changes: ReadonlyArray<Change>
  readonly idempotency: IdempotencyRecord | undefined
  /** The caller's time in microseconds, or `undefined` to use the server's. */
  readonly time: number | undefined
}

/** The arguments after the partition, the writer and the number of the batch. */
type BatchArguments = ReadonlyArray<string | number | null>

/** What the function returns, as text. */
export type BatchRow = readonly [outcomes: string, replays: string | null]

/** Gives each distinct name a position, counted from 1 as in SQL. */
class Positions {
  readonly names: Array<string> = []
  readonly #positions = new Map<string, number>()

  add(name: string): number {
    const existing = this.#positions.get(name)
    if (existing !== undefined) return existing
    const position = this.names.push(name)
    this.#positions.set(name, position)
    return position
  }
}

class BatchEncoder {
  readonly #records = new Positions()
  readonly #counters = new Positions()
  readonly #terms = new Positions()
  readonly #numbers: Array<number> = []
  readonly #puts: Array<Put> = []
  readonly #longNames: Record<string, string> = {}
  #writesRecords = false

  /** The form of a name in the tables. Remembers the name if that is another one. */
  toStoredName(name: string): string {
    const stored = toStoredName(name)
    if (stored.longName !== null) this.#longNames[stored.name] = stored.longName
    return stored.name
  }

  add(change: Change): void {
    switch (change._tag) {
      case "Check":
        this.#addNumbers(kinds.check, this.#addRecord(change.key), change.expect)
        break
      case "Put":
        this.#addNumbers(kinds.put, this.#addRecord(change.key), change.expect, this.#addPut(change))
        break
      case "Delete":
        this.#writesRecords = true
        this.#addNumbers(kinds.delete, this.#addRecord(change.key), change.expect)
        break
      case "AtMost":
        this.#addNumbers(kinds.atMost, this.#terms.add(toIndexName(change.term)), change.atMost)
        break
      case "Add": {
        const { by, max = Number.MAX_SAFE_INTEGER, ttl } = change
        this.#addNumbers(kinds.add, this.#addCounter(change.counter), by, max, ttl)
        break
      }
      case "Raise":
        this.#addNumbers(kinds.raise, this.#addCounter(change.counter), change.to, 0, change.ttl)
        break
      case "Take": {
        const { cost, interval, burst, ttl } = change
        this.#addNumbers(kinds.take, this.#addCounter(change.counter), cost * interval, burst * interval, ttl)
      }
    }
  }

  toArguments(commits: ReadonlyArray<Commit>): BatchArguments {
    let end = 0
    const ends = commits.map(({ changes }) => {
      end += changes.length
      return end
    })
    const replays = commits.map(({ idempotency, changes }) => idempotency && encodeReplayRow(idempotency, changes))
    const times = commits.flatMap(({ time }) => time ?? [])
    return [
      times.length === 0 ? null : Math.max(...times),
      toTextArray(this.#records.names),
      toTextArray(this.#counters.names),
      toTextArray(this.#terms.names),
      toNumberArray(this.#numbers),
      toNumberArray(ends),
      this.#writesRecords ? JSON.stringify(this.#puts) : null,
      replays.some((replay) => replay !== undefined) ? JSON.stringify(replays.map((replay) => replay ?? null)) : null,
      Object.keys(this.#longNames).length === 0 ? null : JSON.stringify(this.#longNames)
    ]
  }

  #addRecord(key: string): number {
    return this.#records.add(toIndexName(key))
  }

  #addCounter(name: string): number {
    return this.#counters.add(this.toStoredName(name))
  }

  #addNumbers(kind: number, subject: number, amount: number, bound = 0, ttl = 0): void {
    this.#numbers.push(kind, subject, amount, bound, ttl)
  }

  #addPut(change: Extract<Change, { readonly _tag: "Put" }>): number {
    this.#writesRecords = true
    return this.#puts.push(encodePut(change))
  }
}

const encodeReplayRow = (idempotency: IdempotencyRecord, changes: ReadonlyArray<Change>) => ({
  id: toIndexName(idempotency.id),
  content: encodeContent(idempotency, collectNumberNames(changes)),
  ttl: idempotency.ttl
})

const toResult = (names: ReadonlyArray<NumberName>, numbers: ReadonlyArray<number>): CommitResult => {
  const [versions, totals] = [new Map<string, number>(), new Map<string, number>()]
  for (const [index, [kind, name]] of names.entries()) {
    ;(kind === "record" ? versions : totals).set(name ?? "", numbers[index] ?? 0)
  }
  return { versions, totals }
}

const conflictReasons: Readonly<Record<number, StoreConflict["reason"]>> = {
  [outcomes.stale]: "stale",
  [outcomes.uniqueKey]: "unique-key",
  [outcomes.tooManyRecords]: "too-many-records",
  [outcomes.counterExceeded]: "counter-exceeded",
  [outcomes.rateLimited]: "rate-limited"
}

const getSubject = (change: Change | undefined, uniqueKey: number): string => {
  if (change === undefined) return ""
  if (uniqueKey > 0 && change._tag === "Put") return change.uniqueKeys[uniqueKey - 1] ?? ""
  if ("counter" in change) return change.counter
  return change._tag === "AtMost" ? change.term : change.key
}

const decodeOutcomes = (
  [literal, replays]: BatchRow,
  commits: ReadonlyArray<Commit>
): ReadonlyArray<CommitResult | StoreConflict> => {
  const numbers = parseNumberArray(literal)
  // The function ignores a batch that a later one of this store has overtaken.
  if (numbers.length === 0) throw new RangeError("a later batch has overtaken this one")
  const contents: Array<string> = replays === null ? [] : JSON.parse(replays)
  let next = 0
  const read = () => numbers[next++] ?? 0
  const readSlice = (count: number) => {
    next += count
    return numbers.slice(next - count, next)
  }

  return commits.map(({ changes }) => {
    const outcome = read()
    if (outcome === outcomes.applied) {
      const names = collectNumberNames(changes)
      return toResult(names, readSlice(names.length))
    }
    if (outcome === outcomes.replayed) {
      const { fingerprint, result, ...numbers } = decodeReplay(contents.shift() ?? "", readSlice(read()))
      return { ...toReplayedResult(numbers, changes), replayed: { fingerprint, result } }
    }
    const change = changes[read() - 1]
    const uniqueKey = outcome === outcomes.uniqueKey ? read() : 0
    const retryAfter = outcome === outcomes.rateLimited ? read() : 0
    return new StoreConflict({
      reason: conflictReasons[outcome] ?? "stale",
      subject: getSubject(change, uniqueKey),
      retryAfter
    })
  })
}

/** Encodes commits once, so that a retry sends the same batch. */
export const encodeBatch = (partition: Partition.Partition, commits: ReadonlyArray<Commit>) => {
  const encoder = new BatchEncoder()
  const partitionName = encoder.toStoredName(partition)
  for (const { changes } of commits) for (const change of changes) encoder.add(change)
  return {
    partitionName,
    arguments: encoder.toArguments(commits),
    decodeOutcomes: (row: BatchRow) => decodeOutcomes(row, commits)
  }
}
