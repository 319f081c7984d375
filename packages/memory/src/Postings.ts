/**
 * The records with an index term, sorted by creation sequence: a page is a slice, and a record is located by binary
 * search. Removing the oldest records, as event logs and outboxes do, does not move all others.
 */
import type { StoreRecord } from "@tollgate/store"

/** A record and the sequence number at which it was created, which is its position in every list. */
export interface Slot {
  readonly created: number
  record: StoreRecord
}

export class Postings {
  #slots: Array<Slot | undefined>
  /** The index of the oldest record. Everything before it was removed. */
  #start = 0

  constructor(slots: Array<Slot | undefined> = []) {
    this.#slots = slots
  }

  get length(): number {
    return this.#slots.length - this.#start
  }

  /** Like the method of an array: the oldest record is at place 0. */
  slice(from = 0, to = this.length): ReadonlyArray<Slot> {
    return this.#slots.slice(this.#start + from, this.#start + to) as ReadonlyArray<Slot>
  }

  /** How many records were created before this sequence number. */
  countBefore(created: number): number {
    return this.#findIndex(created) - this.#start
  }

  add(slot: Slot): void {
    this.#slots.splice(this.#findIndex(slot.created), 0, slot)
  }

  remove(slot: Slot): void {
    const index = this.#findIndex(slot.created)
    if (this.#slots[index] !== slot) return
    if (index > this.#start) {
      this.#slots.splice(index, 1)
      return
    }
    this.#slots[this.#start++] = undefined
    if (this.#start <= this.length) return
    this.#slots = this.#slots.slice(this.#start)
    this.#start = 0
  }

  /** Those of the given records that have this term as well. They are sorted, like the records of this term. */
  filter(slots: ReadonlyArray<Slot>): Array<Slot> {
    let index = this.#start
    return slots.filter((slot) => {
      // Comparing the slots alone is several times faster than reading the sequence number of each.
      if (this.#slots[index] !== slot) index = this.#seek(slot.created, index)
      const hasTerm = this.#slots[index] === slot
      if (hasTerm) index++
      return hasTerm
    })
  }

  /** Like `#findIndex`, but from an index on. A result nearby takes few steps. */
  #seek(created: number, from: number): number {
    let step = 1
    let low = from
    while ((this.#slots[low + step - 1]?.created ?? created) < created) {
      low += step
      step *= 2
    }
    return this.#findIndex(created, low, Math.min(low + step - 1, this.#slots.length))
  }

  /** The index of the record with this sequence number, or the index at which to insert it. */
  #findIndex(created: number, from = this.#start, to = this.#slots.length): number {
    let low = from
    let high = to
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#slots[middle]?.created ?? 0) < created) low = middle + 1
      else high = middle
    }
    return low
  }
}
