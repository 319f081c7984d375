/**
 * Operations on grants: list, create, get and void.
 */

import { isDeepStrictEqual } from "node:util"
import {
  Ids,
  invalidBody,
  makeKeyedLocks,
  Partition,
  retryOnConflict,
  SecretBox,
  Store,
  StoreConflict,
  TrustedClock,
  toPage
} from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { Limits } from "../../accounts/limits/Limits.ts"
import { implementOperations } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import { DueWork } from "../../jobs/DueWork.ts"
import { getMeterCredit, noCredit, readCreditAccount, type StoredCredit } from "../model/Credit.ts"
import { defaultPriority, type Grant, GrantId, type StoredGrant, stateAt, toContent, toGrant } from "../model/Grant.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { recordGrantEvent } from "../model/meteringEvents.ts"
import { registerMeters } from "../model/meterRecords.ts"
import { expireGrants, grantsJob } from "./expireGrants.ts"
import { GrantExternalIdTaken, TooManyGrants } from "./GrantError.ts"
import { GrantsApi } from "./GrantsApi.ts"
import {
  byExternalId,
  byGrantee,
  byMeter,
  byOpen,
  byState,
  findGrant,
  grantRecords,
  maxOpenGrants
} from "./grantRecords.ts"
import { readGrantsOf } from "./readGrants.ts"
import { readSettledCustomer, withMeter, writeCredit } from "./settleCredit.ts"

const isUniqueKeyConflict = (error: unknown): boolean => error instanceof StoreConflict && error.reason === "unique-key"

const isTooMany = (error: unknown): boolean => error instanceof StoreConflict && error.reason === "too-many-records"

