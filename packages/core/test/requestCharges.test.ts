/**
 * A request that reserves its meters is charged at most once, whenever it ends and whatever the store does.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  AccountName,
  type CoreServices,
  MeteringBuckets,
  Plans,
  Reservations,
  type SecretBox,
  Subscriptions,
  Tollgate,
  Usage,
  UsageHistory
} from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { Store } from "@tollgate/store"
import { type FaultyStore, makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall, makeSubscription } from "@tollgate/testing"
import { Effect, Exit, Layer } from "effect"
import { TestClock } from "effect/testing"
import { flushEventLoop } from "./processes.ts"
import { secret } from "./stores.ts"

const accountName = AccountName.make("acme")
const madeOn = Date.parse("2026-03-10T12:30:00Z")

/** A request that has reserved two tokens of ten. */
const reserve = Effect.fnUntraced(function* () {
  yield* TestClock.setTime(madeOn)
  const { id: bucketId } = (yield* (yield* MeteringBuckets).create({ payload: { accountName } })).value
  const plan = yield* (yield* Plans).create({
    params: { bucketId },
    payload: { label: "Plan", planExternalId: "plan", meters: { tokens: { max: 10 } } }
  })
  const subscription = yield* (yield* Subscriptions).create({
    params: { bucketId },
    payload: makeSubscription(plan.value.id, "plan", {})
  })
  const params = { bucketId, subscriptionId: subscription.value.id }
  const [reservations, usage, history] = [yield* Reservations, yield* Usage, yield* UsageHistory]
  const request = { amounts: { tokens: 2 }, rateLimitTakes: [] }
  const reserved = yield* reservations.reserveForCustomer(accountName, bucketId, "alice", request)
  const entry = typeof reserved === "string" ? undefined : reserved.reservation
  if (entry === undefined) return yield* Effect.die("nothing was reserved")
  const readQuota = Effect.map(usage.quotas({ params }), ({ meters }) => meters["tokens"]?.used)
  return {
    settle: reservations.settleRequest(bucketId, entry, entry.value.meters),
    settleAt: (used: Readonly<Record<string, number>>) => reservations.settleRequest(bucketId, entry, used),
    countReleased: (used: Readonly<Record<string, number>>) =>
      reservations.countReleasedRequest(bucketId, entry.value, used),
    release: reservations.releaseRequest(bucketId, entry),
    readQuota,
    /** What the quota says, then the steps with usage. */
    readUsage: Effect.gen(function* () {
      const quota = yield* readQuota
      const { data } = yield* history.series({ params, query: { step: "hour" } })
      const hours = data.flatMap(({ start, meters }) =>
        meters["tokens"] === 0 ? [] : [`${new Date(start.epochMilliseconds).getUTCHours()} h: ${meters["tokens"]}`]
      )
      return [quota, ...hours]
    })
  }
})

const run = <A, E>(test: (faulty: FaultyStore) => Effect.Effect<A, E, CoreServices | SecretBox>) =>
  Effect.suspend(() => {
    const faulty = makeFaultyStore(MemoryStore.open(), isBackgroundCall)
    const services = Tollgate.layer({ secret }).pipe(Layer.provide(Layer.succeed(Store, faulty.store)))
    return Effect.provide(test(faulty), services)
  })

