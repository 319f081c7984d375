/**
 * The Redis keys of a partition. They share a hash tag: a partition is in one slot of a cluster, so one script can
 * access all of its keys.
 *
 * The names are stored and cannot change: `once:` marks an idempotency record, `claims` holds the unique keys, and
 * `attempt:` the results of commits without an idempotency id.
 */
import type { Partition } from "@tollgate/core/store"

export interface Keys {
  /** Hash: record key → encoded record. */
  readonly records: string
  /** Hash: unique key → encoded owner. */
  readonly uniqueKeys: string
  /** The version of the last write. `clear` keeps it, so versions never repeat. */
  readonly sequence: string
  /** Sorted set: members for all counters and idempotency records, scored by expiry. */
  readonly expiring: string
  /** Sorted set per index term: record keys, scored by creation sequence. */
  readonly term: (term: string) => string
  /** The key that a member of `expiring` refers to. */
  readonly expiringKey: (member: string) => string
  /** The result of a commit without an idempotency id, or of a counter batch, kept until its retries are over. */
  readonly commitReplay: (commitId: string) => string
}

export const toCounterMember = (name: string): string => `counter:${name}`
export const toReplayMember = (id: string): string => `once:${id}`

export const makePartitionKeys = (prefix: string, partition: Partition.Partition): Keys => {
  const base = `${prefix}{${partition}}:`
  return {
    records: `${base}records`,
    uniqueKeys: `${base}claims`,
    sequence: `${base}sequence`,
    expiring: `${base}expiring`,
    term: (term) => `${base}term:${term}`,
    expiringKey: (member) => base + member,
    commitReplay: (id) => `${base}attempt:${id}`
  }
}
