/**
 * Names of the partitions of a store. A partition is the unit of atomicity: one commit writes to one partition, and on
 * a Redis Cluster one partition is stored on one shard.
 *
 * This module builds every partition name. Each part is percent-encoded, so that two tenants never share a name and no
 * adapter needs to escape anything.
 */
import type { Brand } from "effect"

/** The name of a partition. Only the functions of this module make one. */
export type Partition = string & Brand.Brand<"Partition">

/** Makes the name of a partition: that of a module begins with the name of the module, and then has that of the account. */
export const make = (...parts: ReadonlyArray<string>): Partition => parts.map(encodeURIComponent).join("/") as Partition

/** The directory of all accounts. */
export const accountsDirectory: Partition = make("accounts")

/** The consumers and API keys of one key bucket. */
export const forKeyBucket = (accountName: string, bucketName: string): Partition =>
  make("keys", accountName, bucketName)

/** The account and the name of the key bucket that a partition holds. */
export const getKeyBucket = (partition: Partition): { readonly accountName: string; readonly bucketName: string } => {
  const [, accountName = "", bucketName = ""] = partition.split("/").map(decodeURIComponent)
  return { accountName, bucketName }
}

/** The directory of all key buckets that were ever written to. */
export const keysDirectory: Partition = make("keys")

/** One metering bucket: the record that describes it, plans, subscriptions and usage counters. */
export const forMeteringBucket = (bucketId: string): Partition => make("metering", bucketId)

/** The id of the metering bucket that a partition holds. */
export const getBucketId = (partition: Partition): string => decodeURIComponent(partition.split("/")[1] ?? "")

/** The directory of all metering buckets. The content of each bucket is in a separate partition. */
export const meteringDirectory: Partition = make("metering")

/** The event log of one account, its webhooks and their deliveries. */
export const forEvents = (accountName: string): Partition => make("events", accountName)

/** The account whose event log a partition holds; `undefined` for other partitions. */
export const getEventsAccount = (partition: Partition): string | undefined => {
  const [kind, accountName] = partition.split("/")
  return kind === "events" && accountName !== undefined ? decodeURIComponent(accountName) : undefined
}

/** The byte counters of one account. */
export const forAccount = (accountName: string): Partition => make("accounts", accountName)

/** Whose records a partition holds: those of an account, or of a metering bucket, which knows its account. */
export const getOwner = (partition: Partition): { accountName: string } | { bucketId: string } | undefined => {
  const [kind = "", name] = partition.split("/")
  // The byte counters of an account are not counted, and what is noted of decisions has other bounds.
  if (name === undefined || kind === "accounts" || kind === "stats") return undefined
  return kind === "metering" ? { bucketId: decodeURIComponent(name) } : { accountName: decodeURIComponent(name) }
}

/** The directory of background work: which partitions have some, when it is due, and which processes do it. */
export const jobsDirectory: Partition = make("jobs")

/** Since when the functions that are called for each event exist. */
export const eventsDirectory: Partition = make("events")
