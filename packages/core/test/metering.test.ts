import { assert, describe, it } from "@effect/vitest"
import {
  AccountName,
  createTollgate,
  MeteringBuckets,
  Partition,
  Period,
  Plans,
  type ServiceOptions,
  Store,
  type StoreOperations,
  StoreUnavailable,
  Subscriptions,
  Tollgate,
  Usage
} from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { StoreState, stateHash } from "@tollgate/store-testkit"
import { Arbitrary, DateTime, Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { secret } from "./stores.ts"

const acme = AccountName.make("acme")
const at = (text: string) => DateTime.makeUnsafe(text)
const iso = DateTime.formatIso

const over = (store: StoreOperations, options: Partial<ServiceOptions> = {}) =>
  Tollgate.layer({ secret, ...options }).pipe(Layer.provideMerge(Layer.succeed(Store, store)))

/** The days of a month, counted and not computed. */
const daysIn = (year: number, month: number): number => {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month] ?? 0
}

/** All boundaries from an anchor, one after the other, each from the anchor's own day: independent of the real thing. */
const boundaries = (year: number, month: number, day: number, step: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => {
    const months = year * 12 + month + index * step
    const [y, m] = [Math.floor(months / 12), months % 12]
    return Date.UTC(y, m, Math.min(day, daysIn(y, m)), 13, 14, 15, 167)
  })

describe("periods", () => {
  const Anchor = Schema.Struct({
    year: Schema.Int.check(Schema.isBetween({ minimum: 1996, maximum: 2030 })),
    month: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 11 })),
    day: Schema.Int.check(Schema.isBetween({ minimum: 28, maximum: 31 })),
    strategy: Schema.Literals(["monthly", "yearly"]),
    within: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
  })

  it.effect("are those of an independent calculation, over fifty years, for the days that months differ by", () =>
    Effect.gen(function* () {
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.schema(Anchor),
        ({ year, month, day: wanted, strategy, within }) => {
          const day = Math.min(wanted, daysIn(year, month))
          const step = strategy === "monthly" ? 1 : 12
          const all = boundaries(year, month, day, step, 50 * (12 / step) + 1)
          const anchor = DateTime.makeUnsafe(all[0] ?? 0)
          return all.slice(0, -1).every((start, index) => {
            const end = all[index + 1] ?? 0
            const inside = start + Math.floor(((end - start - 1) * within) / 1_000_000)
            return [start, inside, end - 1].every((moment) => {
              const period = Period.containing(anchor, strategy, DateTime.makeUnsafe(moment))
              return DateTime.toEpochMillis(period.start) === start && DateTime.toEpochMillis(period.end) === end
            })
          })
        },
        { runs: 300 }
      )
      assert.isUndefined(Arbitrary.formatCheckFailure(result))
    })
  )

  it("come back to the 31st after February, and to 29 February every four years", () => {
    const starts = (anchor: string, strategy: "monthly" | "yearly", ...moments: ReadonlyArray<string>) =>
      moments.map((moment) => iso(Period.containing(at(anchor), strategy, at(moment)).start).slice(0, 10))
    assert.deepStrictEqual(
      starts(
        "2026-01-31T00:00:00Z",
        "monthly",
        "2026-02-27T00:00:00Z",
        "2026-02-28T00:00:00Z",
        "2026-03-30T23:59:59Z",
        "2026-03-31T00:00:00Z",
        "2028-02-29T00:00:00Z"
      ),
      ["2026-01-31", "2026-02-28", "2026-02-28", "2026-03-31", "2028-02-29"]
    )
    assert.deepStrictEqual(
      starts(
        "2024-02-29T00:00:00Z",
        "yearly",
        "2025-02-27T00:00:00Z",
        "2025-03-01T00:00:00Z",
        "2028-02-28T23:59:59Z",
        "2028-02-29T00:00:00Z"
      ),
      ["2024-02-29", "2025-02-28", "2027-02-28", "2028-02-29"]
    )
    assert.deepStrictEqual(starts("2026-05-31T00:00:00Z", "monthly", "2026-03-01T00:00:00Z"), ["2026-02-28"])
  })
})

const subscription = (plan: { readonly id: string; readonly planExternalId: string }, fields: object = {}) =>
  ({
    planIds: [plan.id],
    planExternalIds: [plan.planExternalId],
    status: "active",
    type: "periodic",
    renewalStrategy: "monthly",
    region: "us-east1",
    customerKey: "alice",
    subscriptionExternalId: `external-${Math.random()}`,
    customerExternalId: "c",
    ...fields
  }) as Parameters<Subscriptions["Service"]["create"]>[1]

