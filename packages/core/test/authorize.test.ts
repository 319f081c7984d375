import { assert, describe, layer } from "@effect/vitest"
import {
  AccountName,
  ApiKeys,
  type AuthorizeOptions,
  ConsumerName,
  Consumers,
  KeyBucketName,
  MeteringBuckets,
  makeAuthorize,
  Plans,
  Reservations,
  Subscriptions,
  Tollgate,
  Usage
} from "@tollgate/core/effect"
import { Store } from "@tollgate/store"
import { DateTime, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { secret, storesOnCallersClock } from "./stores.ts"

const acme = AccountName.make("acme")

let count = 0

/** A consumer with a key, a plan and a subscription, each with a name of its own. */
const setUp = Effect.fnUntraced(function* (plan: object = {}, key: object = {}) {
  const bucket = { accountName: acme, bucketName: KeyBucketName.make(`bucket-${++count}`) }
  const name = ConsumerName.make(`alice-${count}`)
  const [consumers, keys, plans, subscriptions] = [yield* Consumers, yield* ApiKeys, yield* Plans, yield* Subscriptions]
  yield* consumers.create({ params: bucket, query: {}, payload: { name } })
  const created = yield* keys.create({ params: { ...bucket, consumerName: name }, payload: key })
  const { id: bucketId } = (yield* (yield* MeteringBuckets).create({ payload: { accountName: acme } })).value
  const planExternalId = `plan-${count}`
  const createdPlan = yield* plans.create({
    params: { bucketId },
    payload: { label: "Plan", planExternalId, meters: { requests: { max: 5 }, tokens: { max: 5 } }, ...plan }
  })
  const subscription = yield* subscriptions.create({
    params: { bucketId },
    payload: {
      planIds: [createdPlan.value.id],
      planExternalIds: [planExternalId],
      status: "active",
      type: "periodic",
      renewalStrategy: "monthly",
      region: "us-east1",
      customerKey: name,
      subscriptionExternalId: `subscription-${count}`,
      customerExternalId: "c"
    }
  })
  const authorize = makeAuthorize({ store: yield* Store, keys, usage: yield* Usage, reservations: yield* Reservations })
  const keyParams = { ...bucket, consumerName: name, keyId: created.value.id }
  const subscriptionParams = { bucketId, subscriptionId: subscription.value.id }
  return {
    bucket,
    key: created.value.key ?? "",
    planParams: { bucketId, planId: createdPlan.value.id },
    authorize: (options?: AuthorizeOptions) => authorize(bucket, created.value.key ?? "", options),
    authorizeKey: (key: string, options?: AuthorizeOptions) => authorize(bucket, key, options),
    meteringBucketId: bucketId,
    setStatus: (status: "active" | "canceled") =>
      subscriptions.update({ params: subscriptionParams, query: {}, payload: { status } }),
    updateKey: (patch: object) => keys.update({ params: keyParams, query: {}, payload: patch }),
    createKey: (input: object) => keys.create({ params: { ...bucket, consumerName: name }, payload: input }),
    quotas: Effect.flatMap(Usage, (usage) => usage.quotas({ params: subscriptionParams }))
  }
})

/** A token bucket, which must agree with the store's algorithm. Its credit is in microseconds. */
class TokenBucket {
  #credit: number
  #updatedAt: number
  readonly #interval: number
  readonly #burst: number

  constructor(limit: number, perMs: number, burst: number, now: number) {
    this.#interval = Math.ceil((perMs * 1000) / limit)
    this.#burst = burst
    this.#credit = burst * this.#interval
    this.#updatedAt = now
  }

  available(now: number): number {
    this.#credit = Math.min(this.#burst * this.#interval, this.#credit + (now - this.#updatedAt) * 1000)
    this.#updatedAt = now
    return Math.floor(this.#credit / this.#interval)
  }

  take(cost: number): void {
    this.#credit -= cost * this.#interval
  }
}

/** Seeded, so that a failure can be repeated. */
const makeRandom = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

describe.each(storesOnCallersClock)("authorize, on %s", (_, store) => {
  layer(Tollgate.layer({ secret }).pipe(Layer.provideMerge(store)), { timeout: "30 seconds" })((it) => {
    it.effect("decides as one: in any combination, the first refusal wins and nothing is taken or counted", () =>
      Effect.gen(function* () {
        const steady = { limit: 5, per: 2_000, burst: 4 }
        yield* TestClock.setTime(1_800_000_000_000)
        const { authorize, meteringBucketId, setStatus, updateKey, quotas } = yield* setUp(
          { rateLimits: { plan: steady } },
          { scopes: ["orders:*"], ipAllow: ["203.0.113.0/24"] }
        )
        const random = makeRandom(7)
        let now = 1_800_000_000_000
        let isActive = true
        let isDisabled = false
        const used = { requests: 0, tokens: 0 }
        const max = { requests: 5, tokens: 5 }
        const buckets = new Map<string, TokenBucket>()
        const numbers = { mine: [3, 1_000, 2], shared: [2, 500, 3], plan: [5, 2_000, 4] } as const
        const getBucket = (partition: string, name: keyof typeof numbers, subject: string) => {
          const [limit, per, burst] = numbers[name]
          const key = `${partition} ${name} ${subject}`
          const bucket = buckets.get(key) ?? new TokenBucket(limit, per, burst, now)
          buckets.set(key, bucket)
          return bucket
        }
        const reasons = new Map<string, number>()
        for (let step = 0; step < 1_000; step++) {
          if (random(10) === 0) {
            isActive = !isActive || random(2) === 0
            yield* setStatus(isActive ? "active" : "canceled")
          }
          if (random(20) === 0) {
            isDisabled = !isDisabled
            yield* updateKey({ disabled: isDisabled })
          }
          const wait = random(2) === 0 ? 0 : random(350)
          now += wait
          yield* TestClock.adjust(wait)
          if (random(40) === 0) {
            // A month later, the quotas are full again.
            now += 32 * 86_400_000
            yield* TestClock.adjust("32 days")
            used.requests = 0
            used.tokens = 0
          }

          const scopes = [[], ["orders:read"], ["orders:read", "orders:write"], ["users:read"]][random(4)] ?? []
          const ip = step % 16 === 15 ? "198.51.100.1" : "203.0.113.7"
          const value = ["x", "y"][random(2)] ?? "x"
          const cost = 1 + random(3)
          const withMine = random(2) === 0
          const withShared = random(2) === 0
          const isMetered = random(4) > 0
          const meters: Partial<Record<"requests" | "tokens", number>> = {
            ...(random(2) === 0 ? { requests: 1 + random(2) } : {}),
            ...(random(2) === 0 ? { tokens: 1 + random(2) } : {})
          }
          const hasMeters = Object.keys(meters).length > 0
          const partition = isMetered ? "metering" : "keys"
          const limits = [
            ...(withMine ? [{ name: "mine", cost: 1, bucket: getBucket(partition, "mine", "") }] : []),
            ...(withShared ? [{ name: "shared", cost, bucket: getBucket(partition, "shared", value) }] : []),
            ...(isMetered ? [{ name: "plan", cost: 1, bucket: getBucket(partition, "plan", "") }] : [])
          ]
          const exceeding = (["requests", "tokens"] as const).find(
            (meter) => meters[meter] !== undefined && used[meter] + meters[meter] > max[meter]
          )
          const refusing = limits.find(({ bucket, cost }) => bucket.available(now) < cost)
          const expected = isDisabled
            ? "disabled-key"
            : ip !== "203.0.113.7"
              ? "ip-not-allowed"
              : scopes.some((scope) => !scope.startsWith("orders:"))
                ? "missing-scope"
                : isMetered && !isActive
                  ? "subscription-not-active"
                  : refusing !== undefined
                    ? `rate-limited ${refusing.name}`
                    : isMetered && exceeding !== undefined
                      ? `over-quota ${exceeding}`
                      : "allowed"

          const result = yield* authorize({
            ip,
            scopes,
            rateLimits: [
              ...(withMine ? [{ name: "mine", limit: 3, per: "second", burst: 2 } as const] : []),
              ...(withShared ? [{ name: "shared", limit: 2, per: 500, burst: 3, by: { value }, cost }] : [])
            ],
            ...(isMetered ? { metering: { meteringBucketId, ...(hasMeters ? { meters } : {}) } } : {})
          })
          const actual = result.allowed
            ? "allowed"
            : result.reason === "rate-limited"
              ? `rate-limited ${result.limit}`
              : result.reason === "over-quota"
                ? `over-quota ${result.meter}`
                : result.reason
          assert.strictEqual(actual, expected, `step ${step}`)
          reasons.set(actual, (reasons.get(actual) ?? 0) + 1)
          if (result.allowed) {
            for (const { bucket, cost } of limits) bucket.take(cost)
            if (isMetered) {
              used.requests += meters.requests ?? 0
              used.tokens += meters.tokens ?? 0
            }
            assert.deepStrictEqual(
              (result.rateLimits ?? []).map(({ name, remaining }) => [name, remaining]),
              limits.map(({ name, bucket }) => [name, bucket.available(now)])
            )
          }
          const { meters: counted } = yield* quotas
          assert.deepStrictEqual({ requests: counted["requests"]?.used, tokens: counted["tokens"]?.used }, used)
        }
        for (const reason of [
          "allowed",
          "disabled-key",
          "ip-not-allowed",
          "missing-scope",
          "subscription-not-active",
          "rate-limited mine",
          "rate-limited shared",
          "rate-limited plan",
          "over-quota requests",
          "over-quota tokens"
        ]) {
          assert.isAbove(reasons.get(reason) ?? 0, 1, `${reason} occurs`)
        }
      })
    )

    it.effect("names the reason of a refusal in process", () =>
      Effect.gen(function* () {
        const { authorize, authorizeKey, updateKey } = yield* setUp()
        const getReason = (options?: AuthorizeOptions) =>
          Effect.map(authorize(options), (result) => (result.allowed ? "allowed" : result.reason))
        assert.deepStrictEqual(yield* authorizeKey("short"), { allowed: false, reason: "malformed-key" })
        assert.deepStrictEqual(yield* authorizeKey("a".repeat(40)), { allowed: false, reason: "unknown-key" })
        assert.strictEqual(yield* getReason(), "allowed")
        yield* updateKey({ disabled: true })
        assert.strictEqual(yield* getReason(), "disabled-key")
        yield* updateKey({ disabled: false })
        assert.strictEqual(yield* getReason({ scopes: ["a"] }), "missing-scope")
        yield* updateKey({ expiresOn: DateTime.add(yield* DateTime.now, { seconds: 1 }) })
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(yield* getReason(), "expired-key")
      })
    )

    it.effect("is exact over a year on the test clock: one a minute, no drift", () =>
      Effect.gen(function* () {
        const { authorize } = yield* setUp()
        const options = { rateLimit: { limit: 1, per: "minute" } } as const
        let allowed = 0
        for (let day = 0; day < 365; day++) {
          for (let attempt = 0; attempt < 3; attempt++) {
            if ((yield* authorize(options)).allowed) allowed++
            yield* TestClock.adjust(attempt === 1 ? 86_400_000 - 60_000 - 59_999 : attempt === 0 ? 59_999 : 60_000)
          }
        }
        // Of the three attempts of each day, the second comes one millisecond too early.
        assert.strictEqual(allowed, 2 * 365)
      })
    )

    it.effect("sees the changes of another process at once", () =>
      Effect.gen(function* () {
        const mine = yield* setUp({ rateLimits: { steady: { limit: 1, per: "day" } } }, { scopes: ["orders:read"] })
        const other = yield* Layer.build(Layer.fresh(Tollgate.layer({ secret })))
        const otherServices = Effect.provideContext(
          Effect.all({ store: Store, keys: ApiKeys, usage: Usage, reservations: Reservations, plans: Plans }),
          other
        )
        const { plans, ...services } = yield* otherServices
        const authorizeThere = makeAuthorize(services)
        const options = { scopes: ["orders:read"], metering: { meteringBucketId: mine.meteringBucketId } }
        const there = Effect.map(authorizeThere(mine.bucket, mine.key, options), (result) =>
          result.allowed ? "allowed" : result.reason
        )
        const here = Effect.map(mine.authorize(options), (result) => (result.allowed ? "allowed" : result.reason))
        assert.deepStrictEqual([yield* there, yield* here, yield* there], ["allowed", "rate-limited", "rate-limited"])
        const updateThere = (rateLimits: Readonly<Record<string, { limit: number; per: "day" }>>) =>
          plans.update({ params: mine.planParams, query: {}, payload: { rateLimits } })
        yield* updateThere({ steady: { limit: 2, per: "day" } })
        assert.deepStrictEqual([yield* here, yield* there, yield* here], ["allowed", "allowed", "rate-limited"])
        yield* updateThere({})
        assert.deepStrictEqual([yield* here, yield* there], ["allowed", "allowed"])
        yield* mine.updateKey({ scopes: ["users:read"] })
        assert.strictEqual(yield* there, "missing-scope")
        yield* mine.updateKey({ scopes: ["*"] })
        assert.strictEqual(yield* there, "allowed")
        yield* mine.updateKey({ disabled: true })
        assert.strictEqual(yield* there, "disabled-key")
        yield* mine.updateKey({ disabled: false, expiresOn: DateTime.add(yield* DateTime.now, { minutes: -1 }) })
        assert.strictEqual(yield* there, "expired-key")
        yield* mine.updateKey({ expiresOn: null })
        yield* mine.setStatus("canceled")
        assert.strictEqual(yield* there, "subscription-not-active")
        yield* mine.setStatus("active")
        assert.strictEqual(yield* there, "allowed")
      })
    )

    it.effect("counts limits by consumer, key or value, and separately for other numbers", () =>
      Effect.gen(function* () {
        const { authorize, authorizeKey, createKey } = yield* setUp()
        const second = (yield* createKey({})).value.key ?? ""
        const once = (fields: object) => ({ rateLimit: { limit: 1, per: "day", ...fields } }) as const
        const isAllowed = (result: { readonly allowed: boolean }) => result.allowed
        assert.isTrue(isAllowed(yield* authorize(once({}))))
        assert.isFalse(isAllowed(yield* authorizeKey(second, once({}))), "keys share the consumer's limit")
        assert.isTrue(isAllowed(yield* authorize(once({ name: "undefined" }))), "a name is not the absence of one")
        assert.isTrue(isAllowed(yield* authorize(once({ by: "key" }))))
        assert.isTrue(isAllowed(yield* authorizeKey(second, once({ by: "key" }))))
        assert.isFalse(isAllowed(yield* authorize(once({ by: "key" }))))
        for (const value of ["192.0.2.1", "x".repeat(5_000), "\ud800", "\ud801"]) {
          assert.isTrue(isAllowed(yield* authorize(once({ by: { value } }))))
          assert.isFalse(isAllowed(yield* authorizeKey(second, once({ by: { value } }))))
        }
        assert.isTrue(isAllowed(yield* authorize(once({ burst: 2 }))), "a changed limit starts afresh")
        const twice = { name: "same", limit: 3, per: "day" } as const
        const merged = yield* authorize({ rateLimits: [twice, { ...twice, cost: 2 }] })
        assert.strictEqual(merged.allowed ? merged.rateLimits?.[0]?.remaining : undefined, 1)
      })
    )

    it.effect("follows options that change between calls, and refuses those that become invalid", () =>
      Effect.gen(function* () {
        const { authorize } = yield* setUp()
        const rateLimit = { limit: 10, per: "day", cost: 1 } as const
        const options = { rateLimit: { ...rateLimit, cost: 1 } }
        const remaining = Effect.map(authorize(options), (result) =>
          result.allowed ? result.rateLimits?.[0]?.remaining : undefined
        )
        assert.strictEqual(yield* remaining, 9)
        options.rateLimit.cost = 4
        assert.strictEqual(yield* remaining, 5)
        options.rateLimit.cost = 1
        assert.strictEqual(yield* remaining, 4)
        assert.isTrue((yield* authorize({ rateLimit: { ...rateLimit } })).allowed)
        options.rateLimit.cost = 11
        assert.strictEqual((yield* Effect.flip(remaining))._tag, "InvalidInput")
        Object.assign(options, { rateLimit: { ...rateLimit, cost: () => 1 } })
        assert.strictEqual((yield* Effect.flip(remaining))._tag, "InvalidInput")
      })
    )

    it.effect("counts the amounts of each call, and refuses those that become invalid", () =>
      Effect.gen(function* () {
        const { authorize, meteringBucketId } = yield* setUp()
        const metering: Record<string, unknown> = { meteringBucketId, meters: { requests: 1 } }
        const used = Effect.map(
          Effect.suspend(() => authorize({ metering } as never)),
          (result) => (result.allowed ? result.quotas?.meters["requests"]?.used : undefined)
        )
        assert.strictEqual(yield* used, 1)
        metering["meters"] = { requests: 2 }
        assert.strictEqual(yield* used, 3)
        metering["meters"] = { requests: 0 }
        assert.include((yield* Effect.flip(used)).message, "metering.meters")
        metering["meters"] = { requests: 1 }
        metering["metres"] = {}
        assert.include((yield* Effect.flip(used)).message, "metering.metres")
        delete metering["metres"]
        assert.strictEqual(yield* used, 4)
      })
    )

    it.effect("takes the labels of each call, and refuses those that become invalid", () =>
      Effect.gen(function* () {
        const { authorize, meteringBucketId } = yield* setUp({ meters: { requests: { max: 100 } } })
        const options: Record<string, unknown> = { metering: { meteringBucketId, meters: { requests: 1 } } }
        const call = Effect.suspend(() => authorize(options as never))
        for (const labels of [{ model: "small" }, { model: "large" }, { model: "large", team: "a" }, {}, undefined]) {
          options["labels"] = labels
          assert.isTrue((yield* call).allowed)
        }
        const tooMany = { a: "1", b: "2", c: "3", d: "4" }
        for (const labels of [{ model: "" }, { "": "small" }, { model: 1 }, tooMany, "small", null, []]) {
          options["labels"] = labels
          assert.include((yield* Effect.flip(call)).message, "labels", JSON.stringify(labels))
        }
      })
    )

    it.effect("tells what is left of a limit, and when to retry", () =>
      Effect.gen(function* () {
        const { authorize, meteringBucketId } = yield* setUp()
        const options = { rateLimit: { limit: 10, per: "second", burst: 5, cost: 2 } } as const
        const first = yield* authorize(options)
        assert.deepStrictEqual(first.allowed ? first.rateLimits : undefined, [
          { name: "default", limit: 10, per: 1_000, burst: 5, remaining: 3, resetAfterMs: 200 }
        ])
        yield* authorize(options)
        const refused = yield* authorize(options)
        assert.include(refused, { allowed: false, reason: "rate-limited", limit: "default", retryAfterMs: 100 })
        yield* TestClock.adjust(99)
        assert.isFalse((yield* authorize(options)).allowed)
        yield* TestClock.adjust(1)
        assert.isTrue((yield* authorize(options)).allowed)
        const metered = yield* authorize({ metering: { meteringBucketId } })
        assert.isTrue(metered.allowed)
        assert.containsAllKeys(metered, ["subscription"])
        assert.doesNotHaveAnyKeys(metered, ["quotas", "rateLimits", "scopes"])
      })
    )

    it.effect("refuses invalid options with what is wrong", () =>
      Effect.gen(function* () {
        const { authorize } = yield* setUp()
        const limit = { name: "a", limit: 1, per: "day" }
        for (const [options, detail] of [
          [{ rateLimit: { limit: 1, per: "day", cost: 2 } }, /rateLimit\.cost|rateLimit/],
          [{ rateLimit: { limit: 1, per: "week" } }, /must be "second", .* milliseconds/],
          [{ rateLimit: { limit: 1, per: "day", by: "ip" } }, /must be "consumer", "key", or \{ value \}/],
          [{ rateLimit: { limit: 1, per: "day", by: { value: "" } } }, /rateLimit/],
          [{ rateLimit: { limit: 51, per: 1 } }, /50,000 a second/],
          [{ rateLimits: [limit, { ...limit, limit: 2 }] }, /another limit/],
          [{ rateLimits: [{ limit: 1, per: "day" }] }, /rateLimits/],
          [{ rateLimits: Array.from({ length: 11 }, (_, index) => ({ ...limit, name: `l${index}` })) }, /rateLimits/],
          [{ rateLimit: limit, rateLimits: [limit] }, /rateLimit/],
          [{ scopes: ["not valid"] }, /scopes/],
          [{ scopes: Array.from({ length: 51 }, (_, index) => `s${index}`) }, /scopes/],
          [{ ratelimit: limit }, /ratelimit/],
          [Promise.resolve({ scopes: ["a"] }), /plain object/],
          [Object.create({ scopes: ["a"] }), /plain object/],
          [[], /plain object/],
          [{ rateLimit: { limit: 1, per: Symbol("day") } }, /must be "second"/],
          [{ rateLimit: { limit: 1, per: "day", burst: Number.NaN } }, /rateLimit/]
        ] as const) {
          const error = yield* Effect.flip(authorize(options as never))
          assert.strictEqual(error._tag, "InvalidInput")
          assert.match(error.message + ("detail" in error ? error.detail : ""), detail)
        }
      })
    )
  })
})
