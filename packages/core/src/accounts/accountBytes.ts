/**
 * The counters of the bytes that an account holds.
 */
import { Change, type Partition } from "@tollgate/store/internal"

/** Longer than any account is left alone: the store may drop a counter after it. */
const ttl = 100 * 365 * 24 * 60 * 60 * 1000

/** A counter of bytes in a partition. */
export interface ByteCounter {
  readonly partition: Partition.Partition
  readonly counter: string
}

/** The change that counts bytes. Fails the commit if there would be more than `max`. `by` is not 0. */
export const addBytes = ({ counter }: ByteCounter, by: number, max?: number): Change =>
  Change.Add({ counter, by, ttl, ...(max === undefined ? {} : { max }) })
