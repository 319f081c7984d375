/**
 * Settles the credit of a customer when it is due, so that it can be counted in or shown: one commit a meter. It fails if
 * anything was counted since the counters were read, and then it is tried again; what is counted meanwhile finds that a
 * settlement is due, and does it itself.
 */

import { Change, type Entry, Partition, retryOnConflict, Store, type StoreError } from "@tollgate/store/internal"
import { DateTime, Effect } from "effect"
import { asSystem } from "../../outbox/CurrentActor.ts"
import {
  type CreditAccount,
  creditRecords,
  getMeterCredit,
  type MeterCredit,
  type Return,
  type StoredCredit
} from "../model/Credit.ts"
import { type CustomerEntitlements, readEntitlement, readEntitlements } from "../model/customerEntitlements.ts"
import { bumpCustomerVersion } from "../model/customerRecords.ts"
import type * as Entitlement from "../model/Entitlement.ts"
import { type StoredGrant, toGrant } from "../model/Grant.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import type { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { recordGrantEvent } from "../model/meteringEvents.ts"
import { readOpenReservations } from "../model/reservationRecords.ts"
import { getCountedId } from "../model/usageCounters.ts"
import { findSpender, isCreditDue, listDueMeters, type Spender } from "./creditDue.ts"
import { byCounter, byOpen, type GrantEntries, grantRecords, readGrants } from "./grantRecords.ts"
import { settleMeter } from "./settleMeter.ts"

/** More grants than can be open, or than usage is ever taken back from. */
const maxGrants = 1_000
/** How many closed segments are kept before those without open reservations are dropped. */
const maxClosed = 10

/** Changes of the credit of a customer, with the new version that all its counts see. */
export const writeCredit = ({ customer, credit }: CreditAccount, value: StoredCredit): ReadonlyArray<Change> => [
  credit === undefined ? creditRecords.insert(value) : creditRecords.replace(credit, value),
  bumpCustomerVersion(customer)
]

export const withMeter = (value: StoredCredit, meter: string, credit: MeterCredit): StoredCredit => ({
  ...value,
  meters: { ...value.meters, [meter]: credit }
})

/** The grants that a settlement may change: those that are open, that have given in the segment, or get something back. */
const readSettledGrants = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  customerKey: string,
  meter: string,
  { open, closed, returns }: MeterCredit
) {
  const grants: GrantEntries = new Map()
  const terms = [byOpen(meter, customerKey), ...new Set(returns.map(({ counter }) => byCounter(counter)))]
  const pages = yield* grantRecords.pages(
    partition,
    terms.map((term) => ({ where: [term], offset: 0, limit: maxGrants, descending: true }))
  )
  for (const entry of pages.flatMap(({ entries }) => entries)) grants.set(entry.value.id, entry)
  const numbers = new Set(returns.map(({ segment }) => segment))
  const given = closed.filter(({ number }) => numbers.has(number)).flatMap((segment) => segment.given)
  const missing = [...(open?.sources ?? []), ...given].map(({ id }) => id).filter((id) => !grants.has(id))
  for (const entry of yield* readGrants(partition, [...new Set(missing)])) grants.set(entry.value.id, entry)
  return grants
})

/** The closed segments in which an open reservation was made, or one that is to be given back. */
const readReservedSegments = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  meter: string,
  { closed, returns }: MeterCredit
) {
  const usageIds = new Set(closed.map(({ counter }) => getCountedId(counter)))
  const reservations = yield* Effect.forEach(usageIds, (usageId) => readOpenReservations(partition, usageId))
  const numbers = new Set([
    ...reservations.flat().map(({ value }) => value.segments?.[meter]),
    ...returns.map(({ segment }) => segment)
  ])
  return closed.filter(({ number }) => numbers.has(number))
})

/** Changes of grants, and what happened to them. */
const writeGrants = (bucket: MeteringBucket, before: GrantEntries, after: ReadonlyMap<string, StoredGrant>) =>
  asSystem(
    Effect.gen(function* () {
      const changes: Array<Change> = []
      for (const [id, entry] of before) {
        const grant = after.get(id) ?? entry.value
        if (grant === entry.value) continue
        const isDepletion = grant.state === "depleted" && grant.isDepletionKnown !== true
        changes.push(grantRecords.replace(entry, isDepletion ? { ...grant, isDepletionKnown: true } : grant))
        if (isDepletion) changes.push(yield* recordGrantEvent("grant.depleted", bucket, toGrant(grant)))
        if (grant.state === "expired" && entry.value.state !== "expired") {
          changes.push(yield* recordGrantEvent("grant.expired", bucket, toGrant(grant)))
        }
      }
      return changes
    })
  )

