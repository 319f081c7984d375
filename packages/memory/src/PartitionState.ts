/**
 * One partition in memory. Every method is synchronous, so no other call can run between checking a commit and
 * applying it. Records are frozen copies, so readers receive them without another copy.
 */
import {
  type Change,
  type CommitResult,
  type IdempotencyRecord,
  type Piece,
  Preconditions,
  postingsInPiece,
  type RecordWithParent,
  type Replay,
  type SearchMatch,
  type SearchQuery,
  StoreConflict,
  StoreEntry,
  type StorePage,
  type StoreQuery,
  type StoreRecord,
  takePage,
  toReplayedResult
} from "@tollgate/store"
import { ExpiringMap } from "./ExpiringMap.ts"
import { Postings, type Slot } from "./Postings.ts"
import { SearchIndex } from "./SearchIndex.ts"

const noVersions: ReadonlyMap<string, number> = new Map()

const freezeRecord = ({ searchTerms, ...record }: StoreRecord): StoreRecord =>
  Object.freeze({
    ...record,
    indexTerms: Object.freeze([...record.indexTerms]),
    uniqueKeys: Object.freeze([...record.uniqueKeys]),
    ...(searchTerms === undefined ? {} : { searchTerms: Object.freeze([...searchTerms]) })
  })

const intersect = (slots: ReadonlyArray<Slot>, others: ReadonlyArray<Postings>): Array<Slot> =>
  others.reduce((matches, other) => other.filter(matches), [...slots])

/** How many records come before those after a place, in order of creation; of those before it, if it is descending. */
const getStart = (postings: Postings, after: number | undefined, descending: boolean | undefined): number => {
  if (descending) return after === undefined ? postings.length : postings.countBefore(after)
  return after === undefined ? 0 : postings.countBefore(after + 1)
}

export class PartitionState {
  #sequence = 0
  readonly #records = new Map<string, Slot>()
  readonly #uniqueKeys = new Map<string, Slot>()
  readonly #terms = new Map<string, Postings>()
  readonly #search = new SearchIndex()
  readonly #counters = new ExpiringMap<number>()
  readonly #replays = new ExpiringMap<Replay>()
  /** The time of the current commit. */
  #now = 0
  readonly #state = {
    version: (key: string) => this.#records.get(key)?.record.version ?? 0,
    owner: (uniqueKey: string) => this.#uniqueKeys.get(uniqueKey)?.record.key,
    total: (term: string) => this.#terms.get(term)?.length ?? 0,
    counter: (name: string) => this.counter(name, this.#now)
  }

  get(key: string): StoreRecord | undefined {
    return this.#records.get(key)?.record
  }

  getByUniqueKey(uniqueKey: string): RecordWithParent | undefined {
    const record = this.#uniqueKeys.get(uniqueKey)?.record
    if (record === undefined) return undefined
    const parent = record.parent === undefined ? undefined : this.get(record.parent)
    return parent === undefined ? { record } : { record, parent }
  }

  /** Whether a query compares so much that it must be read in pieces. */
  isLarge({ indexTerms: terms }: StoreQuery): boolean {
    const [shortest] = this.#sortBySize(terms)
    return terms.length > 1 && (shortest?.length ?? 0) * terms.length > postingsInPiece
  }

  /** The records of a piece that match. */
  readPiece(
    { indexTerms: terms, descending }: StoreQuery,
    after: number | undefined,
    skip: number,
    wanted: number
  ): Piece<Slot> {
    const [shortest = new Postings(), ...others] = this.#sortBySize(terms)
    const size = Math.ceil(postingsInPiece / terms.length)
    const start = getStart(shortest, after, descending)
    const [from, to] = descending ? [Math.max(0, start - size), start] : [start, start + size]
    const slots = shortest.slice(from, to)
    const matches = intersect(slots, others)
    const isLast = descending ? from === 0 : to >= shortest.length
    return {
      matches: matches.length,
      items: (descending ? matches.toReversed() : matches).slice(skip, skip + wanted),
      end: isLast ? undefined : (descending ? slots[0] : slots.at(-1))?.created
    }
  }

  /** The page of these records. One more than it has says that there are more. */
  toPage(slots: ReadonlyArray<Slot>, total: number, limit: number): StorePage {
    const records = takePage(
      slots.map(({ record }) => record),
      limit
    )
    const last = records.length < slots.length ? slots[records.length - 1] : undefined
    return last === undefined ? { records, total } : { records, total, next: last.created }
  }

  list({ indexTerms: terms, offset, limit, descending, after }: StoreQuery): StorePage {
    const [shortest = new Postings(), ...others] = this.#sortBySize(terms)
    const matches = others.length === 0 ? shortest : new Postings(intersect(shortest.slice(), others))
    const start = getStart(matches, after, descending)
    // One more than the page has.
    const wanted = limit === 0 ? 0 : limit + 1
    const page = descending
      ? matches.slice(Math.max(0, start - offset - wanted), Math.max(0, start - offset)).toReversed()
      : matches.slice(start + offset, start + offset + wanted)
    return this.toPage(page, matches.length, limit)
  }