/** Sees to it that the credit is settled at a time, before anything else is counted. */
const withDue = (value: StoredCredit, meter: string, dueOn: number): StoredCredit => {
  const credit = getMeterCredit(value, meter) ?? noCredit
  return withMeter(value, meter, { ...credit, dueOn: Math.min(dueOn, credit.dueOn ?? dueOn) })
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const trustedClock = yield* TrustedClock
  const dueWork = yield* DueWork
  const { metersPerMeteringBucket } = yield* Limits
  yield* dueWork.register({
    ...grantsJob,
    run: (partition) =>
      Effect.flatMap(trustedClock.now, (now) => expireGrants(Partition.getBucketId(partition), now)).pipe(
        Effect.provideService(Store, store)
      )
  })

  /** One at a time: each writes the credit of the customer, so all others would conflict. */
  const withLock = makeKeyedLocks()

  const settle = Effect.fnUntraced(function* (
    bucketId: string,
    customerKey: string,
    withDepleted: ReadonlyArray<string> = []
  ) {
    const { accountName } = (yield* findMeteringBucket(bucketId)).value
    yield* readSettledCustomer(accountName, bucketId, customerKey, yield* trustedClock.now, withDepleted)
  })

  /** What is stored of the states of grants is that of the last settlement. */
  const settleForState = Effect.fnUntraced(function* (bucketId: string, customerKey: string, meter?: string) {
    const { credit } = yield* readCreditAccount(Partition.forMeteringBucket(bucketId), customerKey)
    const meters = meter === undefined ? Object.keys(credit?.value.meters ?? {}) : [meter]
    yield* settle(bucketId, customerKey, meters)
  })

  const readGrant = Effect.fnUntraced(function* (bucketId: string, customerKey: string, grantId: string) {
    yield* settle(bucketId, customerKey)
    const find = findGrant(Partition.forMeteringBucket(bucketId), customerKey, grantId)
    const { found, grants } = yield* readGrantsOf(bucketId, customerKey, find, (entry) => [entry])
    return grants[0] ?? toGrant(found.value)
  })

  return implementOperations(GrantsApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: { bucketId, customerKey }, query: { meter, state, ...query } }) {
      yield* state === "active" || state === "depleted"
        ? settleForState(bucketId, customerKey, meter)
        : settle(bucketId, customerKey)
      const where = [
        byGrantee(customerKey),
        ...(meter === undefined ? [] : [byMeter(meter)]),
        ...(state === undefined ? [] : [byState(state)])
      ]
      const partition = Partition.forMeteringBucket(bucketId)
      const read = grantRecords.page(partition, { where, ...query, mayEndEarly: true })
      const { found, grants } = yield* readGrantsOf(bucketId, customerKey, read, ({ entries }) => entries)
      return toPage(query, found, grants)
    }),

    create: Effect.fnUntraced(function* ({ params: { bucketId, customerKey }, payload: input }, once) {
      const partition = Partition.forMeteringBucket(bucketId)
      const commitOnce = once(partition, (grant: Grant) => grant)
      const { externalId, meter, amount, priority = defaultPriority, expiresOn, reason, metadata } = input
      const attempt = Effect.gen(function* () {
        const bucketEntry = yield* findMeteringBucket(bucketId)
        const bucket = bucketEntry.value
        if (externalId !== undefined) {
          const existing = yield* grantRecords.getByUniqueKey(partition, byExternalId(externalId))
          if (Option.isSome(existing)) {
            const grant = existing.value.entry.value
            const content = toContent({ ...input, customerKey }, input.effectiveOn ?? grant.createdOn)
            if (!isDeepStrictEqual(content, toContent(grant, grant.effectiveOn))) {
              return yield* new GrantExternalIdTaken({ externalId })
            }
            return yield* Effect.catchTag(readGrant(bucketId, customerKey, grant.id), "GrantNotFound", Effect.die)
          }
        }
        const now = yield* trustedClock.now
        if (expiresOn !== undefined && DateTime.isLessThanOrEqualTo(expiresOn, now)) {
          return yield* invalidBody("/expiresOn", "must be in the future")
        }
        const { effectiveOn = now } = input
        const created: StoredGrant = {
          ...{ id: GrantId.make(yield* Ids.generate("grt")), customerKey, meter, amount, used: 0 },
          state: "active",
          ...{ priority, effectiveOn, createdOn: now },
          ...(expiresOn && { expiresOn }),
          ...(reason === undefined ? {} : { reason }),
          ...(externalId === undefined ? {} : { externalId }),
          ...(metadata && { metadata }),
          taken: {}
        }
        const stored = { ...created, state: stateAt(created, now) }
        const grant = toGrant(stored)
        if (expiresOn !== undefined) {
          yield* dueWork.ensure(grantsJob, partition, Effect.succeed(bucket.accountName), expiresOn)
        }
        const account = yield* readCreditAccount(partition, customerKey)
        const credit = account.credit?.value ?? { customerKey, meters: {} }
        // It is spent from its commit on.
        const dueOn = stored.state === "active" ? 0 : effectiveOn.epochMilliseconds
        yield* commitOnce(
          [
            meteringBucketRecords.assertUnchanged(bucketEntry),
            ...writeCredit(account, withDue(credit, meter, dueOn)),
            // Otherwise a customer could have credit of any number of meters.
            ...(yield* registerMeters(partition, [meter], metersPerMeteringBucket)),
            grantRecords.insert(stored),
            grantRecords.assertAtMost(byOpen(meter, customerKey), maxOpenGrants - 1),
            yield* recordGrantEvent("grant.created", bucket, grant)
          ],
          grant
        )
        return grant
      })
      const create = retryOnConflict(attempt, isUniqueKeyConflict)
      const settled = Effect.andThen(settleForState(bucketId, customerKey, meter), create)
      // Some of them may be used up.
      return yield* withLock(
        `${bucketId} ${customerKey}`,
        Effect.catchIf(create, isTooMany, () => settled)
      ).pipe(Effect.mapError((error) => (isTooMany(error) ? new TooManyGrants({ meter, max: maxOpenGrants }) : error)))
    }),

    get: ({ params: { bucketId, customerKey, grantId } }) => readGrant(bucketId, customerKey, grantId),

    void: Effect.fnUntraced(function* ({ params: { bucketId, customerKey, grantId } }) {
      const partition = Partition.forMeteringBucket(bucketId)
      const attempt = Effect.gen(function* () {
        const bucketEntry = yield* findMeteringBucket(bucketId)
        const shown = yield* readGrant(bucketId, customerKey, grantId)
        if (shown.state === "voided" || shown.state === "expired") return
        const account = yield* readCreditAccount(partition, customerKey)
        const entry = yield* findGrant(partition, customerKey, grantId)
        // What the open segment charges to it is charged when that is closed, which is before anything else is counted.
        yield* store.commit(partition, [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          ...writeCredit(account, withDue(account.credit?.value ?? { customerKey, meters: {} }, entry.value.meter, 0)),
          grantRecords.replace(entry, { ...entry.value, state: "voided" }),
          yield* recordGrantEvent("grant.voided", bucketEntry.value, { ...shown, state: "voided" })
        ])
      })
      yield* withLock(`${bucketId} ${customerKey}`, retryOnConflict(attempt))
      return yield* readGrant(bucketId, customerKey, grantId)
    })
  })
})

/** The operations on grants. Each takes one `OperationRequest`. */
export class Grants extends Context.Service<Grants, Operations<typeof GrantsApi>>()("@tollgate/core/metering/Grants") {
  static readonly layer = Layer.effect(Grants, make)
}
