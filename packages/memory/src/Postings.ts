/**
 * The records that carry a term, in the order of their creation: an array sorted by sequence number, so that a page
 * is a slice and a record is found by halving.
 */
import type { Slot } from "./PartitionState.ts"

/** Where a record of this sequence number stands, or would stand. */
const position = (postings: ReadonlyArray<Slot>, created: number): number => {
  let low = 0
  let high = postings.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((postings[middle]?.created ?? 0) < created) low = middle + 1
    else high = middle
  }
  return low
}

export const add = (postings: Array<Slot>, stored: Slot): void => {
  postings.splice(position(postings, stored.created), 0, stored)
}

export const remove = (postings: Array<Slot>, stored: Slot): void => {
  const index = position(postings, stored.created)
  if (postings[index] === stored) postings.splice(index, 1)
}
