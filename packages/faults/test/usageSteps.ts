/**
 * Random operations on the usage of two subscriptions with two meters, each with what the model predicts.
 */
import { DateTime } from "effect"
import type { Random } from "./random.ts"
import type { MeteredSubscription, Meters, RequestReservation, UsageGate } from "./usageGate.ts"
import {
  type Prediction,
  predictCharge,
  predictConsume,
  predictEnd,
  predictRecord,
  predictReleaseRequest,
  predictReserve,
  predictUnexpiredCharge,
  type UsageModel
} from "./usageModel.ts"
import { dayMs } from "./usageReadings.ts"

/** What the steps of a sequence share. */
export interface Sequence {
  readonly bucketId: string
  readonly subscriptions: Readonly<Record<string, MeteredSubscription>>
  /** The ids of reservations, oldest first. */
  readonly reservations: Array<{ readonly id: string; readonly subscription: string }>
  /** The reservations of requests, oldest first. */
  readonly requests: Array<RequestReservation>
}

export interface UsageStep {
  readonly label: string
  readonly run: (gate: UsageGate, options: { readonly idempotencyKey?: string }) => Promise<unknown>
  /** `result` is what `run` returned, if it succeeded. */
  readonly predict: (model: UsageModel, now: number, result: unknown) => Prediction
  /** A second state that is right as well. */
  readonly predictAlternative?: (model: UsageModel, now: number) => UsageModel
  /** Reads after its commit, so the error of a failed read does not tell that the step was applied. */
  readonly readsAfterCommit?: true
  /** Whether the step accepts an idempotency key. */
  readonly isIdempotent?: true
}

export const makeUsageStep = (
  { pick, below, chance }: Random,
  sequence: Sequence,
  model: UsageModel,
  now: number
): UsageStep => {
  const { bucketId, subscriptions, reservations, requests } = sequence
  const [name, subscription] = pick(Object.entries(subscriptions))
  const amount = 1 + below(12)
  const meters: Meters = pick([{ requests: amount }, { tokens: amount }, { requests: 1, tokens: amount }])
  const print = (label: string) => `${label} ${JSON.stringify(meters)} on ${name}`

  const consume: UsageStep = {
    label: print("consume"),
    isIdempotent: true,
    run: (gate, options) => gate.consume(bucketId, subscription, meters, options),
    predict: (model, now) => predictConsume(model, name, meters, now)
  }
  const record: UsageStep = {
    label: print("record"),
    isIdempotent: true,
    run: (gate, options) => gate.record(bucketId, subscription, meters, options),
    predict: (model, now) => predictRecord(model, name, meters, now)
  }
  const expiresIn = pick([20, 600, 3_600])
  const reserve: UsageStep = {
    label: print(`reserve for ${expiresIn} s`),
    isIdempotent: true,
    run: async (gate, options) => {
      const id = await gate.reserve(bucketId, subscription, { meters, expiresIn }, options)
      reservations.push({ id, subscription: name })
      return id
    },
    predict: (model, madeAt, result) => {
      const id = typeof result === "string" ? result : undefined
      return predictReserve(model, { id, subscription: name, meters, madeAt, expiresAt: madeAt + expiresIn * 1_000 })
    }
  }
  const reserveForRequest: UsageStep = {
    label: print("reserve for a request"),
    run: async (gate) => {
      const entry = await gate.reserveForRequest(bucketId, subscription, meters)
      requests.push(entry)
      return entry.value.id
    },
    predict: (model, madeAt, result) => {
      const id = typeof result === "string" ? result : undefined
      return predictReserve(model, { id, subscription: name, meters, madeAt, expiresAt: madeAt + 3_600_000 })
    }
  }

  const makeEnd = (): UsageStep => {
    const reservation = pick(reservations.slice(-5))
    if (reservation === undefined) return reserve
    const { id } = reservation
    const owner = subscriptions[reservation.subscription] ?? subscription
    const used: Meters = chance(0.3) ? {} : pick([{ requests: below(13) }, { tokens: below(13) }, meters])
    if (chance(0.3)) {
      return {
        label: `release ${id}`,
        isIdempotent: true,
        run: (gate, options) => gate.release(bucketId, owner, id, options),
        predict: (model, now) => predictEnd(model, id, {}, now)
      }
    }
    return {
      label: `settle ${id} at ${JSON.stringify(used)}`,
      isIdempotent: true,
      run: (gate, options) => gate.settle(bucketId, owner, id, used, options),
      predict: (model, now) => predictEnd(model, id, used, now)
    }
  }
  const makeRequestEnd = (): UsageStep => {
    // Tollgate forgets after a day whether a request was charged.
    const isRemembered = ({ value }: RequestReservation) =>
      model.ended.get(value.id)?.kind === "expired" || now < DateTime.toEpochMillis(value.expiresOn) + dayMs
    const entry = pick(requests.filter(isRemembered).slice(-3))
    if (entry === undefined) return reserveForRequest
    const { id } = entry.value
    return chance(0.7) || model.ended.get(id)?.kind === "expired"
      ? {
          label: `charge the request of ${id}`,
          run: (gate) => gate.chargeRequest(bucketId, entry),
          predict: (model, now) => predictCharge(model, id, now),
          predictAlternative: (model, now) => predictUnexpiredCharge(model, id, now)
        }
      : {
          label: `do not charge the request of ${id}`,
          run: (gate) => gate.releaseRequest(bucketId, entry),
          predict: (model, now) => predictReleaseRequest(model, id, now)
        }
  }
  const makeUpdate = (): UsageStep => {
    if (chance(0.4)) {
      const status = pick(["active", "active", "active", "canceled"] as const)
      return {
        label: `set the status of ${name} to ${status}`,
        readsAfterCommit: true,
        run: (gate) => gate.setStatus(bucketId, subscription, status),
        predict: (model) => ({ ...model, statuses: { ...model.statuses, [name]: status } })
      }
    }
    const max = 20 + below(400)
    const maxima: Meters = pick([{ requests: max, tokens: 150 }, { requests: 100, tokens: max }, { tokens: max }])
    return {
      label: `set the maxima of ${name} to ${JSON.stringify(maxima)}`,
      readsAfterCommit: true,
      run: (gate) => gate.setMaxima(bucketId, subscription, maxima),
      predict: (model) => ({ ...model, maxima: { ...model.maxima, [name]: maxima } })
    }
  }
  const readQuotas: UsageStep = {
    label: `read the quotas of ${name}`,
    run: (gate) => gate.quotas(bucketId, subscription),
    predict: (model) => model
  }
  return pick<() => UsageStep>([
    () => consume,
    () => consume,
    () => record,
    () => reserve,
    () => reserve,
    () => reserveForRequest,
    makeEnd,
    makeEnd,
    makeEnd,
    makeRequestEnd,
    makeRequestEnd,
    makeUpdate,
    () => readQuotas
  ])()
}
