/**
 * Names of the partitions that a store is divided into. A partition is the unit of atomicity:
 * one commit touches one partition, and on a Redis Cluster one partition lives on one shard.
 *
 * Every name in use is made here, each part percent-encoded, so that no two tenants can meet
 * and no adapter needs to escape anything.
 */
import type { Brand } from "effect"
import { BoundedMap } from "../runtime/BoundedMap.ts"

export type Partition = string & Brand.Brand<"Partition">

const named = (...parts: ReadonlyArray<string>): Partition => parts.map(encodeURIComponent).join("/") as Partition

/** The consumers and API keys of one key bucket. */
export const keys = (accountName: string, bucketName: string): Partition => named("keys", accountName, bucketName)

/** The listing of all key buckets that were ever written to. */
export const keysDirectory: Partition = named("keys")

/** A use is counted in the time that it takes to encode a name, so that is done once. */
const meteringPartitions = new BoundedMap<string, Partition>(10_000)

/** One metering bucket: its root record, plans, subscriptions and usage counters. */
export const metering = (bucketId: string): Partition => {
  const known = meteringPartitions.get(bucketId)
  if (known !== undefined) return known
  const made = named("metering", bucketId)
  meteringPartitions.set(bucketId, made)
  return made
}

/** The listing of all metering buckets. A bucket itself lives in its own partition. */
export const meteringDirectory: Partition = named("metering")

/** The deployments of one project. */
export const deployments = (accountName: string, projectName: string): Partition =>
  named("deployments", accountName, projectName)

/** Which project a deployment's name belongs to. */
export const deploymentDirectory: Partition = named("deployments")