  #sortBySize(terms: ReadonlyArray<string>): ReadonlyArray<Postings> {
    return terms
      .map((term) => this.#terms.get(term) ?? new Postings())
      .sort((left, right) => left.length - right.length)
  }

  search(query: SearchQuery): ReadonlyArray<SearchMatch> {
    return this.#search.find(query)
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
    if (replay !== undefined) return toReplayedResult(replay)

    this.#now = now
    const updates = Preconditions.evaluate(changes, { ...this.#state, time })
    if (updates instanceof StoreConflict) return updates

    const totals = new Map<string, number>()
    for (const { counter, value, total, ttl, isRemoved } of updates) {
      if (isRemoved) this.#counters.delete(counter)
      else this.#counters.setAndExtend(counter, value, now + ttl, now)
      totals.set(counter, total)
    }
    const result = { versions: this.#writeRecords(changes), totals }
    if (idempotency !== undefined) {
      const { id, fingerprint, ttl } = idempotency
      const numbers = { versions: [...result.versions], totals: [...result.totals] }
      this.#replays.set(id, { fingerprint, result: idempotency.result, ...numbers }, now + ttl, now)
    }
    return result
  }

  clear(): void {
    for (const map of [this.#records, this.#uniqueKeys, this.#terms, this.#search, this.#counters, this.#replays])
      map.clear()
  }

  /** The map of records is in the order of creation: an update keeps the place of its key. */
  *entries(now: number): Generator<StoreEntry> {
    if (this.#sequence > 0) yield StoreEntry.Sequence({ value: this.#sequence })
    for (const { record } of this.#records.values()) yield StoreEntry.Record({ record })
    for (const { name, value, expires } of this.#counters.entries(now)) {
      yield StoreEntry.Counter({ name, value, expiresAt: expires })
    }
    for (const { name, value, expires } of this.#replays.entries(now)) {
      yield StoreEntry.Replay({ id: name, ...value, expiresAt: expires })
    }
  }

  write(entry: StoreEntry, now: number): void {
    switch (entry._tag) {
      case "Sequence":
        this.#sequence = Math.max(this.#sequence, entry.value)
        break
      case "Record":
        if (!this.#records.has(entry.record.key)) this.#place(entry.record, this.#records.size + 1)
        break
      case "Counter":
        this.#counters.set(entry.name, entry.value, entry.expiresAt, now)
        break
      case "Replay": {
        const { _tag, id, expiresAt, ...replay } = entry
        this.#replays.set(id, structuredClone(replay), expiresAt, now)
      }
    }
  }

  /** Returns the new version of each record. */
  #writeRecords(changes: ReadonlyArray<Change>): ReadonlyMap<string, number> {
    if (!Preconditions.writesRecords(changes)) return noVersions
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

  #put({ _tag, expect: _, ...fields }: Change & { readonly _tag: "Put" }): number {
    const version = ++this.#sequence
    this.#place({ ...fields, version }, version)
    return version
  }

  /** Inserts or replaces a record in the map and the indexes. `created` is the place of a new record in every list. */
  #place(record: StoreRecord, created: number): void {
    const { key, indexTerms: terms, searchTerms = [], uniqueKeys } = record
    const frozen = freezeRecord(record)
    const existing = this.#records.get(key)
    const slot = existing ?? { created, record: frozen }
    const { indexTerms: previousTerms = [], searchTerms: previousSearchTerms = [] } = existing?.record ?? {}
    slot.record = frozen
    this.#records.set(key, slot)
    for (const term of previousTerms) if (!terms.includes(term)) this.#removeFromIndex(term, slot)
    for (const term of terms) if (!previousTerms.includes(term)) this.#addToIndex(term, slot)
    for (const term of previousSearchTerms) if (!searchTerms.includes(term)) this.#search.remove({ term, slot })
    for (const term of searchTerms) if (!previousSearchTerms.includes(term)) this.#search.add({ term, slot })
    for (const uniqueKey of uniqueKeys) this.#uniqueKeys.set(uniqueKey, slot)
  }

  #delete(key: string): void {
    const slot = this.#records.get(key)
    if (slot === undefined) return
    this.#records.delete(key)
    for (const term of slot.record.indexTerms) this.#removeFromIndex(term, slot)
    for (const term of slot.record.searchTerms ?? []) this.#search.remove({ term, slot })
  }

  #addToIndex(term: string, slot: Slot): void {
    const postings = this.#terms.get(term) ?? new Postings()
    postings.add(slot)
    this.#terms.set(term, postings)
  }

  #removeFromIndex(term: string, slot: Slot): void {
    const postings = this.#terms.get(term)
    if (postings === undefined) return
    postings.remove(slot)
    if (postings.length === 0) this.#terms.delete(term)
  }
}
