/**
 * Corrects what was used in the present period: in the quota, and in the hour of the history in which it occurred. Every
 * adjustment writes the ledger, so that two of them cannot take back the same usage.
 */

import {
  Change,
  type CommitOnce,
  type CommitResult,
  Partition,
  Store,
  StoreConflict,
  type StoreOperations,
  type TrustedClock
} from "@tollgate/store/internal"
import { DateTime, Effect, Option } from "effect"
import { previewReturns, returnAdjusted } from "../credits/returnCredit.ts"
import { commitWithTotals } from "../ledger/dayTotals.ts"
import { prepareHour } from "../ledger/openHours.ts"
import { readUsage } from "../ledger/readUsage.ts"
import { attributeToHour } from "../ledger/UsageLedger.ts"
import { addToDays, ledgerRecords } from "../ledger/usageRecords.ts"
import type { Adjustment } from "../model/Customer.ts"
import { BelowZero, OutsidePeriod } from "../model/CustomerError.ts"
import { getDayOfHour, toHour } from "../model/clockSteps.ts"
import { bumpCustomerVersion, customerRecords } from "../model/customerRecords.ts"
import * as Entitlement from "../model/Entitlement.ts"
import { recordAdjustment } from "../model/meteringEvents.ts"
import * as Period from "../model/Period.ts"
import { UnknownMeter } from "../model/QuotaError.ts"
import { getUsageId } from "../model/Subscription.ts"
import { dayTtlMs, getDayCounter, getTakenBackCounter, usageTtlMs } from "../model/usageCounters.ts"
import { type CountReceipt, collectCredit, collectPeriods, toQuotas } from "../usage/CountReceipt.ts"
import type { Usage } from "../usage/Usage.ts"

interface Services {
  readonly store: StoreOperations
  readonly usage: Usage["Service"]
  readonly trustedClock: TrustedClock["Service"]
}

/** The quota of the adjusted meter, for the first request and for replays. */
export const toAdjustedQuotas =
  ({ meter, amount }: Adjustment) =>
  (receipt: CountReceipt, commitResult: CommitResult) =>
    toQuotas({ [meter]: amount }, receipt, commitResult)

/** A change of the day's usage of the whole metering bucket. */
const changeDay = (meter: string, day: number, amount: number): Change =>
  amount > 0
    ? Change.Add({ counter: getDayCounter(meter, day), by: amount, ttl: dayTtlMs })
    : Change.Add({ counter: getTakenBackCounter(meter, day), by: -amount, ttl: dayTtlMs })

export const makeAdjustUsage = ({ store, usage, trustedClock }: Services) =>
  Effect.fnUntraced(
    function* (
      bucketId: string,
      entitlement: Entitlement.Entitlement,
      adjustment: Adjustment,
      commitOnce: CommitOnce<CountReceipt>
    ) {
      const { meter, amount } = adjustment
      const partition = Partition.forMeteringBucket(bucketId)
      const usageId = getUsageId(entitlement.subscription.value)
      const now = yield* trustedClock.now
      const nowMs = DateTime.toEpochMillis(now)
      const { occurredOn = now } = adjustment
      const limits = Entitlement.limitsAt(entitlement, now)
      const limit = limits.meters.get(meter)
      if (limit === undefined) return yield* new UnknownMeter({ meter })
      if (!Period.includes(limit.otherPeriod ?? limits.period, occurredOn) || DateTime.isGreaterThan(occurredOn, now)) {
        return yield* new OutsidePeriod({ meter })
      }
      // The ledger must know the meter in this period, as for a count.
      const opening = { bucketId, entitlement, limits, meters: [meter], now: nowMs, expiresOn: undefined }
      const present = yield* prepareHour(opening)
      if (!present.isOpen) yield* store.commit(partition, [...entitlement.preconditions, ...present.changes])
      const ledger = yield* ledgerRecords.get(partition, usageId)
      if (Option.isNone(ledger)) {
        return yield* new StoreConflict({ reason: "stale", subject: ledgerRecords.recordKey(usageId) })
      }

      // After the ledger: what is settled can then only grow until the commit, which fails if the ledger has changed.
      const { periodId } = limit
      const { read } = yield* readUsage(partition, usageId, [{ start: periodId, meters: [meter] }])
      const used = read(meter, periodId)
      if (used + amount < 0) return yield* new BelowZero({ meter, used })
      const hour = toHour(DateTime.toEpochMillis(occurredOn))
      const attributed =
        hour === ledger.value.value.openHour
          ? { ledger: ledger.value.value, days: new Map() }
          : attributeToHour(ledger.value.value, hour, () => periodId, new Map([[meter, amount]]))
      const returned = { meter, counter: limit.counter, amount: -amount, isAdjustment: true }
      const returns = amount < 0 && limit.credit !== undefined ? [returned] : []
      const receipt: CountReceipt = {
        usageId,
        periodStart: limits.period.start,
        resetsOn: limits.period.end,
        maxima: { [meter]: limit.max },
        ...collectPeriods(limits, { [meter]: amount }),
        ...(yield* previewReturns(entitlement, returns, now, collectCredit(limits, { [meter]: amount })))
      }
      const account = entitlement.credit?.account
      const credited = account === undefined || returns.length === 0 ? [] : returnAdjusted(account, returned)
      const written = new Set(credited.map((change) => ("key" in change ? change.key : "")))
      const { alerts } = entitlement
      const customerRecord = customerRecords.recordKey(entitlement.subscription.value.customerKey)
      // Before anything else is counted, alerts see that more remains.
      const seen = amount < 0 && alerts && !written.has(customerRecord) ? [bumpCustomerVersion(alerts.customer)] : []
      if (seen.length > 0) written.add(customerRecord)
      const changes = [
        // The customer is written, and not only checked.
        ...entitlement.preconditions.filter((change) => !("key" in change && written.has(change.key))),
        ...credited,
        ...seen,
        ledgerRecords.replace(ledger.value, attributed.ledger),
        ...(yield* addToDays(partition, usageId, attributed.days, nowMs)),
        Change.Add({ counter: limit.counter, by: amount, ttl: usageTtlMs }),
        changeDay(meter, getDayOfHour(hour), amount),
        yield* recordAdjustment(entitlement, { ...adjustment, occurredOn }, used + amount)
      ]
      const commitResult = yield* commitWithTotals(changes, (changes) => commitOnce(changes, receipt))
      const quotas = toAdjustedQuotas(adjustment)(receipt, commitResult)
      yield* usage.reportSettled(bucketId, entitlement, limits, quotas.meters)
      return quotas
    },
    Effect.provideService(Store, store)
  )