/**
 * What a settlement of a meter is, and the changes that write the grants. The caller writes the credit. `lowered`: what the
 * caller is about to take off a counter.
 */
export const computeSettlement = Effect.fnUntraced(function* (
  bucket: MeteringBucket,
  customerKey: string,
  meter: string,
  credit: MeterCredit,
  spender: Spender | undefined,
  now: DateTime.Utc,
  lowered?: Pick<Return, "counter" | "amount">
) {
  const store = yield* Store
  const partition = Partition.forMeteringBucket(bucket.id)
  const kept =
    credit.closed.length <= maxClosed
      ? credit
      : { ...credit, closed: yield* readReservedSegments(partition, meter, credit) }
  const before = yield* readSettledGrants(partition, customerKey, meter, kept)
  const counters = [
    ...new Set([kept.open?.counter, spender?.counter, ...kept.returns.map(({ counter }) => counter)])
  ].filter((counter) => counter !== undefined)
  const values = yield* store.counters(partition, counters)
  const byName = new Map(counters.map((counter, index) => [counter, values[index] ?? 0]))
  const after = new Map([...before].map(([id, { value }]) => [id, value]))
  const readCounter = (counter: string) =>
    (byName.get(counter) ?? 0) - (lowered?.counter === counter ? lowered.amount : 0)
  const settling = { credit: kept, grants: after, readCounter }
  const settled = settleMeter(settling, spender, now)
  const changes = [
    ...[...byName].map(([counter, expect]) => Change.CheckCounter({ counter, expect })),
    ...(yield* writeGrants(bucket, before, after))
  ]
  return {
    credit: settled,
    changes,
    isChanged: [...before].some(([id, { value }]) => after.get(id)?.state !== value.state)
  }
})

/** Settles one meter. `isForced`: although it is not due, if a grant was used up. */
const settleOne = Effect.fnUntraced(function* (
  bucketEntry: Entry<MeteringBucket>,
  customer: Entitlement.CustomerCredit,
  meter: string,
  clock: DateTime.Utc,
  isForced: boolean
) {
  const store = yield* Store
  const { account } = customer
  const { value } = account.credit
  const stored = getMeterCredit(value, meter)
  if (stored === undefined) return
  const now = DateTime.makeUnsafe(Math.max(clock.epochMilliseconds, stored.settledOn))
  const spender = findSpender(customer, meter, now)
  const bucket = bucketEntry.value
  const { credit, changes, isChanged } = yield* computeSettlement(
    bucket,
    value.customerKey,
    meter,
    stored,
    spender,
    now
  )
  if (isForced && !isChanged) return
  yield* store.commit(Partition.forMeteringBucket(bucket.id), [
    meteringBucketRecords.assertUnchanged(bucketEntry),
    ...writeCredit(account, withMeter(value, meter, credit)),
    ...changes
  ])
})

/** The entitlements of a customer, of which nothing is due. `depleted`: meters that are settled also if a grant is used up. */
export const readSettledCustomer = (
  accountName: string,
  bucketId: string,
  customerKey: string,
  now: DateTime.Utc,
  depleted: ReadonlyArray<string> = []
): Effect.Effect<CustomerEntitlements, StoreError | MeteringBucketNotFound, Store> =>
  Effect.gen(function* () {
    const forced = [...depleted]
    for (;;) {
      const settled: CustomerEntitlements | undefined = yield* retryOnConflict(
        Effect.gen(function* () {
          const customer = yield* readEntitlements(accountName, bucketId, customerKey)
          const { credit } = customer
          if (credit === undefined) return customer
          const [due] = isCreditDue(credit, now) ? listDueMeters(credit, now) : []
          const meter = due ?? forced[0]
          if (meter === undefined) return customer
          yield* settleOne(yield* findMeteringBucket(bucketId), credit, meter, now, due === undefined)
          if (due === undefined) forced.shift()
          return undefined
        })
      )
      if (settled !== undefined) return settled
    }
  })

/** The entitlement of a subscription of which nothing is due. */
export const readSettledEntitlement = Effect.fnUntraced(function* (
  bucketId: string,
  subscriptionId: string,
  now: DateTime.Utc
) {
  const entitlement = yield* readEntitlement(bucketId, subscriptionId)
  if (entitlement.credit === undefined || !isCreditDue(entitlement.credit, now)) return entitlement
  const { customerKey } = entitlement.subscription.value
  yield* readSettledCustomer(entitlement.bucketEntry.value.accountName, bucketId, customerKey, now)
  return yield* readEntitlement(bucketId, subscriptionId)
})
