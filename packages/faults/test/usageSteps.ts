/**
 * Random operations on the usage of two subscriptions with four meters, each with what the model predicts.
 */
import { DateTime } from "effect"
import type { Random } from "./random.ts"
import {
  type MeteredSubscription,
  type Meters,
  type RequestReservation,
  toOtherPlan,
  type UsageGate
} from "./usageGate.ts"
import {
  canReturn,
  type Prediction,
  predictAdjust,
  predictCancel,
  predictChangePlan,
  predictCharge,
  predictConsume,
  predictEnd,
  predictRecord,
  predictReleaseRequest,
  predictReserve,
  predictStatus,
  predictUnexpiredCharge,
  predictWithdraw,
  type UsageModel
} from "./usageModel.ts"
import { dayMs } from "./usageReadings.ts"

/** What the steps of a sequence share. */
export interface Sequence {
  readonly bucketId: string
  /** A customer may get another subscription, which continues the usage of the one before. */
  readonly subscriptions: Record<string, MeteredSubscription>
  /** The ids of reservations, oldest first, with the subscription that made each. */
  readonly reservations: Array<{ readonly id: string; readonly owner: MeteredSubscription }>
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
  /** Finds out what the step has created, although its reply may be lost. */
  readonly refresh?: (gate: UsageGate) => Promise<void>
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
  const meters: Meters = pick([
    { requests: amount },
    { tokens: amount },
    { requests: 1, tokens: amount },
    { calls: amount, tokens: 1 },
    { jobs: amount }
  ])
  const print = (label: string) => `${label} ${JSON.stringify(meters)} on ${name}`

  const consume: UsageStep = {
    label: print("consume"),
    isIdempotent: true,
    run: (gate, options) => gate.consume(bucketId, subscription, meters, options),
    predict: (model, now) => predictConsume(model, name, meters, now)
  }
  const consumeForCustomer: UsageStep = {
    ...consume,
    label: print("consume for the customer"),
    run: (gate, options) => gate.consumeForCustomer(bucketId, subscription, meters, options)
  }
  const [adjusted, change] = [pick(["requests", "tokens", "calls", "jobs"]), pick([amount, -amount, -1])]
  const adjust: UsageStep = {
    label: `adjust ${adjusted} by ${change} on ${name}`,
    isIdempotent: true,
    run: (gate, options) => gate.adjust(bucketId, subscription, adjusted, change, options),
    predict: (model, now) => predictAdjust(model, name, adjusted, change, now)
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
      reservations.push({ id, owner: subscription })
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
    const { id, owner } = reservation
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
    // The maxima of a plan that the subscription does not have are not seen.
    if (chance(0.4) || model.plans[name] !== name) {
      const status = pick(["active", "active", "active", "canceled"] as const)
      return {
        label: `set the status of ${name} to ${status}`,
        readsAfterCommit: true,
        run: (gate) => gate.setStatus(bucketId, subscription, status),
        predict: (model, now) => predictStatus(model, name, status, now)
      }
    }
    const max = 20 + below(400)
    const others = { calls: pick([20, 60]), jobs: 80 }
    const maxima: Meters = pick([
      { requests: max, tokens: 150, ...others },
      { requests: 100, tokens: max, ...others },
      { tokens: max, ...others }
    ])
    return {
      label: `set the maxima of ${name} to ${JSON.stringify(maxima)}`,
      readsAfterCommit: true,
      run: (gate) => gate.setMaxima(bucketId, subscription, maxima),
      predict: (model) => ({ ...model, maxima: { ...model.maxima, [name]: maxima } })
    }
  }
  const makePlanChange = (): UsageStep => {
    const at = pick(["now", "period-end", "period-end"] as const)
    const plan = pick([name, toOtherPlan(name)])
    const changePlan: UsageStep = {
      label: `change ${name} to ${plan} at ${at}`,
      isIdempotent: true,
      run: (gate, options) => gate.changePlan(bucketId, subscription, plan, at, options),
      predict: (model, now) => predictChangePlan(model, name, plan, at, now)
    }
    if (model.statuses[name] === "canceled") {
      if (!canReturn(model, name, now)) return readQuotas
      if (chance(0.6)) return changePlan
      const present = model.plans[name] ?? name
      return {
        label: `continue the usage of ${name} with ${present}`,
        isIdempotent: true,
        run: (gate, options) => gate.continueUsage(bucketId, subscription, present, options),
        predict: (model, now) => predictStatus(model, name, "active", now),
        refresh: async (gate) => {
          const newest = await gate.findNewest(bucketId, subscription)
          subscriptions[name] = newest
          // Those of the previous subscription would count by its plan.
          if (newest.id !== subscription.id) requests.splice(0)
        }
      }
    }
    return pick<UsageStep>([
      changePlan,
      changePlan,
      changePlan,
      {
        label: `cancel ${name} at ${at}`,
        isIdempotent: true,
        run: (gate, options) => gate.cancel(bucketId, subscription, at, options),
        predict: (model, now) => predictCancel(model, name, at, now)
      },
      {
        label: `withdraw the pending change of ${name}`,
        run: (gate) => gate.withdrawPendingChange(bucketId, subscription),
        predict: (model) => predictWithdraw(model, name)
      }
    ])
  }
  const readQuotas: UsageStep = {
    label: `read the quotas of ${name}`,
    run: (gate) => gate.quotas(bucketId, subscription),
    predict: (model) => model
  }
  return pick<() => UsageStep>([
    () => consume,
    () => consumeForCustomer,
    () => adjust,
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
    makePlanChange,
    makePlanChange,
    () => readQuotas
  ])()
}