/** A bucket with a plan of ten requests. */
const setUp = Effect.fnUntraced(function* (fields: object = {}) {
  const bucketId = (yield* (yield* MeteringBuckets).create(acme)).value.id
  const plan = (yield* (yield* Plans).create(bucketId, {
    label: "Plan",
    planExternalId: "plan",
    meters: { requests: { max: 10 } },
    ...fields
  })).value
  return { bucketId, plan, subscriptions: yield* Subscriptions, usage: yield* Usage }
})

describe("trials", () => {
  it.effect("take their dates from the first plan that has a trial", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2030, 0, 1))
      const { bucketId, plan, subscriptions } = yield* setUp({ trialDays: 14, trialEndStatus: "paused" })
      const { value } = yield* subscriptions.create(bucketId, subscription(plan, { status: "trialing" }))
      assert.strictEqual(iso(value.trialStartDate ?? at("2000-01-01T00:00:00Z")), "2030-01-01T00:00:00.000Z")
      assert.strictEqual(iso(value.trialEndDate ?? at("2000-01-01T00:00:00Z")), "2030-01-15T00:00:00.000Z")
      assert.strictEqual(value.trialEndStatus, "paused")
      const other = yield* subscriptions.create(bucketId, subscription(plan))
      assert.notProperty(other.value, "trialStartDate")
    }).pipe(Effect.provide(over(MemoryStore.open())))
  )

  const ends: ReadonlyArray<readonly [string | undefined, string, boolean]> = [
    ["canceled", "canceled", false],
    ["cancel", "canceled", false],
    ["cancelled", "canceled", false],
    ["paused", "inactive", false],
    ["pause", "inactive", false],
    ["active", "active", true],
    ["whatever", "inactive", false],
    ["a".repeat(300), "inactive", false],
    [undefined, "active", true]
  ]

  for (const [trialEndStatus, after, mayUse] of ends) {
    it.effect(
      `that end with ${trialEndStatus?.slice(0, 20)} make a subscription ${after}, at every read from then on`,
      () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(Date.UTC(2030, 0, 1))
          const { bucketId, plan, subscriptions, usage } = yield* setUp()
          const end = {
            trialEndDate: at("2030-01-11T00:00:00Z"),
            ...(trialEndStatus === undefined ? {} : { trialEndStatus })
          }
          const { id } = (yield* subscriptions.create(bucketId, subscription(plan, { status: "trialing", ...end })))
            .value
          const status = Effect.map(subscriptions.get(bucketId, id), ({ value }) => value.status)
          yield* TestClock.setTime(Date.UTC(2030, 0, 10, 23, 59, 59, 999))
          assert.strictEqual(yield* status, "trialing")
          yield* usage.consume(bucketId, id, { requests: 1 })
          yield* TestClock.adjust("1 millis")
          assert.strictEqual(yield* status, after)
          const consumed = yield* Effect.result(usage.consume(bucketId, id, { requests: 1 }))
          assert.strictEqual(consumed._tag, mayUse ? "Success" : "Failure")
          const page = { limit: 10, offset: 0 }
          assert.strictEqual((yield* subscriptions.list(bucketId, page)).data[0]?.status, after)
          assert.strictEqual((yield* subscriptions.list(bucketId, { ...page, status: "trialing" })).total, 0)
          assert.strictEqual((yield* subscriptions.list(bucketId, { ...page, status: after as "active" })).total, 1)
          const written = yield* subscriptions.update(bucketId, id, { metadata: { seen: true } })
          assert.strictEqual(written.value.status, after)
        }).pipe(Effect.provide(over(MemoryStore.open())))
    )
  }

  it.effect("that have ended are found without reading those that have not", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      let records = 0
      const counting: StoreOperations = {
        ...store,
        list: (...args) =>
          Effect.tap(store.list(...args), (pages) =>
            Effect.sync(() => {
              for (const page of pages) records += page.records.length
            })
          )
      }
      yield* TestClock.setTime(Date.UTC(2031, 4, 20, 10, 30))
      const { bucketId, plan, subscriptions } = yield* Effect.provide(setUp(), over(counting))
      const trial = (trialEndDate: string) =>
        subscriptions.create(bucketId, subscription(plan, { status: "trialing", trialEndDate: at(trialEndDate) }))
      for (let day = 1; day <= 50; day++) yield* trial(`2031-07-${String((day % 28) + 1).padStart(2, "0")}T10:00:00Z`)
      const ended = ["1999-01-01T00:00:00Z", "2030-12-31T23:59:59Z", "2031-04-30T00:00:00Z", "2031-05-19T00:00:00Z"]
      for (const end of [...ended, "2031-05-20T09:59:59Z", "2031-05-20T10:30:00Z"]) yield* trial(end)
      yield* trial("2031-05-20T10:30:01Z")
      const active = { limit: 100, offset: 0, status: "active" } as const
      assert.strictEqual((yield* subscriptions.list(bucketId, active)).total, 6)
      records = 0
      assert.strictEqual((yield* subscriptions.list(bucketId, { ...active, status: "trialing", limit: 1 })).total, 51)
      // The one that ends within the hour, and the one that was asked for.
      assert.isAtMost(records, 2)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* subscriptions.list(bucketId, active)).total, 7)
    })
  )

  it.effect("that have ended are found behind any number that end later in the same hour", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2031, 4, 20, 10, 30))
      const { bucketId, plan, subscriptions } = yield* setUp()
      const trial = (trialEndDate: string) =>
        subscriptions.create(bucketId, subscription(plan, { status: "trialing", trialEndDate: at(trialEndDate) }))
      for (let index = 0; index < 1_050; index++) yield* trial("2031-05-20T10:59:00Z")
      yield* trial("2031-05-20T10:29:00Z")
      const page = { limit: 1, offset: 0 }
      assert.strictEqual((yield* subscriptions.list(bucketId, { ...page, status: "active" })).total, 1)
      assert.strictEqual((yield* subscriptions.list(bucketId, { ...page, status: "trialing" })).total, 1_050)
    }).pipe(Effect.provide(over(MemoryStore.open())))
  )

  it.effect("that an earlier release wrote without an index are found too", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const isNew = (term: string) => term.includes("trial-")
      const unindexed: StoreOperations = {
        ...store,
        commit: (partition, changes, once) =>
          store.commit(
            partition,
            changes.map((change) =>
              change._tag === "Put"
                ? { ...change, indexTerms: change.indexTerms.filter((term) => !isNew(term)) }
                : change
            ),
            once
          )
      }
      const { bucketId, plan, subscriptions } = yield* Effect.provide(setUp(), over(unindexed))
      for (const trialEndDate of [at("1970-01-01T00:00:01Z"), at("2050-01-01T00:00:00Z")]) {
        yield* subscriptions.create(bucketId, subscription(plan, { status: "trialing", trialEndDate }))
      }
      yield* TestClock.adjust("2 seconds")
      const page = { limit: 5, offset: 0 }
      yield* Effect.provide(
        Effect.gen(function* () {
          const service = yield* Subscriptions
          assert.strictEqual((yield* service.list(bucketId, { ...page, status: "active" })).total, 1)
          assert.strictEqual((yield* service.list(bucketId, { ...page, status: "trialing" })).total, 1)
        }),
        over(store)
      )
    })
  )

  it.effect("are settled by several at once without a fault", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const { bucketId, plan, subscriptions } = yield* Effect.provide(setUp(), over(store))
      yield* Effect.forEach(Array.from({ length: 30 }), () =>
        subscriptions.create(
          bucketId,
          subscription(plan, { status: "trialing", trialEndDate: at("1970-01-01T00:00:01Z") })
        )
      )
      yield* TestClock.adjust("2 seconds")
      const list = Effect.flatMap(Subscriptions, (service) =>
        service.list(bucketId, { limit: 5, offset: 0, status: "active" })
      )
      const processes = [over(store), over(store), over(store)].map((process) => Effect.provide(list, process))
      const totals = (yield* Effect.all(processes, { concurrency: "unbounded" })).map(({ total }) => total)
      assert.deepStrictEqual(totals, [30, 30, 30])
    })
  )
})

