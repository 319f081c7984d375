/**
 * The changes that write a subscription with its events, and the job that writes what it will change by itself.
 */

import { type Change, type Entry, Partition, StoreConflict } from "@tollgate/store/internal"
import { type DateTime, Effect } from "effect"
import { limitReached } from "../../accounts/limits/LimitReached.ts"
import type { LimitsShape } from "../../accounts/limits/Limits.ts"
import type { DueWork } from "../../jobs/DueWork.ts"
import { bumpCustomerVersion, type CustomerVersion } from "../model/customerRecords.ts"
import { dueChangesJob } from "../model/dueTerms.ts"
import type { MeteringBucket } from "../model/MeteringBucket.ts"
import { meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { recordDueChanges, recordStatusChange, recordSubscriptionEvent } from "../model/meteringEvents.ts"
import { registerMeters } from "../model/meterRecords.ts"
import type { Overrides } from "../model/Overrides.ts"
import { getPlanIds } from "../model/PendingChange.ts"
import { planRecords } from "../model/planRecords.ts"
import type { StoredSubscription } from "../model/Subscription.ts"
import { SubscriptionExternalIdTaken } from "../model/SubscriptionError.ts"
import { getDueTimes, subscriptionAt } from "../model/subscriptionAt.ts"
import { subscriptionRecords } from "../model/subscriptionRecords.ts"
import { readExternalIds, toSubscription } from "../model/toSubscription.ts"
import { periodsJob } from "../periods/closingSchedule.ts"
import { changeClosings, type SubscriptionChange } from "../periods/closingWrites.ts"
import type { PlanEntries } from "./subscriptionPlans.ts"

export interface SubscriptionWriteServices {
  readonly dueWork: DueWork["Service"]
  readonly limits: Pick<LimitsShape, "metersPerMeteringBucket" | "subscriptionsPerMeteringBucket">
}

/** What a subscription is written with. */
interface Write {
  readonly bucketEntry: Entry<MeteringBucket>
  readonly value: StoredSubscription
  /** The plans that it gets. */
  readonly plans: PlanEntries
  readonly customerVersion: CustomerVersion
  readonly now: DateTime.Utc
  /** Changes that must come with it. */
  readonly further?: ReadonlyArray<Change>
}

export const makeSubscriptionWrites = ({ dueWork, limits }: SubscriptionWriteServices) => {
  /** Sees to it that the end of a trial, and a pending change, are written. */
  const ensureDueChanges = ({ id, accountName }: MeteringBucket, subscription: StoredSubscription) => {
    const [first] = getDueTimes(subscription)
    return first === undefined
      ? Effect.void
      : dueWork.ensure(dueChangesJob, Partition.forMeteringBucket(id), Effect.succeed(accountName), first)
  }

  /** The changes of when its periods are closed. Sees to it that they are. */
  const scheduleClosing = Effect.fnUntraced(function* ({ bucketEntry, now }: Write, change: SubscriptionChange) {
    const { changes, dueTimes } = yield* changeClosings(bucketEntry, [change], now)
    const { id, accountName } = bucketEntry.value
    for (const dueOn of dueTimes) {
      yield* dueWork.ensure(periodsJob, Partition.forMeteringBucket(id), Effect.succeed(accountName), dueOn)
    }
    return changes
  })

  /** A change that adds the meters of new overrides to those of the metering bucket. */
  const registerOverrides = (bucketId: string, overrides: Overrides | null | undefined) =>
    overrides == null
      ? Effect.succeed([])
      : registerMeters(
          Partition.forMeteringBucket(bucketId),
          Object.keys(overrides.meters ?? {}),
          limits.metersPerMeteringBucket
        )

  const toPreconditions = ({ bucketEntry, plans, customerVersion }: Write) => [
    meteringBucketRecords.assertUnchanged(bucketEntry),
    ...plans.map(planRecords.assertUnchanged),
    bumpCustomerVersion(customerVersion)
  ]

  /** The changes that create a subscription. Call it before the commit, because it reads from the store. */
  const insert = Effect.fnUntraced(function* (write: Write) {
    const { bucketEntry, plans, value, now, further = [] } = write
    yield* ensureDueChanges(bucketEntry.value, value)
    const externalIds = new Map(plans.map(({ value }) => [value.id as string, value.planExternalId]))
    const subscription = toSubscription(value, externalIds, now)
    const changes = [
      ...toPreconditions(write),
      subscriptionRecords.insert(value),
      ...(yield* scheduleClosing(write, { before: undefined, after: value })),
      ...further,
      subscriptionRecords.assertAtMost(undefined, limits.subscriptionsPerMeteringBucket - 1),
      yield* recordSubscriptionEvent("subscription.created", bucketEntry.value, subscription)
    ]
    return { subscription, changes }
  })

  /** The changes that replace a subscription. Call it before the commit, because it reads from the store. */
  const replace = Effect.fnUntraced(function* (write: Write, entry: Entry<StoredSubscription>) {
    const { bucketEntry, value, now, further = [] } = write
    yield* ensureDueChanges(bucketEntry.value, value)
    const planIds = [...new Set([...getPlanIds(entry.value), ...getPlanIds(value)])]
    const externalIds = yield* readExternalIds(bucketEntry.value.id, planIds)
    const subscription = toSubscription(value, externalIds, now)
    const { status: previousStatus } = subscriptionAt(entry.value, now)
    const changes = [
      ...toPreconditions(write),
      subscriptionRecords.replace(entry, value),
      ...(yield* scheduleClosing(write, { before: entry, after: value })),
      ...further,
      // What no job has noticed yet.
      ...(yield* recordDueChanges(bucketEntry.value, entry.value, externalIds, now)),
      yield* recordSubscriptionEvent("subscription.updated", bucketEntry.value, subscription),
      ...(value.status === previousStatus
        ? []
        : [yield* recordStatusChange(bucketEntry.value, subscription, previousStatus)])
    ]
    return { subscription, changes }
  })

  const mapConflict = <A, E, R>(subscriptionExternalId: string, effect: Effect.Effect<A, E | StoreConflict, R>) =>
    Effect.mapError(effect, (error) => {
      if (!(error instanceof StoreConflict)) return error
      if (error.reason === "unique-key") return new SubscriptionExternalIdTaken({ subscriptionExternalId })
      return error.reason === "too-many-records"
        ? limitReached("subscriptionsPerMeteringBucket", limits.subscriptionsPerMeteringBucket)
        : error
    })

  return { insert, replace, registerOverrides, mapConflict }
}
