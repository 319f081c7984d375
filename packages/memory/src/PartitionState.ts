/**
 * One partition in memory. Every method is synchronous and leaves the state whole, so nothing can come between the
 * judging of a commit and its effect. Records are frozen copies, which makes them safe to hand out as they are.
 */
import {
  type Change,
  type CommitResult,
  type IdempotencyRecord,
  Preconditions,
  type RecordWithParent,
  type StoreConflict,
  type StorePage,
  type StoreQuery,
  type StoreRecord
} from "@tollgate/core"
import { ExpiringMap } from "./ExpiringMap.ts"
import * as Postings from "./Postings.ts"

/** A record, and the sequence number at which it was created: its place in every list. */
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
  readonly #claims = new Map<string, Slot>()
  readonly #terms = new Map<string, Array<Slot>>()
  readonly #counters = new ExpiringMap<number>()
  readonly #once = new ExpiringMap<Replay>()

  get(key: string): StoreRecord | undefined {
    return this.#records.get(key)?.record
  }

  claimed(claim: string): RecordWithParent | undefined {
    const record = this.#claims.get(claim)?.record
    if (record === undefined) return undefined
    const parent = record.parent === undefined ? undefined : this.get(record.parent)
    return parent === undefined ? { record } : { record, parent }
  }

  list({ indexTerms: terms, offset, limit }: StoreQuery): StorePage {
    const [shortest = []] = terms.map((term) => this.#terms.get(term) ?? []).sort((a, b) => a.length - b.length)
    const found =
      terms.length === 1
        ? shortest
        : shortest.filter(({ record }) => terms.every((term) => record.indexTerms.includes(term)))
    return { records: found.slice(offset, offset + limit).map(({ record }) => record), total: found.length }
  }

  counter(name: string, now: number): number {
    return this.#counters.get(name, now) ?? 0
  }

  commit(
    changes: ReadonlyArray<Change>,
    once: IdempotencyRecord | undefined,
    now: number
  ): CommitResult | StoreConflict {
    const remembered = once === undefined ? undefined : this.#once.get(once.id, now)
    if (remembered !== undefined) return structuredClone(remembered)

    const refusal = Preconditions.firstViolation(changes, {
      version: (key) => this.#records.get(key)?.record.version ?? 0,
      owner: (claim) => this.#claims.get(claim)?.record.key,
      total: (term) => this.#terms.get(term)?.length ?? 0,
      counter: (name) => this.counter(name, now)
    })
    if (refusal !== undefined) return refusal

    const committed = this.#apply(changes, now)
    if (once !== undefined) {
      const replayed = { fingerprint: once.fingerprint, result: once.result }
      this.#once.set(once.id, structuredClone({ ...committed, replayed }), now + once.ttl, now)
    }
    return committed
  }

  clear(): void {
    for (const held of [this.#records, this.#claims, this.#terms, this.#counters, this.#once]) held.clear()
  }

  #apply(changes: ReadonlyArray<Change>, now: number): CommitResult {
    const versions = new Map<string, number>()
    const totals = new Map<string, number>()
    // Claims are given up before any is taken: one commit may hand a claim from one record to another.
    for (const change of changes) {
      if (change._tag !== "Put" && change._tag !== "Delete") continue
      for (const claim of this.#records.get(change.key)?.record.uniqueKeys ?? []) this.#claims.delete(claim)
    }
    for (const change of changes) {
      if (change._tag === "Put") versions.set(change.key, this.#put(change))
      else if (change._tag === "Delete") this.#delete(change.key)
      else if (change._tag === "Add") {
        const total = this.counter(change.counter, now) + change.by
        this.#counters.prolong(change.counter, total, now + change.ttl, now)
        totals.set(change.counter, total)
      }
    }
    return { versions, totals }
  }

  #put({ key, body, indexTerms: terms, uniqueKeys: claims, parent }: Change & { readonly _tag: "Put" }): number {
    const version = ++this.#sequence
    const record: StoreRecord = Object.freeze({
      key,
      version,
      body,
      indexTerms: Object.freeze([...terms]),
      uniqueKeys: Object.freeze([...claims]),
      ...(parent === undefined ? {} : { parent })
    })
    const existing = this.#records.get(key)
    const stored = existing ?? { created: version, record }
    const before = existing?.record.indexTerms ?? []
    stored.record = record
    this.#records.set(key, stored)
    for (const term of before) if (!terms.includes(term)) this.#unlist(term, stored)
    for (const term of terms) if (!before.includes(term)) this.#enlist(term, stored)
    for (const claim of claims) this.#claims.set(claim, stored)
    return version
  }

  #delete(key: string): void {
    const stored = this.#records.get(key)
    if (stored === undefined) return
    this.#records.delete(key)
    for (const term of stored.record.indexTerms) this.#unlist(term, stored)
  }

  #enlist(term: string, stored: Slot): void {
    const postings = this.#terms.get(term)
    if (postings === undefined) this.#terms.set(term, [stored])
    else Postings.add(postings, stored)
  }

  #unlist(term: string, stored: Slot): void {
    const postings = this.#terms.get(term)
    if (postings === undefined) return
    Postings.remove(postings, stored)
    if (postings.length === 0) this.#terms.delete(term)
  }
}
