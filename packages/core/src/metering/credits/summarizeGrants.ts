/**
 * What the active grants of a customer are, by meter: how many, and when the next of them expires.
 */

import { Partition } from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import { byOpen, grantRecords, maxOpenGrants } from "./grantRecords.ts"
import { readGrantsOf } from "./readGrants.ts"

interface GrantSummary {
  readonly count: number
  readonly nextExpiryOn?: DateTime.Utc
}

/** Call it when nothing of the customer's credit is due: a grant that has expired since still counts. */
export const summarizeGrants = Effect.fnUntraced(function* (
  bucketId: string,
  customerKey: string,
  meters: ReadonlyArray<string>
) {
  const summaries = new Map<string, GrantSummary>()
  if (meters.length === 0) return summaries
  const read = grantRecords.pages(
    Partition.forMeteringBucket(bucketId),
    meters.map((meter) => ({ where: [byOpen(meter, customerKey)], offset: 0, limit: maxOpenGrants }))
  )
  const { grants } = yield* readGrantsOf(bucketId, customerKey, read, (pages) =>
    pages.flatMap(({ entries }) => entries)
  )
  for (const { meter, state, expiresOn } of grants) {
    if (state !== "active") continue
    const { count = 0, nextExpiryOn = expiresOn } = summaries.get(meter) ?? {}
    const next = expiresOn === undefined ? nextExpiryOn : DateTime.min(expiresOn, nextExpiryOn ?? expiresOn)
    summaries.set(meter, { count: count + 1, ...(next && { nextExpiryOn: next }) })
  }
  return summaries
})
