/**
 * Names of the partitions of a store. A partition is the unit of atomicity: one commit writes to one partition, and on
 * a Redis Cluster one partition is stored on one shard.
 *
 * This module builds every partition name. Each part is percent-encoded, so that two tenants never share a name and no
 * adapter needs to escape anything.
 */
import type { Brand } from "effect"
import { BoundedMap } from "../runtime/BoundedMap.ts"

/** The name of a partition. Only the functions of this module make one. */
export type Partition = string & Brand.Brand<"Partition">

const makePartition = (...parts: ReadonlyArray<string>): Partition =>
  parts.map(encodeURIComponent).join("/") as Partition

/** The directory of all accounts. */
export const accountsDirectory: Partition = makePartition("accounts")

/** The consumers and API keys of one key bucket. */
export const forKeyBucket = (accountName: string, bucketName: string): Partition =>
  makePartition("keys", accountName, bucketName)

/** The directory of all key buckets that were ever written to. */
export const keysDirectory: Partition = makePartition("keys")

/** Cached, because encoding a name takes as long as counting usage. */
const meteringPartitions = new BoundedMap<string, Partition>(10_000)

/** One metering bucket: the record that describes it, plans, subscriptions and usage counters. */
export const forMeteringBucket = (bucketId: string): Partition => {
  const cached = meteringPartitions.get(bucketId)
  if (cached !== undefined) return cached
  const partition = makePartition("metering", bucketId)
  meteringPartitions.set(bucketId, partition)
  return partition
}

/** The directory of all metering buckets. The content of each bucket is in a separate partition. */
export const meteringDirectory: Partition = makePartition("metering")

/** The deployments of one project. */
export const forProject = (accountName: string, projectName: string): Partition =>
  makePartition("deployments", accountName, projectName)

/** The directory of deployment names, which maps each name to its project. */
export const deploymentDirectory: Partition = makePartition("deployments")

/** The event log of one account, its webhooks and their deliveries. */
export const forEvents = (accountName: string): Partition => makePartition("events", accountName)

/** The account whose event log a partition holds; `undefined` for other partitions. */
export const getEventsAccount = (partition: Partition): string | undefined => {
  const [kind, accountName] = partition.split("/")
  return kind === "events" && accountName !== undefined ? decodeURIComponent(accountName) : undefined
}

/** The byte counters of one account. */
export const forAccount = (accountName: string): Partition => makePartition("accounts", accountName)

/** Whose records a partition holds: those of an account, or of a metering bucket, which knows its account. */
export const getOwner = (partition: Partition): { accountName: string } | { bucketId: string } | undefined => {
  const [kind = "", name] = partition.split("/")
  if (name === undefined) return undefined
  if (kind === "metering") return { bucketId: decodeURIComponent(name) }
  return ["keys", "deployments", "events"].includes(kind) ? { accountName: decodeURIComponent(name) } : undefined
}

/** The codes of links to the console that were used. */
export const consoleCodes: Partition = makePartition("console")

/** The directory of all partitions whose events may still have to be moved to a log. */
export const eventsDirectory: Partition = makePartition("events")
