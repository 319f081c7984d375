/**
 * A clock that is set forward and back, by chance, up to an hour at a time, on every store: for a process, what it has
 * seen expire stays expired, and no period, trial or billing date comes back. A failure prints its seed: `CLOCK_SEED`
 * repeats it.
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
  Store,
  Subscriptions,
  Tollgate,
  Usage
} from "@tollgate/core"
import { makeSubscription } from "@tollgate/testing"
import { DateTime, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { randomFrom, seedFrom } from "./random.ts"
import { openedFor, secret, stores } from "./stores.ts"

const seed = seedFrom("CLOCK_SEED")
const jumps = 300
const hour = 60 * 60 * 1000
const bucket = { accountName: AccountName.make("acme"), bucketName: KeyBucketName.make("b") }

/** Twelve hours before the end of a period; the trial ends with it. */
const start = Date.UTC(2030, 0, 31, 12)
const boundary = Date.UTC(2030, 1, 1)

const walk = Effect.gen(function* () {
  const { below } = randomFrom(seed)
  yield* TestClock.setTime(start)
  const [keys, usage, subscriptions] = [yield* ApiKeys, yield* Usage, yield* Subscriptions]
  const expiries = Array.from({ length: 12 }, (_, index) => start + index * 2 * hour)
  const { value: alice } = yield* (yield* Consumers).create(bucket, {
    name: ConsumerName.make("alice"),
    apiKeys: expiries.map((expiresOn) => ({ expiresOn: DateTime.makeUnsafe(expiresOn) }))
  })
  const values = alice.apiKeys?.map(({ key = "" }) => key) ?? []
  const bucketId = (yield* (yield* MeteringBuckets).create(bucket.accountName)).value.id
  const meters = { requests: { max: 1_000_000 } }
  const plan = (yield* (yield* Plans).create(bucketId, { label: "P", planExternalId: "p", meters })).value
  const anchored = { quotaResetAnchor: DateTime.makeUnsafe(Date.UTC(2030, 0, 1)) }
  const trial = { status: "trialing", trialEndDate: DateTime.makeUnsafe(boundary), trialEndStatus: "canceled" } as const
  const make = <Fields extends object>(fields: Fields) =>
    Effect.map(subscriptions.create(bucketId, makeSubscription(plan.id, "p", fields)), ({ value }) => value.id)
  const paid = yield* make({ ...anchored, subscriptionExternalId: "paid" })
  const tried = yield* make({ ...anchored, ...trial, subscriptionExternalId: "tried" })

  let [now, latest, back, used] = [start, start, 0, 0]
  for (let jump = 1; jump <= jumps; jump++) {
    const told = `seed ${seed}, jump ${jump}`
    // Somewhat more forward than back.
    const by = below(2 * hour) - hour + hour / 5
    if (by < 0) back++
    now = Math.max(start, now + by)
    const wasNext = latest >= boundary
    latest = Math.max(latest, now)
    yield* TestClock.setTime(now)
    for (const [index, value] of values.entries()) {
      expect((yield* keys.verify(bucket, value)).valid, told).toBe((expiries[index] ?? 0) > latest)
    }
    const isNext = latest >= boundary
    used = isNext && !wasNext ? 1 : used + 1
    yield* usage.consume(bucketId, paid, { requests: 1 })
    const quotas = yield* usage.quotas(bucketId, paid)
    expect(quotas.meters["requests"]?.used, told).toBe(used)
    expect(DateTime.toEpochMillis(quotas.periodStart), told).toBe(isNext ? boundary : Date.UTC(2030, 0, 1))
    const [trying, billed] = [yield* subscriptions.get(bucketId, tried), yield* subscriptions.get(bucketId, paid)]
    expect(trying.value.status, told).toBe(isNext ? "canceled" : "trialing")
    const next = billed.value.nextBillingCycle
    expect(next === undefined ? 0 : DateTime.toEpochMillis(next), told).toBe(isNext ? Date.UTC(2030, 2, 1) : boundary)
  }
  expect(latest).toBeGreaterThan(boundary)
  return { back, expired: expiries.filter((expiry) => expiry <= latest).length }
})

describe.each(stores)("on %s", (name, opened) => {
  const emptyStore = openedFor(opened)
  const services = Layer.suspend(() =>
    Tollgate.layer({ secret }).pipe(Layer.provide(Layer.succeed(Store, emptyStore())))
  )

  it.effect(
    "nothing comes back to life",
    () =>
      Effect.gen(function* () {
        const { back, expired } = yield* walk
        console.log(
          `clock, ${name}: seed ${seed}, set ${jumps} times, ${back} of them back: ${expired} keys expired, none came back; one period and one trial ended, and did not come back`
        )
        expect(back).toBeGreaterThan(50)
      }).pipe(Effect.provide(services)),
    60_000
  )
})
