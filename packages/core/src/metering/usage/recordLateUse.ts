/**
 * Counts usage in the hours in which it occurred, after these were closed. What belongs to the present period of its meter
 * counts in the quota; what belongs to an earlier one is added to the history alone.
 */

import {
  Change,
  type CommitResult,
  Partition,
  Store,
  StoreConflict,
  type StoreError,
  type StoreOperations
} from "@tollgate/store/internal"
import { DateTime, Effect, Option } from "effect"
import type { DueWork } from "../../jobs/DueWork.ts"
import { commitWithTotals } from "../ledger/dayTotals.ts"
import { prepareHour } from "../ledger/openHours.ts"
import * as UsageLedger from "../ledger/UsageLedger.ts"
import { addClosedPeriods, addToDays, ledgerRecords } from "../ledger/usageRecords.ts"
import { getDayOfHour, toHour } from "../model/clockSteps.ts"
import * as Entitlement from "../model/Entitlement.ts"
import * as Period from "../model/Period.ts"
import { type Amounts, makeQuota, type Quota } from "../model/Quota.ts"
import { UnknownMeter } from "../model/QuotaError.ts"
import { getUsageId } from "../model/Subscription.ts"
import { dayTtlMs, getDayCounter, usageTtlMs } from "../model/usageCounters.ts"
import { correctLater } from "../periods/correctLater.ts"

/** What was used at a time, in epoch milliseconds. */
export interface Use {
  readonly at: number
  readonly amounts: Amounts
}

/** Sums by a key, and by a name of a meter. */
const addUp = <Key>(sums: Map<Key, Map<string, number>>, key: Key, meter: string, amount: number): void => {
  const ofKey = sums.get(key) ?? new Map<string, number>()
  sums.set(key, ofKey.set(meter, (ofKey.get(meter) ?? 0) + amount))
}

/** The period of a meter that contains a time. */
const getPeriodIdAt = (
  { subscription: { value } }: Entitlement.Entitlement,
  otherPeriod: Period.MeterPeriod | undefined,
  time: DateTime.Utc
): Period.PeriodId => {
  const { kind } = Period.parseId(otherPeriod?.id ?? 0)
  return kind === undefined
    ? Period.periodAt(value.quotaResetAnchor, value.renewalStrategy, time).start.epochMilliseconds
    : Period.otherPeriodAt(kind, value, time).id
}

/** The sums of uses: what counts in the present periods, and in earlier ones, each also by hour. */
const sumUses = (
  uses: ReadonlyArray<Use>,
  entitlement: Entitlement.Entitlement,
  { meters }: Entitlement.PeriodLimits,
  openHour: number
) => {
  const present = new Map<string, number>()
  const presentByHour = new Map<number, Map<string, number>>()
  const earlier = new Map<Period.PeriodId, Map<string, number>>()
  const earlierByHour = new Map<number, Map<string, number>>()
  const days = new Map<number, Map<string, number>>()
  for (const { at, amounts } of uses) {
    const hour = Math.min(toHour(at), openHour)
    for (const [meter, amount] of Object.entries(amounts)) {
      const { otherPeriod, periodId } = meters.get(meter) ?? {}
      const id = getPeriodIdAt(entitlement, otherPeriod, DateTime.makeUnsafe(at))
      addUp(days, getDayOfHour(hour), meter, amount)
      if (id === periodId) {
        present.set(meter, (present.get(meter) ?? 0) + amount)
        // What is counted now is in the open hour without a further change.
        if (hour < openHour) addUp(presentByHour, hour, meter, amount)
      } else {
        addUp(earlier, id, meter, amount)
        addUp(earlierByHour, hour, meter, amount)
      }
    }
  }
  return { present, presentByHour, earlier, earlierByHour, days }
}

