/**
 * The records with an index term, as an array sorted by creation sequence: a page is a slice, and a record is located
 * by binary search.
 */
import type { Slot } from "./PartitionState.ts"

/** The index of the record with this sequence number, or the index at which to insert it. */
const findPosition = (postings: ReadonlyArray<Slot>, created: number): number => {
  let low = 0
  let high = postings.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((postings[middle]?.created ?? 0) < created) low = middle + 1
    else high = middle
  }
  return low
}

export const add = (postings: Array<Slot>, slot: Slot): void => {
  postings.splice(findPosition(postings, slot.created), 0, slot)
}

export const remove = (postings: Array<Slot>, slot: Slot): void => {
  const index = findPosition(postings, slot.created)
  if (postings[index] === slot) postings.splice(index, 1)
}
