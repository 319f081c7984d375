/**
 * Encodes commits to one partition as arguments of the function `tollgate_commit`.
 */
import type { Change, IdempotencyRecord, Partition } from "@tollgate/store"
import { toNumberArray, toTextArray } from "./arrayLiteral.ts"
import { encodeName, toIndexName } from "./indexName.ts"
import { type EncodedRecord, encodeRecord } from "./recordCodec.ts"
import { collectNumberNames, encodeContent } from "./replays.ts"
import { kinds } from "./sql/commitFunction.ts"

export interface Commit {
  readonly changes: ReadonlyArray<Change>
  readonly idempotency: IdempotencyRecord | undefined
  /** The caller's time in microseconds, or `undefined` to use the server's. */
  readonly time: number | undefined
}

/** The arguments about the changes. */
type BatchArguments = ReadonlyArray<string | number | null>

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
  readonly #puts: Array<EncodedRecord> = []
  readonly #originalNames: Record<string, string> = {}
  #writesRecords = false

  /** The form of a name in the tables. Keeps the original name if that is another one. */
  encodeName(name: string): string {
    const { indexName, originalName } = encodeName(name)
    if (originalName !== null) this.#originalNames[indexName] = originalName
    return indexName
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
        break
      }
      case "CheckCounter":
        this.#addNumbers(kinds.checkCounter, this.#addCounter(change.counter), change.expect)
    }
  }

  toArguments(commits: ReadonlyArray<Commit>): BatchArguments {
    let end = 0
    const ends = commits.map(({ changes }) => {
      end += changes.length
      return end
    })
    const replays = commits.map(({ idempotency, changes }) => idempotency && encodeReplayRow(idempotency, changes))
    return [
      toTextArray(this.#records.names),
      toTextArray(this.#counters.names),
      toTextArray(this.#terms.names),
      toNumberArray(this.#numbers),
      toNumberArray(ends),
      this.#writesRecords ? JSON.stringify(this.#puts) : null,
      replays.some((replay) => replay !== undefined) ? JSON.stringify(replays.map((replay) => replay ?? null)) : null,
      Object.keys(this.#originalNames).length === 0 ? null : JSON.stringify(this.#originalNames)
    ]
  }

  #addRecord(key: string): number {
    return this.#records.add(toIndexName(key))
  }

  #addCounter(name: string): number {
    return this.#counters.add(this.encodeName(name))
  }

  #addNumbers(kind: number, subject: number, amount: number, bound = 0, ttl = 0): void {
    this.#numbers.push(kind, subject, amount, bound, ttl)
  }

  #addPut(change: Extract<Change, { readonly _tag: "Put" }>): number {
    this.#writesRecords = true
    return this.#puts.push(encodeRecord(change))
  }
}

const encodeReplayRow = (idempotency: IdempotencyRecord, changes: ReadonlyArray<Change>) => ({
  id: toIndexName(idempotency.id),
  content: encodeContent(idempotency, collectNumberNames(changes)),
  ttl: idempotency.ttl
})

const getTime = (commits: ReadonlyArray<Commit>): number | null => {
  const times = commits.flatMap(({ time }) => time ?? [])
  return times.length === 0 ? null : Math.max(...times)
}

/** Encodes commits once, so that a retry sends the same batch. */
export const encodeBatch = (partition: Partition.Partition, commits: ReadonlyArray<Commit>) => {
  const encoder = new BatchEncoder()
  const partitionName = encoder.encodeName(partition)
  for (const { changes } of commits) for (const change of changes) encoder.add(change)
  return { partitionName, time: getTime(commits), changes: encoder.toArguments(commits) }
}
