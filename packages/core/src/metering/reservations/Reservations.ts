/**
 * Reservations: amounts that are held while work of unknown cost is done. They count as used at once. Each ends exactly
 * once, because the commit that ends it removes its record: it is settled, released, or given back after it has expired.
 */

import { type CommitResult, Ids, Partition, runInFiber, SecretBox, Store, TrustedClock } from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer } from "effect"
import { implementOperations } from "../../api/implementOperations.ts"
import type { Operations } from "../../api/Operations.ts"
import { DueWork } from "../../jobs/DueWork.ts"
import { UseRecorder } from "../groups/UseRecorder.ts"
import { noAmounts } from "../ledger/UsageLedger.ts"
import { findMeteringBucket } from "../model/meteringBucketRecords.ts"
import type { Amounts, Quotas } from "../model/Quota.ts"
import { defaultReservationSeconds, type Reservation, ReservationId } from "../model/Reservation.ts"
import { toPolicies } from "../usage/ConsumeResult.ts"
import { type CountReceipt, receiptCodec, toQuotas } from "../usage/CountReceipt.ts"
import { Usage } from "../usage/Usage.ts"
import { UsageApi, type UsageMethods } from "../usage/UsageApi.ts"
import { makeEndReservation, settlementCodec, toSettledQuotas } from "./endOnce.ts"
import { makeRequestReservations, type RequestReservations } from "./requestReservations.ts"
import { reservationsJob, sweepReservations } from "./sweepReservations.ts"

/** A reservation that was made, from what is stored of it for replays. */
export const toReservation = ({ reservation }: CountReceipt, meters: Amounts, quotas: Quotas): Reservation => {
  if (reservation === undefined) throw new Error("The receipt of a reservation does not name it")
  return { ...reservation, meters, quotas }
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const usage = yield* Usage
  const trustedClock = yield* TrustedClock
  const withStore = Effect.provideService(Store, store)
  const dueWork = yield* DueWork
  yield* dueWork.register({
    ...reservationsJob,
    run: (partition) =>
      withStore(Effect.flatMap(trustedClock.now, (now) => sweepReservations(Partition.getBucketId(partition), now)))
  })

  /** Sees to it that a reservation is given back when it has expired. */
  const ensureGivenBack = <E>(bucketId: string, accountName: Effect.Effect<string, E>, expiresInMs: number) =>
    Effect.flatMap(trustedClock.now, (now) => {
      const expiresOn = DateTime.add(now, { milliseconds: expiresInMs })
      return dueWork.ensure(reservationsJob, Partition.forMeteringBucket(bucketId), accountName, expiresOn)
    })

  const useRecorder = yield* UseRecorder
  const end = makeEndReservation({ store, usage, trustedClock, useRecorder })

  const operations = implementOperations(UsageApi, { store, secretBox })({
    reserve: Effect.fnUntraced(function* (
      { params: { bucketId, subscriptionId }, payload: { meters, expiresIn } },
      once
    ) {
      const toResult = (receipt: CountReceipt, commitResult: CommitResult) => ({
        value: toReservation(receipt, meters, toQuotas(meters, receipt, commitResult)),
        policies: []
      })
      const commitOnce = once(Partition.forMeteringBucket(bucketId), toResult, receiptCodec)
      const expiresInMs = (expiresIn ?? defaultReservationSeconds) * 1_000
      const accountName = Effect.map(findMeteringBucket(bucketId), ({ value }) => value.accountName)
      yield* ensureGivenBack(bucketId, withStore(accountName), expiresInMs)
      const id = ReservationId.make(yield* Ids.generate("rsv"))
      const kind = { id, expiresInMs }
      const request = { amounts: meters, rateLimitTakes: [], kind }
      const reserved = yield* runInFiber(store, (hotPath) =>
        usage.countForSubscription(bucketId, subscriptionId, request, hotPath, commitOnce)
      )
      const value = toReservation(reserved.receipt, meters, reserved.quotas)
      return { value, policies: toPolicies(reserved, (yield* trustedClock.now).epochMilliseconds) }
    }),

    settle: ({ params, payload: { meters, labels } }, once) => {
      const commitOnce = once(Partition.forMeteringBucket(params.bucketId), toSettledQuotas, settlementCodec)
      return end(params, new Map(Object.entries(meters)), commitOnce, labels)
    },

    release: ({ params }, once) => {
      const commitOnce = once(Partition.forMeteringBucket(params.bucketId), () => undefined, settlementCodec)
      return Effect.asVoid(end(params, noAmounts, commitOnce))
    }
  })

  return Reservations.of({
    ...operations,
    ...makeRequestReservations({ store, usage, trustedClock, useRecorder, ensureGivenBack })
  })
})

/** The operations on reservations: `reserve`, `settle` and `release`. Each takes one `OperationRequest`. */
export class Reservations extends Context.Service<
  Reservations,
  Pick<Operations<typeof UsageApi, UsageMethods>, "reserve" | "settle" | "release"> & RequestReservations
>()("@tollgate/core/metering/Reservations") {
  static readonly layer = Layer.effect(Reservations, make)
}
