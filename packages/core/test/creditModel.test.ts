/**
 * Random grants, counts, reservations and changes of a subscription by two processes, compared with a model.
 */
import { assert, describe, it } from "@effect/vitest"
import { Customers, Grants, Reservations, Subscriptions, Tollgate, Usage } from "@tollgate/core/effect"
import { DateTime, Effect, Exit, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import * as Period from "../src/metering/model/Period.ts"
import { sweepReservations } from "../src/metering/reservations/sweepReservations.ts"
import { CreditModel, type ModelGrant, type ModelPlan } from "./creditModel.ts"
import { secret, stores } from "./stores.ts"
import { dayMs, hourMs, setUp, startOn, sum, useSubscription } from "./usageServices.ts"

/** Seeded, so that a failure can be repeated. */
const makeRandom = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const unlimited = Number.POSITIVE_INFINITY
const plans: Readonly<Record<string, ModelPlan>> = {
  hard: { max: 40, overageMax: 0 },
  prepaid: { max: 0, overageMax: 0 },
  soft: { max: 30, overageMax: 25 },
  open: { max: 20, overageMax: unlimited },
  large: { max: 90, overageMax: 0 }
}

const toMeter = ({ max, overageMax }: ModelPlan) => ({
  max,
  ...(overageMax === 0 ? {} : { isSoftLimit: true, ...(overageMax === unlimited ? {} : { overageMax }) })
})

/** What a process can do. */
const useCredit = Effect.fnUntraced(function* (bucketId: string, getSubscriptionId: () => string) {
  const [customers, grants, usage] = [yield* Customers, yield* Grants, yield* Usage]
  const [reservations, subscriptions] = [yield* Reservations, yield* Subscriptions]
  const params = { bucketId, customerKey: "alice" }
  const ofSubscription = () => ({ bucketId, subscriptionId: getSubscriptionId() })
  const toPayload = (tokens: number) => ({ meters: { tokens } })
  return {
    consume: (amount: number) => customers.consume({ params, payload: toPayload(amount) }),
    consumeById: (amount: number) => usage.consume({ params: ofSubscription(), payload: toPayload(amount) }),
    record: (amount: number) =>
      usage.record({ params: { bucketId }, payload: { customerKey: "alice", ...toPayload(amount) } }),
    reserve: (amount: number, expiresIn: number) =>
      customers.reserve({ params, payload: { ...toPayload(amount), expiresIn } }),
    settle: (reservationId: string, amount: number, subscriptionId: string) =>
      amount === 0
        ? reservations.release({ params: { bucketId, subscriptionId, reservationId } })
        : customers.settle({ params: { ...params, reservationId }, payload: toPayload(amount) }),
    grant: (payload: Parameters<Grants["Service"]["create"]>[0]["payload"]) => grants.create({ params, payload }),
    voidGrant: (grantId: string) => grants.void({ params: { ...params, grantId } }),
    listGrants: grants.list({ params, query: { limit: 1_000, offset: 0 } }),
    override: (max: number | null) =>
      subscriptions.update({
        params: ofSubscription(),
        payload: { overrides: max === null ? null : { meters: { tokens: { max } } } }
      }),
    changePlan: (name: string) => customers.changePlan({ params, payload: { planExternalIds: [name], at: "now" } }),
    cancel: customers.cancel({ params, payload: { at: "now" } }),
    quota: Effect.suspend(() =>
      Effect.map(usage.quotas({ params: ofSubscription() }), ({ meters }) => meters["tokens"])
    ),
    customer: Effect.map(customers.get({ params }), ({ meters }) => meters["tokens"])
  }
})

const start = "2027-01-31T10:17:23.456Z"
const jumps = [1_000, 90_000, 30 * 60_000, hourMs, 5 * hourMs, dayMs, 3 * dayMs, 40 * dayMs]

describe.each(stores)("credit, on %s", (name, store) => {
  const isEmbedded = ["memory", "SQLite"].includes(name)
  const steps = isEmbedded ? 200 : 2_000
  const seeds = isEmbedded ? [1, 2] : [3]

  it.effect.each(seeds.map((seed) => [seed] as const))(
    "is what a model says after every step, seed %i",
    ([seed]) =>
      Effect.gen(function* () {
        const random = makeRandom(seed)
        const bucket = yield* setUp({ tokens: 0 })
        const { bucketId } = bucket
        for (const [planExternalId, plan] of Object.entries(plans)) {
          yield* bucket.createPlanWith(planExternalId, { tokens: toMeter(plan) })
        }
        const subscription = yield* bucket.subscribe({})
        let id = subscription.id
        const ids = [id]
        const reservedBy = new Map<string, string>()
        const here = yield* useCredit(bucketId, () => id)
        yield* here.changePlan("hard")
        const context = yield* Layer.build(Layer.fresh(Tollgate.layer({ secret, background: false })))
        const there = yield* Effect.provideContext(
          useCredit(bucketId, () => id),
          context
        )
        const periodsFrom = (anchor: DateTime.Utc) => (time: number) =>
          Period.periodAt(anchor, "monthly", DateTime.makeUnsafe(time)).start.epochMilliseconds
        let plan = plans["hard"] as ModelPlan
        let isCanceled = false
        const model = new CreditModel(Date.parse(start), plan, periodsFrom(DateTime.makeUnsafe(start)))
        const counts: Record<string, number> = {}

        const check = Effect.fnUntraced(function* (label: string) {
          const process = random(2) === 0 ? here : there
          const expected = model.read()
          if (!isCanceled) {
            const quota = yield* process.quota
            const { remaining = 0, credit = 0, overage = 0 } = quota ?? {}
            assert.deepStrictEqual(
              { remaining, credit, overage },
              { remaining: expected.remaining, credit: expected.credit, overage: expected.overage },
              label
            )
            const meter = yield* process.customer
            assert.strictEqual(meter?.allowance.used, expected.plans, `${label}: allowance`)
            assert.strictEqual(meter?.remaining, expected.remaining, `${label}: customer`)
          } else yield* process.quota
          const { data } = yield* process.listGrants
          assert.deepStrictEqual(
            data.map(({ id, used, remaining, state }) => ({ id: String(id), used, remaining, state: String(state) })),
            model.grants.map((grant) => ({
              id: grant.id,
              used: grant.used,
              remaining: grant.amount - grant.used,
              state: model.stateOf(grant)
            })),
            `${label}: grants`
          )
        })

        for (let step = 0; step < steps; step++) {
          const process = random(2) === 0 ? here : there
          if (random(4) === 0) yield* TestClock.adjust(random((jumps[random(jumps.length)] ?? 0) + 1))
          const now = DateTime.toEpochMillis(yield* DateTime.now)
          model.moveTo(now)
          // Reads give back only what is reserved in the present period.
          yield* sweepReservations(bucketId, DateTime.makeUnsafe(now))
          const amount = 1 + random(12)
          const kind = [
            "consume",
            "consume",
            "byId",
            "record",
            "reserve",
            "reserve",
            "settle",
            "settle",
            "grant",
            "void",
            "plan",
            "override",
            "cancel"
          ][random(13)] as string
          const label = `seed ${seed}, step ${step}, ${new Date(now).toISOString()}: ${kind} ${amount}`
          yield* check(`${label}, before`)
          let outcome = "done"
          switch (kind) {
            case "consume":
            case "byId": {
              const count =
                kind === "byId"
                  ? Effect.map(Effect.exit(process.consumeById(amount)), Exit.isSuccess)
                  : Effect.map(Effect.exit(process.consume(amount)), Exit.isSuccess)
              const isAllowed = yield* count
              assert.strictEqual(isAllowed, !isCanceled && model.canTake(amount), label)
              if (!isAllowed) outcome = "refused"
              else {
                model.take(amount)
                model.settled += amount
              }
              break
            }
            case "record":
              if (isCanceled) break
              yield* process.record(amount)
              model.take(amount)
              model.settled += amount
              break
            case "reserve": {
              const expiresIn = 1 + random(3_600)
              const result = yield* Effect.result(process.reserve(amount, expiresIn))
              assert.strictEqual(Result.isSuccess(result), !isCanceled && model.canTake(amount), label)
              if (Result.isSuccess(result)) {
                reservedBy.set(result.success.value.id, id)
                model.reserve(result.success.value.id, amount, now + expiresIn * 1_000)
              } else outcome = "refused"
              break
            }
            case "settle": {
              const reservation = model.reservations[random(model.reservations.length)]
              if (reservation === undefined) break
              const used = random(reservation.amount + 1)
              yield* process.settle(reservation.id, used, reservedBy.get(reservation.id) ?? "")
              model.end(reservation, used)
              break
            }
            case "grant": {
              const effectiveOn = now + (random(3) === 0 ? random(3 * dayMs) : -1)
              const expiresOn = random(2) === 0 ? unlimited : Math.max(now, effectiveOn) + 1 + random(5 * dayMs)
              const size = 1 + random(30)
              const priority = random(3) === 0 ? random(256) : 100
              const created = yield* process.grant({
                meter: "tokens",
                amount: size,
                ...(priority === 100 ? {} : { priority }),
                effectiveOn: DateTime.makeUnsafe(effectiveOn),
                ...(expiresOn === unlimited ? {} : { expiresOn: DateTime.makeUnsafe(expiresOn) })
              } as never)
              const grant: ModelGrant = {
                ...{ id: created.id, amount: size, priority, effectiveOn, expiresOn, createdOn: now },
                ...{ used: 0, isVoided: false, hasExpired: false }
              }
              model.grants.push(grant)
              if (effectiveOn <= now) model.endStack()
              break
            }
            case "void": {
              const grant = model.grants[random(model.grants.length)]
              if (grant === undefined) break
              const state = model.stateOf(grant)
              yield* process.voidGrant(grant.id)
              if (state === "voided" || state === "expired") break
              grant.isVoided = true
              model.endStack()
              break
            }
            case "plan": {
              const names = Object.keys(plans)
              const planName = names[random(names.length)] as string
              yield* process.override(null)
              const { value: changed } = yield* process.changePlan(planName)
              if (changed.id !== id) {
                // It was canceled in an earlier period.
                id = changed.id
                ids.push(id)
                model.subscribe(periodsFrom(changed.quotaResetAnchor))
              }
              plan = plans[planName] as ModelPlan
              isCanceled = false
              model.changePlan(plan)
              break
            }
            case "override": {
              const max = random(60)
              yield* process.override(max)
              model.changePlan({ ...plan, max })
              break
            }
            case "cancel":
              if (random(3) > 0 || isCanceled) break
              yield* process.cancel
              isCanceled = true
              model.endStack()
              break
          }
          counts[`${kind} ${outcome}`] = (counts[`${kind} ${outcome}`] ?? 0) + 1
          yield* check(label)
        }
        let used = 0
        for (const each of ids) {
          const { series } = yield* useSubscription(bucketId, each)
          used += sum(yield* series("period", { from: start, meter: "tokens" }), "tokens")
        }
        assert.strictEqual(used, model.settled, "history")
        for (const outcome of ["consume done", "consume refused", "settle done", "void done"]) {
          assert.isAbove(counts[outcome] ?? 0, 0, outcome)
        }
      }).pipe(startOn(store)(start, { background: false })),
    600_000
  )
})
