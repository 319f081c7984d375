/**
 * The Redis keys of a partition. They share a hash tag, so that a partition lives on one shard of a cluster and one
 * script can touch all of it.
 */
import type { Partition } from "@tollgate/core"

export interface Keys {
  /** Hash: record key → packed record. */
  readonly records: string
  /** Hash: claim → packed holder. */
  readonly claims: string
  /** The number of the last write. It outlives a clear. */
  readonly sequence: string
  /** Sorted set: which counters and remembered ids there are, by when they expire. */
  readonly expiring: string
  /** Sorted set a term: record key by its creation. */
  readonly term: (term: string) => string
  /** What a member of `expiring` stands for. */
  readonly expiringKey: (member: string) => string
  /** A commit that is remembered only until its own retries are over. */
  readonly attempt: (id: string) => string
}

export const counterMember = (name: string): string => `counter:${name}`
export const replayMember = (id: string): string => `once:${id}`

export const partitionKeys = (prefix: string, partition: Partition.Partition): Keys => {
  const base = `${prefix}{${partition}}:`
  return {
    records: `${base}records`,
    claims: `${base}claims`,
    sequence: `${base}sequence`,
    expiring: `${base}expiring`,
    term: (term) => `${base}term:${term}`,
    expiringKey: (member) => base + member,
    attempt: (id) => `${base}attempt:${id}`
  }
}
