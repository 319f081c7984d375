/**
 * What a process knows of the decisions of a key bucket and has not written yet: how many had which outcome, and a bounded
 * number of refusals.
 */
import { hash } from "node:crypto"
import { dayMs, hourMs, type KeyBucket, type ObservedDecision, type SecretBox } from "@tollgate/core/module"
import { DateTime } from "effect"
import {
  dayTtlMs,
  getConsumerCounter,
  getDayCounter,
  getHourCounter,
  hourTtlMs,
  type Outcome
} from "./outcomeCounters.ts"
import { toPeer, toStoredAddress } from "./peers.ts"
import { mergeRefusals, type StoredRefusal } from "./Refusal.ts"
import type { RefusalBudget } from "./RefusalBudget.ts"
import { findBounds } from "./refusalRecords.ts"

const minuteMs = 60_000
/** Bounds of what is noted of one key bucket between two writes. What is beyond them is counted only. */
const maxRefusals = 2_000
const maxCounters = 20_000
const maxRoute = 256
/** The last characters of a shorter key would say too much of it. */
const minHintedKey = 24

type Refused = Extract<ObservedDecision["result"], { readonly allowed: false }>

/** What is noted, apart from the notes that come meanwhile. */
interface TakenNotes {
  readonly counters: ReadonlyMap<string, number>
  readonly refusals: ReadonlyMap<string, StoredRefusal>
}

/** What a refusal says of the key: which it is, or if it does not exist, a hint. */
const describeKey = (secretBox: SecretBox["Service"], key: string, keyId: string | undefined) => {
  if (keyId !== undefined) return { keyId }
  const digest = Buffer.from(secretBox.hashName(`refused key ${key}`))
    .toString("base64url")
    .slice(0, 12)
  const isOurs = secretBox.hasKeyPrefix(key) && key.length >= minHintedKey
  return { keyHint: isOurs ? `${digest} ****${key.slice(-4)}` : digest }
}

export class DecisionNotes {
  /** The requests of an hour that were let through, most of all, by consumer. */
  readonly #allowed = new Map<string, number>()
  #hour = 0
  #counters = new Map<string, number>()
  #refusals = new Map<string, StoredRefusal>()
  /** How many refusals have each term of which a limited number is kept. */
  #noted = new Map<string, number>()
  readonly bucket: KeyBucket
  readonly #secretBox: SecretBox["Service"]
  readonly #budget: RefusalBudget

  constructor(bucket: KeyBucket, secretBox: SecretBox["Service"], budget: RefusalBudget) {
    this.bucket = bucket
    this.#secretBox = secretBox
    this.#budget = budget
  }

  get isEmpty(): boolean {
    return this.#allowed.size === 0 && this.#counters.size === 0 && this.#refusals.size === 0
  }

  note(decision: ObservedDecision): void {
    const { result, owner, now } = decision
    const hour = Math.floor(now / hourMs)
    if (result.allowed && owner !== undefined) {
      if (hour !== this.#hour || this.#allowed.size >= maxCounters) this.#fold()
      this.#hour = hour
      this.#allowed.set(owner.consumer.id, (this.#allowed.get(owner.consumer.id) ?? 0) + 1)
      return
    }
    this.#noteOutcome(result.allowed ? "allowed" : result.reason, hour, owner?.consumer.id, 1)
    if (!result.allowed) this.#noteRefusal(decision, result)
  }

  #noteOutcome(outcome: Outcome, hour: number, consumerId: string | undefined, by: number): void {
    const day = Math.floor((hour * hourMs) / dayMs)
    this.#count(getHourCounter(outcome, hour), by)
    this.#count(getDayCounter(outcome, day), by)
    if (consumerId !== undefined) this.#count(getConsumerCounter(consumerId)(outcome, day), by)
  }

  /** Makes counters of what was let through. */
  #fold(): void {
    for (const [consumerId, count] of this.#allowed) this.#noteOutcome("allowed", this.#hour, consumerId, count)
    this.#allowed.clear()
  }

  #count(counter: string, by: number): void {
    const count = this.#counters.get(counter)
    if (count !== undefined || this.#counters.size < maxCounters) this.#counters.set(counter, (count ?? 0) + by)
  }

  #noteRefusal({ key, owner, now, source }: ObservedDecision, result: Refused): void {
    const ip = typeof source?.ip === "function" ? source.ip() : source?.ip
    const whose =
      owner !== undefined
        ? { consumerId: owner.consumer.id, consumerName: owner.consumer.name }
        : ip === undefined
          ? {}
          : { peer: toPeer(ip) }
    // Before the key is hashed: a client with made-up keys comes no further.
    if (owner === undefined && this.#isFull(whose)) return
    const requestId = source?.requestId?.()
    const route = source?.route?.()?.slice(0, maxRoute)
    const what = {
      reason: result.reason,
      ...describeKey(this.#secretBox, key, owner?.keyId),
      ...(route === undefined ? {} : { route }),
      ...("limit" in result ? { limit: result.limit } : {}),
      ...("meter" in result ? { meter: result.meter } : {})
    }
    const { accountName, bucketName } = this.bucket
    const alike = [accountName, bucketName, Math.floor(now / minuteMs), whose, what]
    // The same in every process, so that all of them add to one entry.
    const id = `rfs_${hash("sha256", JSON.stringify(alike), "hex").slice(0, 24)}` as StoredRefusal["id"]
    this.#add({
      id,
      on: DateTime.makeUnsafe(now),
      count: 1,
      requestIds: requestId === undefined ? [] : [requestId],
      ...whose,
      ...what,
      ...(ip === undefined ? {} : { ip: toStoredAddress(ip) })
    })
  }

  #isFull(refusal: Pick<StoredRefusal, "consumerId" | "peer">): boolean {
    return (
      this.#refusals.size >= maxRefusals ||
      findBounds(refusal).some(([term, kept]) => (this.#noted.get(term) ?? 0) >= kept)
    )
  }

  #add(refusal: StoredRefusal): void {
    const noted = this.#refusals.get(refusal.id)
    if (noted !== undefined) {
      this.#refusals.set(refusal.id, mergeRefusals(noted, refusal))
    } else if (!this.#isFull(refusal) && this.#budget.take(this.bucket.accountName)) {
      this.#refusals.set(refusal.id, refusal)
      for (const [term] of findBounds(refusal)) this.#noted.set(term, (this.#noted.get(term) ?? 0) + 1)
    }
  }

  /** Empties the notes. */
  take(): TakenNotes {
    this.#fold()
    const taken = { counters: this.#counters, refusals: this.#refusals }
    this.#budget.free(this.bucket.accountName, taken.refusals.size)
    this.#counters = new Map()
    this.#refusals = new Map()
    this.#noted = new Map()
    return taken
  }

  /** Puts back what could not be written. */
  putBack({ counters, refusals }: TakenNotes): void {
    const later = this.take()
    for (const notes of [{ counters, refusals }, later]) {
      for (const [counter, count] of notes.counters) this.#count(counter, count)
      for (const refusal of notes.refusals.values()) this.#add(refusal)
    }
  }
}

/** For how long a counter is kept. */
export const getTtl = (counter: string): number => (counter.startsWith("hour:") ? hourTtlMs : dayTtlMs)