describe("quotas", () => {
  it.effect("are exact up to 2^53 - 1, and prorated as decimals are written", () =>
    Effect.gen(function* () {
      const cases = [
        [1_099_511_627_777, undefined, 1_099_511_627_777],
        [Number.MAX_SAFE_INTEGER, undefined, Number.MAX_SAFE_INTEGER],
        [1e300, undefined, Number.MAX_SAFE_INTEGER],
        [10.9, undefined, 10],
        [100, 0.29, 29],
        [1_234_567_890_123, 0.1, 123_456_789_012],
        [Number.MAX_SAFE_INTEGER, 0.5, 4_503_599_627_370_495],
        [3, 1e-7, 0]
      ] as const
      for (const [max, prorate, expected] of cases) {
        const { bucketId, plan, subscriptions, usage } = yield* setUp({ meters: { bytes: { max } } })
        const other = yield* (yield* Plans).create(bucketId, {
          label: "Other",
          planExternalId: "other",
          meters: { bytes: { max: 1 } }
        })
        const { id } = (yield* subscriptions.create(bucketId, subscription(other.value))).value
        const patch = { planExternalIds: [plan.planExternalId], ...(prorate === undefined ? {} : { prorate }) }
        yield* subscriptions.update(bucketId, id, patch)
        assert.strictEqual((yield* usage.quotas(bucketId, id)).meters["bytes"]?.max, expected)
        if (expected === 0) continue
        const full = yield* usage.consume(bucketId, id, { bytes: expected })
        assert.deepStrictEqual(full.meters["bytes"], { max: expected, used: expected, remaining: 0 })
        const over = yield* Effect.flip(usage.consume(bucketId, id, { bytes: 1 }))
        assert.strictEqual(over._tag, "QuotaExceeded")
      }
    }).pipe(Effect.provide(over(MemoryStore.open())))
  )

  it.effect("begin anew at the end of a period, and a prorated share counts in its own alone", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2030, 0, 31))
      const { bucketId, plan, subscriptions, usage } = yield* setUp()
      const { id } = (yield* subscriptions.create(bucketId, subscription(plan))).value
      yield* (yield* Plans).create(bucketId, { label: "Two", planExternalId: "two", meters: { requests: { max: 9 } } })
      yield* usage.consume(bucketId, id, { requests: 10 })
      const over = yield* Effect.flip(
        usage.consume(bucketId, id, { requests: 1 }, { idempotency: { id: "i", fingerprint: "f" } })
      )
      assert.deepInclude(over, { _tag: "QuotaExceeded", meter: "requests", max: 10 })
      assert.strictEqual("resetsOn" in over ? iso(over.resetsOn) : "", "2030-02-28T00:00:00.000Z")
      yield* subscriptions.update(bucketId, id, { planExternalIds: ["two"], prorate: 0.5 })
      assert.deepStrictEqual((yield* usage.quotas(bucketId, id)).meters, {
        requests: { max: 4, used: 10, remaining: 0 }
      })
      yield* TestClock.setTime(Date.UTC(2030, 1, 28))
      const next = yield* usage.quotas(bucketId, id)
      assert.deepStrictEqual(next.meters, { requests: { max: 9, used: 0, remaining: 9 } })
      assert.deepStrictEqual(
        [iso(next.periodStart), iso(next.resetsOn)],
        ["2030-02-28T00:00:00.000Z", "2030-03-31T00:00:00.000Z"]
      )
      const again = yield* usage.consume(bucketId, id, { requests: 1 }, { idempotency: { id: "i", fingerprint: "f" } })
      assert.deepStrictEqual(again.meters, { requests: { max: 9, used: 1, remaining: 8 } })
    }).pipe(Effect.provide(over(MemoryStore.open())))
  )

  it.effect("leave the store as it was when they refuse", () =>
    Effect.gen(function* () {
      const { bucketId, plan, subscriptions, usage } = yield* setUp()
      const { id } = (yield* subscriptions.create(bucketId, subscription(plan))).value
      const idle = (yield* subscriptions.create(bucketId, subscription(plan, { status: "unpaid" }))).value.id
      const before = yield* stateHash
      for (const [target, amounts] of [
        [id, { requests: 11 }],
        [id, { requests: 1, other: 1 }],
        [idle, { requests: 1 }]
      ] as const) {
        yield* Effect.flip(usage.consume(bucketId, target, amounts, { idempotency: { id: "i", fingerprint: "f" } }))
      }
      yield* Effect.flip(subscriptions.create(bucketId, subscription({ id: "plan_x", planExternalId: "x" })))
      yield* Effect.flip((yield* Plans).remove(bucketId, plan.id))
      assert.strictEqual(yield* stateHash, before)
    }).pipe(Effect.provide(Tollgate.layer({ secret }).pipe(Layer.provideMerge(StoreState.layer(MemoryStore.layer)))))
  )

  it.effect("are told of at each threshold once, whatever is counted and changed around it", () =>
    Effect.gen(function* () {
      const events: Array<readonly [string, number, number]> = []
      const onQuota = ({ meter, threshold, used }: { meter: string; threshold: number; used: number }) => {
        events.push([meter, threshold, used])
        throw new Error("a hook that fails stops nothing")
      }
      yield* Effect.gen(function* () {
        const { bucketId, plan, subscriptions, usage } = yield* setUp()
        const { id } = (yield* subscriptions.create(bucketId, subscription(plan))).value
        yield* usage.consume(bucketId, id, { requests: 7 })
        assert.deepStrictEqual(events, [])
        yield* usage.consume(bucketId, id, { requests: 1 })
        yield* usage.consume(bucketId, id, { requests: 1 })
        assert.deepStrictEqual(events, [["requests", 0.8, 8]])
        yield* usage.consume(bucketId, id, { requests: 1 })
        yield* Effect.flip(usage.consume(bucketId, id, { requests: 1 }))
        yield* (yield* Plans).update(bucketId, plan.id, { meters: { requests: { max: 20 } } })
        yield* usage.consume(bucketId, id, { requests: 6 })
        assert.deepStrictEqual(events, [
          ["requests", 0.8, 8],
          ["requests", 1, 10]
        ])
        yield* TestClock.adjust("40 days")
        yield* usage.consume(bucketId, id, { requests: 20 })
        assert.deepStrictEqual(events.slice(2), [
          ["requests", 0.8, 20],
          ["requests", 1, 20]
        ])
      }).pipe(Effect.provide(over(MemoryStore.open(), { onQuotaThreshold: onQuota })))
    })
  )

  it.effect("go on counting when telling of them fails or hangs, and tell it later", () =>
    Effect.gen(function* () {
      const events: Array<number> = []
      const store = MemoryStore.open()
      let failing = false
      const sometimes: StoreOperations = {
        ...store,
        commit: (partition, changes, once) =>
          failing && changes.some((change) => change._tag === "Add" && change.counter.startsWith("told:"))
            ? Effect.fail(cutOff)
            : store.commit(partition, changes, once)
      }
      const onQuota = ({ threshold }: { threshold: number }): Promise<void> => {
        events.push(threshold)
        return new Promise(() => undefined)
      }
      yield* Effect.gen(function* () {
        const { bucketId, plan, subscriptions, usage } = yield* setUp()
        const { id } = (yield* subscriptions.create(bucketId, subscription(plan))).value
        failing = true
        assert.strictEqual((yield* usage.consume(bucketId, id, { requests: 8 })).meters["requests"]?.used, 8)
        assert.deepStrictEqual(events, [])
        failing = false
        yield* usage.consume(bucketId, id, { requests: 1 })
        assert.deepStrictEqual(events, [0.8])
      }).pipe(Effect.provide(over(sometimes, { onQuotaThreshold: onQuota })))
    })
  )
})

