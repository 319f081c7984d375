/**
 * The counters of the bytes that an account holds.
 */
import * as Partition from "../store/Partition.ts"
import { Change } from "../store/Store.ts"

/** Longer than any account is left alone: the store may drop a counter after it. */
const ttl = 100 * 365 * 24 * 60 * 60 * 1000

/** A counter of bytes in a partition. */
export interface ByteCounter {
  readonly partition: Partition.Partition
  readonly counter: string
}

/** Sources and releases. In the directory of deployments, to be counted in one commit with the names of deployments. */
export const deploymentBytes = (accountName: string): ByteCounter => ({
  partition: Partition.deploymentDirectory,
  counter: `bytes:${accountName}`
})

/** The change that counts bytes. Fails the commit if there would be more than `max`. `by` is not 0. */
export const addBytes = ({ counter }: ByteCounter, by: number, max?: number): Change =>
  Change.Add({ counter, by, ttl, ...(max === undefined ? {} : { max }) })
