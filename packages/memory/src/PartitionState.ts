/**
 * One partition in memory. Every method is synchronous, so no other call can run between checking a commit and
 * applying it. Records are frozen copies, so readers receive them without another copy.
 */
import {
  type Change,
  type CommitResult,
  type IdempotencyRecord,
  Preconditions,
  type RecordWithParent,
  StoreConflict,
  type StorePage,
  type StoreQuery,
  type StoreRecord
} from "@tollgate/core/store"
import { ExpiringMap } from "./ExpiringMap.ts"
import * as Postings from "./Postings.ts"

/** A record and the sequence number at which it was created, which is its position in every list. */
export interface Slot {
  readonly created: number
  record: StoreRecord
}

interface Replay extends CommitResult {
  readonly replayed: { readonly fingerprint: string; readonly result: string }
}

export class PartitionState {
  #sequence = 0
  readonly #records = new Map<string, Slot>()
  readonly #uniqueKeys = new Map<string, Slot>()
  readonly #terms = new Map<string, Array<Slot>>()
  readonly #counters = new ExpiringMap<number>()
  readonly #replays = new ExpiringMap<Replay>()

  get(key: string): StoreRecord | undefined {
    return this.#records.get(key)?.record
  }

  getByUniqueKey(uniqueKey: string): RecordWithParent | undefined {
    const record = this.#uniqueKeys.get(uniqueKey)?.record
    if (record === undefined) return undefined
    const parent = record.parent === undefined ? undefined : this.get(record.parent)
    return parent === undefined ? { record } : { record, parent }
  }

  list({ indexTerms: terms, offset, limit, descending }: StoreQuery): StorePage {
    const [shortest = []] = terms.map((term) => this.#terms.get(term) ?? []).sort((a, b) => a.length - b.length)
    const matches =
      terms.length === 1
        ? shortest
        : shortest.filter(({ record }) => terms.every((term) => record.indexTerms.includes(term)))
    const total = matches.length
    const page = descending
      ? matches.slice(Math.max(0, total - offset - limit), Math.max(0, total - offset)).reverse()
      : matches.slice(offset, offset + limit)
    return { records: page.map(({ record }) => record), total }
  }

  counter(name: string, now: number): number {
    return this.#counters.get(name, now) ?? 0
  }

  commit(
    changes: ReadonlyArray<Change>,
    idempotency: IdempotencyRecord | undefined,
    time: Preconditions.CommitState["time"]
  ): CommitResult | StoreConflict {
    const now = time.microseconds.readMillis(time.clock)
    const replay = idempotency === undefined ? undefined : this.#replays.get(idempotency.id, now)
    if (replay !== undefined) return structuredClone(replay)

    const updates = Preconditions.evaluate(changes, {
      version: (key) => this.#records.get(key)?.record.version ?? 0,
      owner: (uniqueKey) => this.#uniqueKeys.get(uniqueKey)?.record.key,
      total: (term) => this.#terms.get(term)?.length ?? 0,
      counter: (name) => this.counter(name, now),
      time
    })
    if (updates instanceof StoreConflict) return updates

    const totals = new Map<string, number>()
    for (const { counter, value, total, ttl } of updates) {
      this.#counters.setAndExtend(counter, value, now + ttl, now)
      totals.set(counter, total)
    }
    const result = { versions: this.#writeRecords(changes), totals }
    if (idempotency !== undefined) {
      const replayed = { fingerprint: idempotency.fingerprint, result: idempotency.result }
      this.#replays.set(idempotency.id, structuredClone({ ...result, replayed }), now + idempotency.ttl, now)
    }
    return result
  }

  clear(): void {
    for (const map of [this.#records, this.#uniqueKeys, this.#terms, this.#counters, this.#replays]) map.clear()
  }

  /** Returns the new version of each record. */
  #writeRecords(changes: ReadonlyArray<Change>): ReadonlyMap<string, number> {
    const versions = new Map<string, number>()
    // Remove old unique keys before adding new ones: one commit may move a unique key from one record to another.
    for (const change of changes) {
      if (change._tag !== "Put" && change._tag !== "Delete") continue
      for (const uniqueKey of this.#records.get(change.key)?.record.uniqueKeys ?? []) this.#uniqueKeys.delete(uniqueKey)
    }
    for (const change of changes) {
      if (change._tag === "Put") versions.set(change.key, this.#put(change))
      else if (change._tag === "Delete") this.#delete(change.key)
    }
    return versions
  }

  #put({ key, body, indexTerms: terms, uniqueKeys, parent }: Change & { readonly _tag: "Put" }): number {
    const version = ++this.#sequence
    const record: StoreRecord = Object.freeze({
      key,
      version,
      body,
      indexTerms: Object.freeze([...terms]),
      uniqueKeys: Object.freeze([...uniqueKeys]),
      ...(parent === undefined ? {} : { parent })
    })
    const existing = this.#records.get(key)
    const slot = existing ?? { created: version, record }
    const previousTerms = existing?.record.indexTerms ?? []
    slot.record = record
    this.#records.set(key, slot)
    for (const term of previousTerms) if (!terms.includes(term)) this.#removeFromIndex(term, slot)
    for (const term of terms) if (!previousTerms.includes(term)) this.#addToIndex(term, slot)
    for (const uniqueKey of uniqueKeys) this.#uniqueKeys.set(uniqueKey, slot)
    return version
  }

  #delete(key: string): void {
    const slot = this.#records.get(key)
    if (slot === undefined) return
    this.#records.delete(key)
    for (const term of slot.record.indexTerms) this.#removeFromIndex(term, slot)
  }

  #addToIndex(term: string, slot: Slot): void {
    const postings = this.#terms.get(term)
    if (postings === undefined) this.#terms.set(term, [slot])
    else Postings.add(postings, slot)
  }

  #removeFromIndex(term: string, slot: Slot): void {
    const postings = this.#terms.get(term)
    if (postings === undefined) return
    Postings.remove(postings, slot)
    if (postings.length === 0) this.#terms.delete(term)
  }
}