describe("authorize", () => {
  it("counts by the newest subscription that has the meters, whatever was bought beside it", async () => {
    const { gate, bucketId, key, subscribe } = await prepared(MemoryStore.open())
    const meters = { exports: { max: 5 } }
    const addOn = await gate.plans.create(bucketId, { label: "Add-on", planExternalId: "add-on", meters })
    await subscribe()
    await subscribe({ planIds: [addOn.id], planExternalIds: ["add-on"] })
    const ask = (meters: Record<string, number>) =>
      gate.authorize({ account: "acme", bucket: "b", key, metering: { meteringBucketId: bucketId, meters } })
    for (const meter of ["requests", "exports", "requests"]) assert.isTrue((await ask({ [meter]: 1 })).allowed)
    assert.propertyVal(await ask({ requests: 1 }), "reason", "over-quota")
    for (const wrong of [{ request: 1 }, { requests: 1, exports: 1 }]) {
      const error = await ask(wrong).catch((error: unknown) => error)
      assert.propertyVal(error, "_tag", "UnknownMeter")
      assert.match(String(error), /Correct the name or add the meter to a plan/)
    }
    await gate.close()
  })

  it("refuses a metering bucket of another account, also when its own account has used it", async () => {
    const { gate, bucketId, key, subscribe } = await prepared(MemoryStore.open())
    const { id } = await subscribe()
    const stranger = await gate.consumers.create("other", "b", { name: "alice" }, { withApiKey: true })
    const ask = (account: string, key: string) =>
      gate.authorize({ account, bucket: "b", key, metering: { meteringBucketId: bucketId, meters: { requests: 1 } } })
    for (let turn = 1; turn <= 2; turn++) {
      const error = await ask("other", stranger.apiKeys?.[0]?.key ?? "").catch((error: unknown) => error)
      assert.propertyVal(error, "_tag", "MeteringBucketNotFound")
      assert.isTrue((await ask("acme", key)).allowed)
      assert.strictEqual((await gate.usage.quotas(bucketId, id)).meters["requests"]?.used, turn)
    }
    await gate.close()
  })

  const prepared = async (store: StoreOperations) => {
    const gate = await createTollgate({ store, secret })
    const { apiKeys } = await gate.consumers.create(
      "acme",
      "b",
      { name: "alice", tags: { plan: "pro" } },
      { withApiKey: true }
    )
    const { id: bucketId } = await gate.meteringBuckets.create("acme")
    const plan = await gate.plans.create(bucketId, {
      label: "P",
      planExternalId: "p",
      meters: { requests: { max: 2 } }
    })
    const subscribe = (fields: object = {}) =>
      gate.subscriptions.create(bucketId, {
        planIds: [plan.id],
        planExternalIds: ["p"],
        status: "active",
        type: "periodic",
        renewalStrategy: "monthly",
        region: "us-east1",
        customerKey: "alice",
        subscriptionExternalId: `s-${Math.random()}`,
        customerExternalId: "c",
        ...fields
      })
    const key = apiKeys?.[0]?.key ?? ""
    const ask = (value = key) =>
      gate.authorize({
        account: "acme",
        bucket: "b",
        key: value,
        metering: { meteringBucketId: bucketId, meters: { requests: 1 } }
      })
    return { gate, bucketId, plan, subscribe, ask, key }
  }

  it("answers with what remains, or why not", async () => {
    const { gate, bucketId, plan, subscribe, ask, key } = await prepared(MemoryStore.open())
    assert.deepStrictEqual(await ask("unknown-but-well-formed"), { allowed: false, reason: "invalid-key" })
    const verified = await gate.authorize({ account: "acme", bucket: "b", key })
    assert.isTrue(verified.allowed)
    assert.propertyVal(await ask(), "reason", "no-subscription")
    const first = await subscribe({ status: "canceled" })
    assert.propertyVal(await ask(), "reason", "subscription-not-active")
    const second = await subscribe()
    const allowed = await ask()
    assert.deepInclude(allowed, { allowed: true })
    if (!allowed.allowed) return
    assert.deepInclude(allowed.consumer, { name: "alice", tags: { plan: "pro" } })
    assert.deepStrictEqual(allowed.quotas?.meters, { requests: { max: 2, used: 1, remaining: 1 } })
    await ask()
    const over = await ask()
    assert.deepInclude(over, { allowed: false, reason: "over-quota", meter: "requests", max: 2 })
    assert.strictEqual("resetsOn" in over ? over.resetsOn : "", second.nextBillingCycle)
    // What is remembered of a customer never outlives a change: of the plan, of a newer subscription, of its state.
    await gate.plans.update(bucketId, plan.id, { meters: { requests: { max: 3 } } })
    assert.isTrue((await ask()).allowed)
    assert.isFalse((await ask()).allowed)
    const third = await subscribe()
    assert.isTrue((await ask()).allowed)
    assert.strictEqual((await gate.usage.quotas(bucketId, third.id)).meters["requests"]?.used, 1)
    await gate.subscriptions.update(bucketId, third.id, { status: "unpaid" })
    assert.isFalse((await ask()).allowed)
    await gate.subscriptions.update(bucketId, first.id, { status: "active" })
    assert.isFalse((await ask()).allowed, "the newest that may consume is the second, which is used up")
    await gate.subscriptions.remove(bucketId, second.id)
    assert.isTrue((await ask()).allowed, "now it is the first")
    // However many newer ones there are that may not.
    for (let count = 0; count < 25; count++) await subscribe({ status: "canceled" })
    assert.isTrue((await ask()).allowed)
    for (const wrong of [
      { metring: {} },
      { metering: null },
      { metering: { meteringBucketId: 5, meters: { requests: 1 } } }
    ]) {
      const error = await gate
        .authorize({ account: "acme", bucket: "b", key, ...wrong } as never)
        .catch((error: unknown) => error)
      assert.propertyVal(error, "_tag", "InvalidInput")
    }
    for (const id of [5, null, undefined]) {
      assert.propertyVal(
        await gate.meteringBuckets.get(id as never).catch((error: unknown) => error),
        "_tag",
        "MeteringBucketNotFound"
      )
    }
    await gate.meteringBuckets.remove(bucketId)
    const gone = await ask().catch((error: unknown) => error)
    assert.propertyVal(gone, "_tag", "MeteringBucketNotFound")
    await gate.close()
  })

  it("asks the store twice: once for the key, once to count", async () => {
    const calls: Array<string> = []
    const inner = MemoryStore.open()
    const spying = Object.fromEntries(
      Object.entries(inner).map(([name, operation]) => [
        name,
        (...args: ReadonlyArray<never>) => {
          calls.push(name)
          return (operation as (...args: ReadonlyArray<never>) => unknown)(...args)
        }
      ])
    ) as unknown as StoreOperations
    const { gate, subscribe, ask } = await prepared(spying)
    await subscribe()
    await ask()
    calls.length = 0
    assert.isTrue((await ask()).allowed)
    assert.deepStrictEqual(calls, ["getByUniqueKey", "commit"])
    await gate.close()
  })
})

