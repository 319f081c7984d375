/**
 * Operations on alerts: list, create, get and remove.
 */

import {
  Ids,
  makeKeyedLocks,
  Partition,
  retryOnConflict,
  SecretBox,
  Store,
  TrustedClock,
  toPage
} from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer } from "effect"
import { implementOperations } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import { DueWork } from "../../jobs/DueWork.ts"
import { readSettledCustomer } from "../credits/settleCredit.ts"
import { type Alert, AlertId, canRepeat, isReached, type StoredAlert, toAlert } from "../model/Alert.ts"
import { alertRecords, type StoredAlerts } from "../model/alertRecords.ts"
import { type CustomerAccount, readCreditAccount } from "../model/Credit.ts"
import { assertCustomerUnchanged, bumpCustomerVersion } from "../model/customerRecords.ts"
import { findMeteringBucket, meteringBucketRecords } from "../model/meteringBucketRecords.ts"
import { getNames, readMeters } from "../model/meterRecords.ts"
import { UnknownMeter } from "../model/QuotaError.ts"
import { AlertNotFound, TooManyAlerts } from "./AlertError.ts"
import { AlertsApi } from "./AlertsApi.ts"
import { recordAlertEvent } from "./alertEvents.ts"
import { readAlerts } from "./readAlerts.ts"
import { alertsJob, nextRound, sweepAlerts } from "./sweepAlerts.ts"
import { updateAlertsOf } from "./updateAlerts.ts"

const maxAlerts = 20

/** Changes of the alerts of a customer, with the new version that all its counts see. */
const writeAlerts = ({ customer, alerts }: CustomerAccount, value: StoredAlerts) => [
  customer.entry === undefined ? assertCustomerUnchanged(customer) : bumpCustomerVersion(customer),
  alerts === undefined
    ? alertRecords.insert(value)
    : value.alerts.length === 0
      ? alertRecords.remove(alerts)
      : alertRecords.replace(alerts, value)
]

const findAlert = Effect.fnUntraced(function* ({ alerts }: CustomerAccount, alertId: string) {
  return alerts?.value.alerts.find(({ id }) => id === alertId) ?? (yield* new AlertNotFound({ alertId }))
})

/** Reads the alerts of a customer. Fails if the metering bucket does not exist. */
const readAccount = Effect.fnUntraced(function* (bucketId: string, customerKey: string) {
  const bucketEntry = yield* findMeteringBucket(bucketId)
  const account = yield* readCreditAccount(Partition.forMeteringBucket(bucketId), customerKey)
  return { bucketEntry, account }
})

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const trustedClock = yield* TrustedClock
  const dueWork = yield* DueWork
  yield* dueWork.register({
    ...alertsJob,
    run: (partition) =>
      Effect.flatMap(trustedClock.now, (now) => sweepAlerts(Partition.getBucketId(partition), now)).pipe(
        Effect.provideService(Store, store)
      )
  })

  /** One at a time: each writes the alerts of the customer, so all others would conflict. */
  const withLock = makeKeyedLocks()

  /** What is to be seen when an alert is made: little that remains already is no reason to trigger it. */
  const seeFirst = Effect.fnUntraced(function* (
    accountName: string,
    bucketId: string,
    { customerKey, meter, when }: StoredAlert,
    now: DateTime.Utc
  ) {
    if (!canRepeat(when)) return []
    const { entitlements } = yield* readSettledCustomer(accountName, bucketId, customerKey, now)
    const { readings } = yield* readAlerts(customerKey, entitlements, [meter], now)
    const reading = readings.get(meter)?.at(-1)
    return reading === undefined ? [] : [{ counter: reading.counter, isReached: isReached(when, reading.quota) }]
  })

  return implementOperations(AlertsApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: { bucketId, customerKey }, query }) {
      const { account } = yield* readAccount(bucketId, customerKey)
      const { limit, offset, after = -1 } = query
      const all = account.alerts?.value.alerts ?? []
      const rest = all.filter(({ number }) => number > after).slice(offset)
      const found = rest.slice(0, limit)
      const next = rest.length > limit ? found.at(-1)?.number : undefined
      return toPage(query, { total: all.length, next }, found.map(toAlert))
    }),

    create: Effect.fnUntraced(function* ({ params: { bucketId, customerKey }, payload: { meter, when } }, once) {
      const partition = Partition.forMeteringBucket(bucketId)
      const commitOnce = once(partition, (alert: Alert) => alert)
      const { accountName } = (yield* findMeteringBucket(bucketId)).value
      yield* dueWork.ensure(
        alertsJob,
        partition,
        Effect.succeed(accountName),
        DateTime.addDuration(yield* trustedClock.now, nextRound)
      )
      const attempt = Effect.gen(function* () {
        const { bucketEntry, account } = yield* readAccount(bucketId, customerKey)
        if (!getNames(yield* readMeters(partition)).includes(meter)) return yield* new UnknownMeter({ meter })
        const { alerts, nextNumber: number } = account.alerts?.value ?? { alerts: [], nextNumber: 0 }
        if (alerts.length >= maxAlerts) return yield* new TooManyAlerts({ max: maxAlerts })
        const now = yield* trustedClock.now
        const id = AlertId.make(yield* Ids.generate("alr"))
        const created: StoredAlert = { id, customerKey, meter, when, createdOn: now, number, seen: [] }
        const stored = { ...created, seen: yield* seeFirst(accountName, bucketId, created, now) }
        const alert = toAlert(stored)
        yield* commitOnce(
          [
            meteringBucketRecords.assertUnchanged(bucketEntry),
            ...writeAlerts(account, { customerKey, alerts: [...alerts, stored], nextNumber: number + 1 }),
            yield* recordAlertEvent("alert.created", bucketEntry.value, alert)
          ],
          alert
        )
        return alert
      })
      const alert = yield* withLock(`${bucketId} ${customerKey}`, retryOnConflict(attempt))
      // What is reached already. If this fails, the background work does it.
      yield* updateAlertsOf(accountName, bucketId, customerKey, alert.createdOn).pipe(
        Effect.catchCause((cause) => Effect.logDebug("Looking at a new alert failed", cause))
      )
      return alert
    }),

    get: Effect.fnUntraced(function* ({ params: { bucketId, customerKey, alertId } }) {
      const { account } = yield* readAccount(bucketId, customerKey)
      return toAlert(yield* findAlert(account, alertId))
    }),

    remove: Effect.fnUntraced(function* ({ params: { bucketId, customerKey, alertId } }) {
      const attempt = Effect.gen(function* () {
        const { bucketEntry, account } = yield* readAccount(bucketId, customerKey)
        const removed = yield* findAlert(account, alertId)
        const { alerts, nextNumber } = account.alerts?.value ?? { alerts: [], nextNumber: 0 }
        const left = alerts.filter((alert) => alert !== removed)
        yield* store.commit(Partition.forMeteringBucket(bucketId), [
          meteringBucketRecords.assertUnchanged(bucketEntry),
          ...writeAlerts(account, { customerKey, alerts: left, nextNumber }),
          yield* recordAlertEvent("alert.deleted", bucketEntry.value, toAlert(removed))
        ])
      })
      yield* withLock(`${bucketId} ${customerKey}`, retryOnConflict(attempt))
    })
  })
})

/** The operations on alerts. Each takes one `OperationRequest`. */
export class Alerts extends Context.Service<Alerts, Operations<typeof AlertsApi>>()("@tollgate/core/metering/Alerts") {
  static readonly layer = Layer.effect(Alerts, make)
}