describe("a request that reserves", () => {
  it.effect("counts in the hour in which it came, once, also if it is settled twice", () =>
    run(() =>
      Effect.gen(function* () {
        const { settle, release, readUsage } = yield* reserve()
        assert.deepStrictEqual(yield* readUsage, [2])
        yield* TestClock.adjust("50 minutes")
        yield* settle
        yield* settle
        yield* release
        assert.deepStrictEqual(yield* readUsage, [2, "12 h: 2"])
      })
    )
  )

  it.effect("is never charged after it was released", () =>
    run(() =>
      Effect.gen(function* () {
        const { settle, release, readUsage } = yield* reserve()
        yield* release
        yield* settle
        yield* TestClock.adjust("2 hours")
        yield* settle
        assert.deepStrictEqual(yield* readUsage, [0])
      })
    )
  )

  it.effect("counts once if it is settled after its reservation has expired and was given back", () =>
    run(() =>
      Effect.gen(function* () {
        const { settle, readQuota, readUsage } = yield* reserve()
        yield* TestClock.adjust("61 minutes")
        assert.strictEqual(yield* readQuota, 0)
        yield* Effect.all([settle, settle], { concurrency: 2 })
        yield* settle
        assert.deepStrictEqual(yield* readUsage, [2, "13 h: 2"])
      })
    )
  )

  it.effect("counts what it has used, and gives the rest back, in time and later", () =>
    Effect.forEach(
      [
        [0, { tokens: 1 }, [1, "12 h: 1"]],
        [0, { tokens: 0 }, [0]],
        [61, { tokens: 1 }, [1, "13 h: 1"]]
      ] as const,
      ([minutes, used, expected]) =>
        run(() =>
          Effect.gen(function* () {
            const { settleAt, readQuota, readUsage } = yield* reserve()
            yield* TestClock.adjust(`${minutes} minutes`)
            assert.strictEqual(yield* readQuota, minutes === 0 ? 2 : 0)
            yield* settleAt(used)
            yield* settleAt({ tokens: 2 })
            assert.deepStrictEqual(yield* readUsage, [...expected])
          })
        )
    )
  )

  it.effect("counts once what is settled after it was released, also above the maximum", () =>
    run(() =>
      Effect.gen(function* () {
        const { release, countReleased, readUsage } = yield* reserve()
        yield* release
        yield* countReleased({})
        assert.deepStrictEqual(yield* readUsage, [0])
        yield* Effect.all([countReleased({ tokens: 11 }), countReleased({ tokens: 11 })], { concurrency: 2 })
        yield* countReleased({ tokens: 11 })
        assert.deepStrictEqual(yield* readUsage, [11, "12 h: 11"])
      })
    )
  )

  it.effect("counts in its own hour if its reservation has expired, but was not given back yet", () =>
    run(() =>
      Effect.gen(function* () {
        const { settle, readUsage } = yield* reserve()
        yield* TestClock.adjust("61 minutes")
        yield* settle
        yield* settle
        assert.deepStrictEqual(yield* readUsage, [2, "12 h: 2"])
      })
    )
  )

  it.effect("counts once if it ends days later, when the end of its reservation is forgotten", () =>
    run(() =>
      Effect.gen(function* () {
        const { settle, readQuota } = yield* reserve()
        yield* TestClock.adjust("61 minutes")
        assert.strictEqual(yield* readQuota, 0)
        yield* TestClock.adjust("3 days")
        yield* settle
        yield* settle
        assert.strictEqual(yield* readQuota, 2)
      })
    )
  )

  it.effect("counts once if the reply of any store call is lost and it is settled again", () =>
    Effect.forEach(
      ["0 minutes", "61 minutes"] as const,
      (duration) =>
        Effect.forEach([1, 2, 3, 4, 5], (call) =>
          run((faulty) =>
            Effect.gen(function* () {
              const { settle, readQuota } = yield* reserve()
              yield* TestClock.adjust(duration)
              yield* readQuota
              // Background jobs that the new time has started must not take the fault.
              yield* Effect.repeat(flushEventLoop, { times: 50 })
              faulty.injectAt(call, "lose-reply")
              const exit = yield* Effect.exit(settle)
              // A settlement tolerates that some replies are lost, but not the first.
              if (call === 1) assert.isTrue(Exit.isFailure(exit), duration)
              if (faulty.calls() < call) assert.isTrue(Exit.isSuccess(exit), duration)
              faulty.injectAt(0, "fail")
              yield* settle
              assert.strictEqual(yield* readQuota, 2, `${duration}, call ${call}`)
            })
          )
        ),
      { discard: true }
    )
  )

  it.effect("gives back once if the reply of the store is lost and it is released again", () =>
    run((faulty) =>
      Effect.gen(function* () {
        const { release, readUsage } = yield* reserve()
        faulty.injectAt(1, "lose-reply")
        assert.isTrue(Exit.isFailure(yield* Effect.exit(release)))
        yield* release
        assert.deepStrictEqual(yield* readUsage, [0])
      })
    )
  )
})