/** The ledger with the uses in their hours, and what belongs into the records of months. */
const attribute = (
  ledger: UsageLedger.UsageLedger,
  { presentByHour, earlierByHour }: ReturnType<typeof sumUses>,
  getPeriod: (meter: string) => Period.PeriodId
): UsageLedger.RolledUp => {
  const months = new Map<number, Map<string, number>>()
  let current = ledger
  const keep = ({ ledger, days }: UsageLedger.RolledUp) => {
    current = ledger
    for (const [day, amounts] of days) for (const [meter, amount] of amounts) addUp(months, day, meter, amount)
  }
  for (const [hour, amounts] of presentByHour) keep(UsageLedger.attributeToHour(current, hour, getPeriod, amounts))
  for (const [hour, amounts] of earlierByHour) keep(UsageLedger.addToClosedHour(current, hour, amounts))
  return { ledger: current, days: months }
}

/** What the quotas are after a commit. */
interface LateResult {
  readonly limits: Entitlement.PeriodLimits
  /** Of the meters that counted in their present periods. */
  readonly quotas: Readonly<Record<string, Quota>>
}

/** Commits uses of one subscription at once, with further changes. Fails with `StoreConflict` if it is to be tried again. */
export const makeRecordLateUse = (store: StoreOperations, dueWork: DueWork["Service"]) =>
  Effect.fnUntraced(
    function* <E>(
      bucketId: string,
      entitlement: Entitlement.Entitlement,
      uses: ReadonlyArray<Use>,
      now: DateTime.Utc,
      commit: (changes: ReadonlyArray<Change>) => Effect.Effect<CommitResult, StoreError | E>
    ): Effect.fn.Return<LateResult, StoreError | UnknownMeter | E, Store> {
      const nowMs = DateTime.toEpochMillis(now)
      const partition = Partition.forMeteringBucket(bucketId)
      const usageId = getUsageId(entitlement.subscription.value)
      const { accountName } = entitlement.bucketEntry.value
      const limits = Entitlement.limitsAt(entitlement, now)
      const meters = [...new Set(uses.flatMap(({ amounts }) => Object.keys(amounts)))]
      const unknown = meters.find((meter) => !limits.meters.has(meter))
      if (unknown !== undefined) return yield* new UnknownMeter({ meter: unknown })
      // The ledger must know the meters in this period, as for a count.
      const opening = { bucketId, entitlement, limits, meters, now: nowMs, expiresOn: undefined }
      const opened = yield* prepareHour(opening)
      if (!opened.isOpen) yield* store.commit(partition, [...entitlement.preconditions, ...opened.changes])
      const ledger = yield* ledgerRecords.get(partition, usageId)
      if (Option.isNone(ledger)) {
        return yield* new StoreConflict({ reason: "stale", subject: ledgerRecords.recordKey(usageId) })
      }

      const sums = sumUses(uses, entitlement, limits, ledger.value.value.openHour)
      const getPeriod = (meter: string) => limits.meters.get(meter)?.periodId ?? 0
      const attributed = attribute(ledger.value.value, sums, getPeriod)
      const changes = [
        ...entitlement.preconditions,
        attributed.ledger === ledger.value.value
          ? ledgerRecords.assertUnchanged(ledger.value)
          : ledgerRecords.replace(ledger.value, attributed.ledger),
        ...(yield* addToDays(partition, usageId, attributed.days, nowMs)),
        ...(yield* addClosedPeriods(partition, usageId, sums.earlier, nowMs)),
        ...(yield* correctLater(dueWork, partition, accountName, usageId, [...sums.earlier.keys()], now)),
        ...[...sums.present].map(([meter, by]) =>
          Change.Add({ counter: limits.meters.get(meter)?.counter ?? "", by, ttl: usageTtlMs })
        ),
        ...[...sums.days].flatMap(([day, amounts]) =>
          [...amounts].map(([meter, by]) => Change.Add({ counter: getDayCounter(meter, day), by, ttl: dayTtlMs }))
        )
      ]
      const { totals } = yield* commitWithTotals(changes, commit)
      const quotas = [...sums.present.keys()].map((meter) => {
        const { max = 0, counter = "", otherPeriod, credit } = limits.meters.get(meter) ?? {}
        return [meter, makeQuota(max, totals.get(counter), otherPeriod, credit)] as const
      })
      return { limits, quotas: Object.fromEntries(quotas) }
    },
    Effect.provideService(Store, store)
  )
