import { Collection, makeTimeIndex, Partition } from "@tollgate/core/module"
import { DateTime } from "effect"
import { StoredRefusal } from "./Refusal.ts"

/** Apart from keys and usage, so that neither their decisions nor their lists wait for what is written here. */
export const getStatsPartition = (accountName: string, bucketName: string): Partition.Partition =>
  Partition.make("stats", accountName, bucketName)

/** For how long refusals are kept. */
export const keptDays = 7

/** When refusals are removed. */
export const removals = makeTimeIndex("removal", "hour")
export const findRemoval = ({ on }: StoredRefusal): DateTime.Utc => DateTime.add(on, { days: keptDays })

export const byConsumer = (consumerId: string): string => `consumer:${consumerId}`
export const byKey = (keyId: string): string => `key:${keyId}`
export const byReason = (reason: string): string => `reason:${reason}`
export const byRequest = (requestId: string): string => `request:${requestId}`
const byPeer = (peer: string): string => `peer:${peer}`
/** Refusals of keys that belong to nobody. */
export const withoutConsumer = "without-consumer"

/** Of which terms only the newest entries are kept, and how many. */
export const findBounds = ({
  consumerId,
  peer
}: Pick<StoredRefusal, "consumerId" | "peer">): ReadonlyArray<readonly [term: string, kept: number]> => {
  if (consumerId !== undefined) return [[byConsumer(consumerId), 100]]
  return [[withoutConsumer, 1_000], ...(peer === undefined ? [] : [[byPeer(peer), 50] as const])]
}

/** Its bounds are those of its terms, so it does not count towards the bytes of an account. */
export const refusalRecords = Collection.make({
  name: "refusal",
  format: 1,
  countsBytes: false,
  schema: StoredRefusal,
  key: ({ id }) => id,
  indexTerms: (refusal) => [
    ...findBounds(refusal).map(([term]) => term),
    byReason(refusal.reason),
    ...(refusal.keyId === undefined ? [] : [byKey(refusal.keyId)]),
    ...refusal.requestIds.map(byRequest),
    ...removals.terms(findRemoval(refusal))
  ]
})
