/**
 * Stores grants, in the partition of a metering bucket. The index terms are stored and cannot change.
 */

import { Collection, type Entry, makeTimeIndex, type Partition, Store } from "@tollgate/store/internal"
import { Effect, Option } from "effect"
import { type GrantState, isOpen, StoredGrant } from "../model/Grant.ts"
import { GrantNotFound } from "./GrantError.ts"

/** Pending and active grants of a customer and meter. */
export const maxOpenGrants = 100

export const byGrantee = (customerKey: string): string => `customer:${customerKey}`
export const byMeter = (meter: string): string => `meter:${meter}`
export const byState = (state: GrantState): string => `state:${state}`
export const byOpen = (meter: string, customerKey: string): string => `open:${meter}:${customerKey}`
export const byCounter = (counter: string): string => `taken:${counter}`
export const byExternalId = (externalId: string): string => `external:${externalId}`

export const expiryTimes = makeTimeIndex("expires", "hour")

export const grantRecords = Collection.make({
  name: "grant",
  format: 1,
  schema: StoredGrant,
  key: ({ id }) => id,
  indexTerms: (grant) => [
    byGrantee(grant.customerKey),
    byMeter(grant.meter),
    byState(grant.state),
    ...Object.keys(grant.taken).map(byCounter),
    ...(isOpen(grant) ? [byOpen(grant.meter, grant.customerKey)] : []),
    ...(isOpen(grant) && grant.expiresOn !== undefined ? expiryTimes.terms(grant.expiresOn) : [])
  ],
  uniqueKeys: ({ externalId }) => (externalId === undefined ? [] : [byExternalId(externalId)])
})

/** A grant of a customer. */
export const findGrant = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  customerKey: string,
  grantId: string
) {
  const entry = yield* grantRecords.get(partition, grantId)
  return Option.isSome(entry) && entry.value.value.customerKey === customerKey
    ? entry.value
    : yield* new GrantNotFound({ grantId })
})

/** Grants by their ids. */
export const readGrants = Effect.fnUntraced(function* (partition: Partition.Partition, ids: ReadonlyArray<string>) {
  const store = yield* Store
  const records = yield* store.get(partition, ids.map(grantRecords.recordKey))
  return yield* Effect.forEach(
    records.filter((record) => record !== undefined),
    grantRecords.decode
  )
})

/** Grants by id. */
export type GrantEntries = Map<string, Entry<StoredGrant>>