it.effect("a subscription whose plans change while it is read is shown with the plans that it has", () =>
  Effect.gen(function* () {
    const store = MemoryStore.open()
    let meanwhile: Effect.Effect<unknown, unknown> = Effect.void
    const interrupted: StoreOperations = {
      ...store,
      get: (partition, keys) => {
        if (!keys.some((key) => key.startsWith("plan/"))) return store.get(partition, keys)
        const first = meanwhile
        meanwhile = Effect.void
        return Effect.andThen(Effect.orDie(first), store.get(partition, keys))
      }
    }
    const { bucketId, plan, subscriptions } = yield* Effect.provide(setUp(), over(store))
    const { id } = (yield* subscriptions.create(bucketId, subscription(plan))).value
    yield* Effect.gen(function* () {
      const plans = yield* Plans
      yield* plans.create(bucketId, { label: "Two", planExternalId: "two", meters: { requests: { max: 1 } } })
      const service = yield* Subscriptions
      meanwhile = Effect.andThen(
        subscriptions.update(bucketId, id, { planExternalIds: ["two"] }),
        Effect.provide(
          Effect.flatMap(Plans, (other) => other.remove(bucketId, plan.id)),
          over(store)
        )
      )
      assert.deepStrictEqual((yield* service.get(bucketId, id)).value.planExternalIds, ["two"])
    }).pipe(Effect.provide(over(interrupted)))
  })
)

