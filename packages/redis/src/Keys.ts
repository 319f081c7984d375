/**
 * The Redis keys of a partition. They share a hash tag: a partition is in one slot of a cluster, so one script can
 * access all of its keys.
 *
 * The names are stored and cannot change: `once:` marks an idempotency record, `claims` holds the unique keys, and
 * `attempt:` the results of commits without an idempotency id.
 */
import type { Partition } from "@tollgate/store"

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
  /** Sorted set without scores: a search term, U+0000, the place of its record, inverted, and its encoded owner. */
  readonly search: string
  /** Hash: hash of several terms → state and total of their intersection, kept for a limited time. */
  readonly totals: string
  /** The key that a member of `expiring` refers to. */
  readonly expiringKey: (member: string) => string
  /** The result of a commit without an idempotency id, or of a counter batch, kept until its retries are over. */
  readonly commitReplay: (commitId: string) => string
}

const counterPrefix = "counter:"
const replayPrefix = "once:"

export const toCounterMember = (name: string): string => counterPrefix + name
export const toReplayMember = (id: string): string => replayPrefix + id

/** What a member of `expiring` refers to: a counter by its name, or an idempotency record by its id. */
export const parseExpiringMember = (member: string): { readonly kind: "counter" | "replay"; readonly name: string } =>
  member.startsWith(counterPrefix)
    ? { kind: "counter", name: member.slice(counterPrefix.length) }
    : { kind: "replay", name: member.slice(replayPrefix.length) }

/** Every partition that contains something has one of these keys. Both names have eight letters. */
const partitionMarkers = ["sequence", "expiring"]

/** A pattern for SCAN that matches the marker keys of all partitions, and few others. */
export const makePartitionPattern = (prefix: string): string => `${prefix.replace(/[\\*?[\]]/g, "\\$&")}{*}:????????`

/** The partition of a marker key; `undefined` for other keys, such as those of another store below the same prefix. */
export const parsePartition = (prefix: string, key: string): Partition.Partition | undefined => {
  const [, partition, marker = ""] = /^\{([^}]*)\}:(.*)$/s.exec(key.slice(prefix.length)) ?? []
  // Keys are made by `makePartitionKeys`.
  return partition !== undefined && partitionMarkers.includes(marker) ? (partition as Partition.Partition) : undefined
}

export const makePartitionKeys = (prefix: string, partition: Partition.Partition): Keys => {
  const base = `${prefix}{${partition}}:`
  return {
    records: `${base}records`,
    uniqueKeys: `${base}claims`,
    sequence: `${base}sequence`,
    expiring: `${base}expiring`,
    search: `${base}search`,
    totals: `${base}totals`,
    term: (term) => `${base}term:${term}`,
    expiringKey: (member) => base + member,
    commitReplay: (id) => `${base}attempt:${id}`
  }
}
