/**
 * Sets the clock forward and back at random, by up to an hour at a time, on every store. Within one process, expired
 * keys stay expired, and no period, trial or billing date goes back. A failure prints its seed; set `CLOCK_SEED` to
 * repeat it.
 */
import { describe, it } from "@effect/vitest"
import {
  AccountName,
  ApiKeys,
  ConsumerName,
  Consumers,
  KeyBucketName,
  MeteringBuckets,
  Plans,
  Subscriptions,
  Tollgate,
  Usage
} from "@tollgate/core/effect"
import { Store } from "@tollgate/store"
import { makeSubscription } from "@tollgate/testing"
import { DateTime, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { makeRandom, readSeed } from "./random.ts"
import { secret, setUpStore, stores } from "./stores.ts"

const seed = readSeed("CLOCK_SEED")
const jumps = 300
const hour = 60 * 60 * 1000
const bucket = { accountName: AccountName.make("acme"), bucketName: KeyBucketName.make("b") }

/** Twelve hours before the end of the period and of the trial. */
const start = Date.UTC(2030, 0, 31, 12)
const boundary = Date.UTC(2030, 1, 1)

const runJumps = Effect.gen(function* () {
  const { below } = makeRandom(seed)
  // Ten minutes later, the processes trust the time of their start.
  yield* TestClock.setTime(start - hour)
  const [keys, usage, subscriptions] = [yield* ApiKeys, yield* Usage, yield* Subscriptions]
  const expiries = Array.from({ length: 12 }, (_, index) => start + index * 2 * hour)
  const { value: alice } = yield* (yield* Consumers).create({
    params: bucket,
    payload: {
      name: ConsumerName.make("alice"),
      apiKeys: expiries.map((expiresOn) => ({ expiresOn: DateTime.makeUnsafe(expiresOn) }))
    }
  })
  const values = alice.apiKeys?.map(({ key = "" }) => key) ?? []
  const bucketId = (yield* (yield* MeteringBuckets).create({
    payload: { accountName: bucket.accountName }
  })).value.id
  const plan = (yield* (yield* Plans).create({
    params: { bucketId },
    payload: { label: "P", planExternalId: "p", meters: { requests: { max: 1_000_000 } } }
  })).value
  const anchored = { quotaResetAnchor: DateTime.makeUnsafe(Date.UTC(2030, 0, 1)) }
  const trial = { status: "trialing", trialEndDate: DateTime.makeUnsafe(boundary), trialEndStatus: "canceled" } as const
  const createSubscription = <Fields extends object>(fields: Fields) =>
    Effect.map(
      subscriptions.create({
        params: { bucketId },
        payload: makeSubscription(plan.id, "p", fields)
      }),
      ({ value }) => value.id
    )
  const paid = yield* createSubscription({ ...anchored, subscriptionExternalId: "paid" })
  const onTrial = yield* createSubscription({ ...anchored, ...trial, subscriptionExternalId: "trial" })
  const getSubscription = (subscriptionId: string) => subscriptions.get({ params: { bucketId, subscriptionId } })

  yield* TestClock.setTime(start)
  let [now, latest, backwardJumps, used] = [start, start, 0, 0]
  for (let jump = 1; jump <= jumps; jump++) {
    const label = `seed ${seed}, jump ${jump}`
    // The clock moves forward on average.
    const by = below(2 * hour) - hour + hour / 5
    if (by < 0) backwardJumps++
    now = Math.max(start, now + by)
    const wasInNextPeriod = latest >= boundary
    latest = Math.max(latest, now)
    yield* TestClock.setTime(now)
    for (const [index, value] of values.entries()) {
      expect((yield* keys.verifyKey(bucket, value)).valid, label).toBe((expiries[index] ?? 0) > latest)
    }
    const isInNextPeriod = latest >= boundary
    used = isInNextPeriod && !wasInNextPeriod ? 1 : used + 1
    yield* usage.consumeMeters(bucketId, paid, { requests: 1 })
    const quotas = yield* usage.quotas({ params: { bucketId, subscriptionId: paid } })
    expect(quotas.meters["requests"]?.used, label).toBe(used)
    expect(DateTime.toEpochMillis(quotas.periodStart), label).toBe(isInNextPeriod ? boundary : Date.UTC(2030, 0, 1))
    const [trialing, billed] = [yield* getSubscription(onTrial), yield* getSubscription(paid)]
    expect(trialing.value.status, label).toBe(isInNextPeriod ? "canceled" : "trialing")
    const next = billed.value.nextBillingCycle
    expect(next === undefined ? 0 : DateTime.toEpochMillis(next), label).toBe(
      isInNextPeriod ? Date.UTC(2030, 2, 1) : boundary
    )
  }
  expect(latest).toBeGreaterThan(boundary)
  return { backwardJumps, expired: expiries.filter((expiry) => expiry <= latest).length }
})

describe.each(stores)("on %s", (name, layer) => {
  const makeEmptyStore = setUpStore(layer)
  const services = Layer.suspend(() =>
    Tollgate.layer({ secret }).pipe(Layer.provide(Layer.succeed(Store, makeEmptyStore())))
  )

  it.effect(
    "expired keys, periods and trials stay expired when the clock goes back",
    () =>
      Effect.gen(function* () {
        const { backwardJumps, expired } = yield* runJumps
        console.log(
          `clock, ${name}: seed ${seed}, ${jumps} jumps, ${backwardJumps} of them backward; ${expired} keys, one period and one trial expired, and stayed expired`
        )
        expect(backwardJumps).toBeGreaterThan(50)
      }).pipe(Effect.provide(services)),
    60_000
  )
})