const cutOff = new StoreUnavailable({
  operation: "commit",
  problem: "cut off",
  retryable: true,
  outcome: "not-applied"
})

describe("the creation of a bucket", () => {
  it.effect("that is refused, or fails, or is repeated, leaves no bucket that nobody knows of", () =>
    Effect.gen(function* () {
      const once = (fingerprint: string) => ({ idempotency: { id: "i", fingerprint } })
      const store = MemoryStore.open()
      const made = new Set<string>()
      let refusing = false
      const watched: StoreOperations = {
        ...store,
        commit: (partition, changes, once) => {
          if (partition !== Partition.meteringDirectory) made.add(partition)
          return refusing && partition === Partition.meteringDirectory
            ? Effect.fail(cutOff)
            : store.commit(partition, changes, once)
        }
      }
      yield* Effect.gen(function* () {
        const buckets = yield* MeteringBuckets
        const first = yield* buckets.create(acme, once("f"))
        assert.deepStrictEqual((yield* buckets.create(acme, once("f"))).value, first.value)
        assert.strictEqual((yield* Effect.flip(buckets.create(acme, once("other"))))._tag, "IdempotencyKeyReused")
        refusing = true
        yield* Effect.flip(buckets.create(acme))
        const roots = yield* Effect.forEach(made, (partition) =>
          store.get(partition as Partition.Partition, ["bucket/root"])
        )
        assert.strictEqual(roots.flat().filter((root) => root !== undefined).length, 1)
      }).pipe(Effect.provide(over(watched)))
    })
  )
})

