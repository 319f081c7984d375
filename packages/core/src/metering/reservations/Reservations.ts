/**
 * Reservations: amounts that are held while work of unknown cost is done. They count as used at once. Each ends exactly
 * once, because the commit that ends it removes its record: it is settled, released, or given back after it has expired.
 */
import { Clock, Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { implementOperations } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import * as Id from "../../crypto/Id.ts"
import { SecretBox } from "../../crypto/SecretBox.ts"
import { TrustedClock } from "../../runtime/TrustedClock.ts"
import { invalidBody } from "../../schema/InvalidInput.ts"
import { runInFiber } from "../../store/HotPath.ts"
import { type CommitOnce, makeResultCodec } from "../../store/Idempotency.ts"
import * as Partition from "../../store/Partition.ts"
import { liveClock, retryOnConflict } from "../../store/retryOnConflict.ts"
import { type CommitResult, Store } from "../../store/Store.ts"
import { makeMarkOnce } from "../buckets/markedBuckets.ts"
import { commitWithTotals } from "../ledger/dayTotals.ts"
import { endReservation } from "../ledger/endReservation.ts"
import { giveBack, hasExpired } from "../ledger/giveBackExpired.ts"
import {
  endings,
  readEnding,
  rememberEnding,
  reservationRecords,
  type StoredReservation
} from "../ledger/reservationRecords.ts"
import { type MeterAmounts, noAmounts } from "../ledger/UsageLedger.ts"
import { readEntitlement } from "../model/customerEntitlements.ts"
import * as Entitlement from "../model/Entitlement.ts"
import { reservesTerm } from "../model/meteringDirectoryRecords.ts"
import { makeQuota, type Quotas } from "../model/Quota.ts"
import { defaultReservationSeconds, ReservationId } from "../model/Reservation.ts"
import { ReservationExpired, ReservationNotFound, ReservationSettled } from "../model/ReservationError.ts"
import { getUsedCounter } from "../model/usageCounters.ts"
import { getPolicies } from "../usage/ConsumeResult.ts"
import { CountReceipt, receiptCodec, toQuotas } from "../usage/CountReceipt.ts"
import { Usage } from "../usage/Usage.ts"
import { UsageApi, type UsageMethods } from "../usage/UsageApi.ts"
import { makeRequestReservations, type RequestReservations } from "./requestReservations.ts"
import { sweepReservations } from "./sweepReservations.ts"

/** How often the background job looks for expired reservations. */
const sweepInterval = "1 minute"

/** Stored for replays of a settled reservation: its period, the limits, and the usage of the meters that it did not change. */
const SettlementReceipt = Schema.Struct({ ...CountReceipt.fields, used: Schema.Record(Schema.String, Schema.Finite) })
type SettlementReceipt = typeof SettlementReceipt.Type

const settlementCodec = makeResultCodec(SettlementReceipt)

/** The quotas of the reserved meters after a reservation was settled, for the first request and for replays. */
const toSettledQuotas = (
  { subscriptionId, periodStart, resetsOn, maxima, used }: SettlementReceipt,
  { totals }: CommitResult
): Quotas => {
  const meters = Object.entries(maxima).map(([meter, max]) => {
    const counter = getUsedCounter(subscriptionId, meter, DateTime.toEpochMillis(periodStart))
    return [meter, makeQuota(max, totals.get(counter) ?? used[meter])] as const
  })
  return { meters: Object.fromEntries(meters), periodStart, resetsOn }
}

/** Fails unless every meter was reserved, and at least as much as was used. */
const checkReserved = ({ meters }: StoredReservation, used: MeterAmounts) =>
  Effect.forEach(
    used,
    ([meter, amount]) => {
      const reserved = Object.hasOwn(meters, meter) ? (meters[meter] ?? 0) : 0
      return amount <= reserved
        ? Effect.void
        : invalidBody(`/meters/${meter}`, `must be at most ${reserved}, which was reserved`)
    },
    { discard: true }
  )

interface ReservationPath {
  readonly bucketId: string
  readonly subscriptionId: string
  readonly reservationId: string
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const usage = yield* Usage
  const trustedClock = yield* TrustedClock
  const withStore = Effect.provideService(Store, store)
  const ensureMarked = makeMarkOnce(reservesTerm)

  yield* Effect.flatMap(trustedClock.now, sweepReservations).pipe(
    Effect.catchCause((cause) => Effect.logDebug("Scanning for expired reservations failed", cause)),
    // Only the pause uses the real clock: what has expired depends on the clock of the services.
    Effect.andThen(Effect.provideService(Effect.sleep(sweepInterval), Clock.Clock, liveClock)),
    Effect.forever,
    withStore,
    Effect.forkScoped({ startImmediately: true })
  )

  /** Finds an open reservation. Gives it back if it has expired. */
  const findOpen = Effect.fnUntraced(function* (path: ReservationPath, now: DateTime.Utc) {
    const { bucketId, subscriptionId, reservationId } = path
    const partition = Partition.forMeteringBucket(bucketId)
    const entry = yield* reservationRecords.get(partition, reservationId)
    if (Option.isSome(entry) && entry.value.value.subscriptionId === subscriptionId) {
      if (!hasExpired(entry.value.value, now)) return entry.value
      yield* giveBack(bucketId, [entry.value], now)
    }
    const ending = yield* readEnding(partition, { id: reservationId, subscriptionId })
    if (ending === 0) return yield* new ReservationNotFound({ reservationId })
    return yield* ending === endings.settled
      ? new ReservationSettled({ reservationId })
      : new ReservationExpired({ reservationId })
  })

  /** The usage of the meters whose counters do not change, because all that was reserved was used. */
  const readUnchanged = Effect.fnUntraced(function* (
    partition: Partition.Partition,
    { subscriptionId, periodStart, meters }: StoredReservation,
    used: MeterAmounts
  ) {
    const names = Object.entries(meters).flatMap(([meter, reserved]) => (used.get(meter) === reserved ? [meter] : []))
    const values = yield* store.counters(
      partition,
      names.map((meter) => getUsedCounter(subscriptionId, meter, periodStart))
    )
    return Object.fromEntries(names.map((meter, index) => [meter, values[index] ?? 0]))
  })

  /** Ends a reservation at what was used. */
  const end = Effect.fnUntraced(function* (
    path: ReservationPath,
    used: MeterAmounts,
    commitOnce: CommitOnce<SettlementReceipt>
  ) {
    const partition = Partition.forMeteringBucket(path.bucketId)
    const attempt = Effect.gen(function* () {
      const entitlement = yield* readEntitlement(path.bucketId, path.subscriptionId)
      const now = yield* trustedClock.now
      const entry = yield* findOpen(path, now)
      yield* checkReserved(entry.value, used)
      const limits = Entitlement.limitsAt(entitlement, DateTime.makeUnsafe(entry.value.periodStart))
      const { period, meters } = limits
      const names = Object.keys(entry.value.meters)
      const nowMs = DateTime.toEpochMillis(now)
      const receipt: SettlementReceipt = {
        subscriptionId: path.subscriptionId,
        periodStart: period.start,
        resetsOn: period.end,
        maxima: Object.fromEntries(names.map((meter) => [meter, meters.get(meter)?.max ?? 0])),
        used: yield* readUnchanged(partition, entry.value, used)
      }
      const changes = [
        ...(yield* endReservation(partition, entry, used, nowMs)),
        ...rememberEnding(entry.value, "settled", { endedAt: nowMs, now: nowMs })
      ]
      const commitResult = yield* commitWithTotals(changes, (changes) => commitOnce(changes, receipt))
      const quotas = toSettledQuotas(receipt, commitResult)
      yield* usage.reportSettled(path.bucketId, entitlement, limits, quotas.meters)
      return quotas
    })
    return yield* retryOnConflict(attempt)
  })

  const operations = implementOperations(UsageApi, { store, secretBox })({
    reserve: Effect.fnUntraced(function* (
      { params: { bucketId, subscriptionId }, payload: { meters, expiresIn } },
      once
    ) {
      const toValue = ({ reservation }: CountReceipt, quotas: Quotas) => {
        if (reservation === undefined) throw new Error("The receipt of a reservation does not name it")
        return { ...reservation, meters, quotas }
      }
      const toResult = (receipt: CountReceipt, commitResult: CommitResult) => ({
        value: toValue(receipt, toQuotas(subscriptionId, meters, receipt, commitResult)),
        policies: []
      })
      const commitOnce = once(Partition.forMeteringBucket(bucketId), toResult, receiptCodec)
      yield* ensureMarked(bucketId)
      const id = ReservationId.make(yield* Id.generate("rsv"))
      const kind = { id, expiresInMs: (expiresIn ?? defaultReservationSeconds) * 1_000 }
      const request = { amounts: meters, rateLimitTakes: [], kind }
      const reserved = yield* runInFiber(store, (hotPath) =>
        usage.countForSubscription(bucketId, subscriptionId, request, hotPath, commitOnce)
      )
      const value = toValue(reserved.receipt, reserved.quotas)
      return { value, policies: getPolicies(reserved, yield* trustedClock.now) }
    }),

    settle: ({ params, payload: { meters } }, once) => {
      const commitOnce = once(Partition.forMeteringBucket(params.bucketId), toSettledQuotas, settlementCodec)
      return end(params, new Map(Object.entries(meters)), commitOnce)
    },

    release: ({ params }, once) => {
      const commitOnce = once(Partition.forMeteringBucket(params.bucketId), () => undefined, settlementCodec)
      return Effect.asVoid(end(params, noAmounts, commitOnce))
    }
  })

  return Reservations.of({ ...operations, ...makeRequestReservations({ store, usage, trustedClock, ensureMarked }) })
})

/** The operations on reservations: `reserve`, `settle` and `release`. Each takes one `OperationRequest`. */
export class Reservations extends Context.Service<
  Reservations,
  Pick<Operations<typeof UsageApi, UsageMethods>, "reserve" | "settle" | "release"> & RequestReservations
>()("@tollgate/core/metering/Reservations") {
  static readonly layer = Layer.effect(Reservations, make)
}