describe("a list of buckets", () => {
  it.effect("neither fails nor waits because of another account's removal that is stuck", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const { bucketId } = yield* Effect.provide(setUp(), over(store))
      const stuck: StoreOperations = {
        ...store,
        get: (partition, keys) =>
          partition === Partition.metering(bucketId) && isStuck ? Effect.fail(cutOff) : store.get(partition, keys),
        clear: () => Effect.fail(cutOff)
      }
      let isStuck = false
      yield* Effect.provide(
        Effect.gen(function* () {
          const buckets = yield* MeteringBuckets
          const other = yield* buckets.create(AccountName.make("other"))
          yield* Effect.flip(buckets.remove(bucketId))
          isStuck = true
          for (const account of [acme, AccountName.make("other"), "*" as const]) {
            const { data, total } = yield* buckets.list(account, { limit: 10, offset: 0 })
            assert.deepStrictEqual([data, total], account === acme ? [[], 0] : [[other.value], 1])
          }
        }),
        over(stuck)
      )
    })
  )
})

describe("the removal of a bucket", () => {
  it.effect("that is cut off anywhere is finished by the same call again, and nothing is left", () =>
    Effect.gen(function* () {
      for (let cut = 1; cut <= 12; cut++) {
        const store = MemoryStore.open()
        const { bucketId } = yield* Effect.provide(setUp(), over(store))
        let calls = 0
        const failing: StoreOperations = {
          ...store,
          commit: (...args) => (++calls === cut ? Effect.fail(cutOff) : store.commit(...args)),
          clear: (...args) => (++calls === cut ? Effect.fail(cutOff) : store.clear(...args))
        }
        const remove = Effect.flatMap(MeteringBuckets, (buckets) => buckets.remove(bucketId))
        const first = yield* Effect.result(Effect.provide(remove, over(failing)))
        // A new process may have completed it already, when it started.
        const again = Effect.catchTag(remove, "MeteringBucketNotFound", () => Effect.void)
        if (first._tag === "Failure") yield* Effect.provide(again, over(store))
        const [plans] = yield* store.list(Partition.metering(bucketId), [{ indexTerms: ["plan"], offset: 0, limit: 0 }])
        assert.strictEqual(plans?.total, 0)
        const { total } = yield* Effect.provide(
          Effect.flatMap(MeteringBuckets, (buckets) => buckets.list(acme, { limit: 1, offset: 0 })),
          over(store)
        )
        assert.strictEqual(total, 0)
      }
    })
  )

  it.effect("that is cut off anywhere is completed in the background, and never half visible", () =>
    Effect.gen(function* () {
      for (let cut = 1; cut <= 12; cut++) {
        const store = MemoryStore.open()
        const { bucketId } = yield* Effect.provide(
          Effect.gen(function* () {
            const made = yield* setUp()
            yield* made.subscriptions.create(made.bucketId, subscription(made.plan))
            return made
          }),
          over(store)
        )
        let calls = 0
        const failing = Object.fromEntries(
          Object.entries(store).map(([name, operation]) => [
            name,
            (...args: ReadonlyArray<never>) =>
              ++calls >= cut ? Effect.fail(cutOff) : (operation as (...args: ReadonlyArray<never>) => unknown)(...args)
          ])
        ) as unknown as StoreOperations
        const removed = yield* Effect.result(
          Effect.provide(
            Effect.flatMap(MeteringBuckets, (buckets) => buckets.remove(bucketId)),
            over(failing)
          )
        )
        const [listed, read, left] = yield* Effect.provide(
          Effect.gen(function* () {
            const buckets = yield* MeteringBuckets
            const { total } = yield* buckets.list(acme, { limit: 10, offset: 0 })
            const read = yield* Effect.result(buckets.get(bucketId))
            const removing = store.list(Partition.meteringDirectory, [
              { indexTerms: ["listing/deleting"], offset: 0, limit: 0 }
            ])
            for (let turn = 0; turn < 1_000 && (yield* removing)[0]?.total !== 0; turn++) yield* Effect.yieldNow
            return [total, read, (yield* removing)[0]?.total] as const
          }),
          over(store)
        )
        assert.strictEqual(left, 0, `cut at call ${cut}: nothing is left to complete`)
        assert.strictEqual(listed === 1, read._tag === "Success", `cut at call ${cut}: listed ${listed}, ${read._tag}`)
        if (removed._tag === "Success") assert.strictEqual(listed, 0)
        const [root] = yield* store.get(Partition.metering(bucketId), ["bucket/root"])
        const again = yield* Effect.result(
          Effect.provide(
            Effect.flatMap(MeteringBuckets, (buckets) => buckets.remove(bucketId)),
            over(store)
          )
        )
        assert.strictEqual(again._tag === "Success", root !== undefined, "it is done once")
      }
    })
  )
})
