/**
 * Events that no caller asks for: thresholds of quotas, trials that end, and changes at the end of a period.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountName, Customers, Events, Subscriptions } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { Store, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { isBackgroundCall, waitForEvents } from "@tollgate/testing"
import { DateTime, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { persistDueChanges } from "../src/metering/subscriptions/persistDueChanges.ts"
import { stores } from "./stores.ts"
import { setTime, setUp, startOn, startProcess } from "./usageServices.ts"

const start = "2027-03-14T09:30:00Z"

/** The events of a group, oldest first, after all events have arrived. */
const readEvents = (type: "quota.*" | "subscription.*") =>
  Effect.gen(function* () {
    yield* waitForEvents(yield* Store)
    const params = { accountName: AccountName.make("acme") }
    return (yield* (yield* Events).list({ params, query: { limit: 1_000, offset: 0, order: "asc", type } })).data
  })

const readThresholds = Effect.map(readEvents("quota.*"), (events) =>
  events.map(({ data }) => [data["meter"], data["threshold"], data["used"]])
)

describe.each(stores)("the threshold of a quota, on %s", (_, store) => {
  const startAt = startOn(store)

  it.effect("is one event for each period, meter and threshold, however many processes count", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 10, tokens: 100 })
      const here = yield* subscribe({ quotaResetAnchor: DateTime.makeUnsafe(start) })
      const there = yield* (yield* startProcess())(bucketId, here.id)
      const events: Array<Effect.Success<ReturnType<typeof readEvents>>[number]> = []
      for (const month of ["03", "04"]) {
        yield* setTime(`2027-${month}-14T09:30:00Z`)
        const consumptions = Array.from({ length: 20 }, (_, index) =>
          Effect.exit((index % 2 === 0 ? here : there).consume({ requests: 1 }))
        )
        yield* Effect.all(consumptions, { concurrency: "unbounded" })
        // A month later, these events are not kept any more.
        const ofMonth = (yield* readEvents("quota.*")).filter(({ data }) =>
          String(data["periodStart"]).startsWith(`2027-${month}`)
        )
        assert.deepStrictEqual(ofMonth.map(({ data }) => [data["meter"], data["threshold"]]).sort(), [
          ["requests", 0.8],
          ["requests", 1]
        ])
        events.push(...ofMonth)
      }
      const [event] = events
      assert.strictEqual(event?.type, "quota.threshold_reached")
      assert.deepStrictEqual(event?.actor, { type: "system" })
      assert.deepStrictEqual(event?.subject, { type: "subscription", id: here.id, name: "alice" })
      assert.deepInclude(event?.data, { meteringBucketId: bucketId, customerKey: "alice", max: 10 })
    }).pipe(startAt(start))
  )

  it.effect("is told by usage that is recorded, or settled after it was reserved", () =>
    Effect.gen(function* () {
      const { subscribe, record } = yield* setUp({ requests: 10 })
      yield* subscribe({ customerKey: "bob" })
      yield* record("bob", { requests: 25 })
      const reserving = yield* subscribe()
      const { id } = yield* reserving.reserve({ requests: 10 })
      const recorded = [
        ["requests", 0.8, 25],
        ["requests", 1, 25]
      ]
      assert.deepStrictEqual(yield* readThresholds, recorded)
      yield* reserving.settle(id, { requests: 9 })
      assert.deepStrictEqual(yield* readThresholds, [...recorded, ["requests", 0.8, 9]])
    }).pipe(startAt(start))
  )

  it.effect("is not told while it is only reserved, and is told when it is really reached", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp({ requests: 100 })
      const expiring = yield* subscribe()
      yield* expiring.reserve({ requests: 99 }, 1)
      yield* TestClock.adjust("1200 millis")
      assert.strictEqual((yield* expiring.consume({ requests: 1 }))["requests"]?.used, 1)
      const settled = yield* subscribe()
      const { id } = yield* settled.reserve({ requests: 100 })
      yield* Effect.flip(settled.consume({ requests: 1 }))
      yield* settled.settle(id, { requests: 1 })
      assert.deepStrictEqual(yield* readThresholds, [])
      yield* expiring.consume({ requests: 99 })
      yield* settled.consume({ requests: 80 })
      yield* Effect.flip(settled.consume({ requests: 20 }))
      const expected = [
        ["requests", 0.8, 100],
        ["requests", 1, 100],
        ["requests", 0.8, 81]
      ]
      assert.deepStrictEqual(yield* readThresholds, expected)
      const open = yield* settled.reserve({ requests: 10 })
      yield* settled.consume({ requests: 9 })
      assert.deepStrictEqual(yield* readThresholds, expected)
      yield* settled.settle(open.id, { requests: 10 })
      assert.deepStrictEqual(yield* readThresholds, [...expected, ["requests", 1, 100]])
    }).pipe(startAt(start))
  )

  it.effect("is told again for another maximum, with what is counted", () =>
    Effect.gen(function* () {
      const { subscribe, setMaxima } = yield* setUp({ requests: 100 })
      const subscription = yield* subscribe()
      yield* subscription.consume({ requests: 50 })
      yield* setMaxima({ requests: 10 })
      yield* Effect.flip(subscription.consume({ requests: 1 }))
      const lowered = [
        ["requests", 0.8, 50],
        ["requests", 1, 50]
      ]
      assert.deepStrictEqual(yield* readThresholds, lowered)
      yield* setMaxima({ requests: 60 })
      yield* subscription.consume({ requests: 10 })
      yield* Effect.flip(subscription.consume({ requests: 1 }))
      const raised = [
        ["requests", 0.8, 60],
        ["requests", 1, 60]
      ]
      assert.deepStrictEqual(yield* readThresholds, [...lowered, ...raised])
      yield* setMaxima({ requests: 10 })
      yield* Effect.flip(subscription.consume({ requests: 1 }))
      assert.deepStrictEqual(yield* readThresholds, [...lowered, ...raised])
    }).pipe(startAt(start))
  )
})

describe("a threshold that could not be recorded", () => {
  const unavailable = new StoreUnavailable({
    operation: "commit",
    problem: "the test says so",
    retryable: true,
    outcome: "not-applied"
  })
  /** Fails the commits of thresholds while it is told to, and counts all commits of operations. */
  const makeStore = () => {
    const store = MemoryStore.open()
    const state = { isFailing: false, commits: 0 }
    const failing: StoreOperations = {
      ...store,
      commit: (partition, changes, idempotency) => {
        if (isBackgroundCall("commit", partition, changes)) return store.commit(partition, changes, idempotency)
        state.commits++
        const isThreshold = changes.some((change) => "counter" in change && change.counter.startsWith("told:"))
        return isThreshold && state.isFailing ? Effect.fail(unavailable) : store.commit(partition, changes, idempotency)
      }
    }
    return { state, layer: Layer.succeed(Store, failing) }
  }

  it.effect("is recorded by the next request, also by one that is refused", () => {
    const { state, layer } = makeStore()
    return Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp({ requests: 10, tokens: 10 })
      const subscription = yield* subscribe()
      state.isFailing = true
      yield* subscription.consume({ requests: 10 })
      yield* subscription.consume({ tokens: 9 })
      assert.deepStrictEqual(yield* readThresholds, [])
      state.isFailing = false
      const refusals = [{ requests: 1 }, { tokens: 2 }]
      for (const meters of refusals) {
        assert.strictEqual((yield* Effect.flip(subscription.consume(meters)))._tag, "QuotaExceeded")
      }
      const expected = [
        ["requests", 0.8, 10],
        ["requests", 1, 10],
        ["tokens", 0.8, 9]
      ]
      assert.deepStrictEqual(yield* readThresholds, expected)
      // Another process, which has not recorded them, does not record them again.
      const there = yield* (yield* startProcess())(bucketId, subscription.id)
      for (const meters of refusals) yield* Effect.flip(there.consume(meters))
      assert.deepStrictEqual(yield* readThresholds, expected)
    }).pipe(startOn(layer)(start))
  })

  it.effect("costs nothing while no threshold is reached, and nothing when it has been recorded", () => {
    const { state, layer } = makeStore()
    return Effect.gen(function* () {
      const { subscribe } = yield* setUp({ requests: 10 })
      const subscription = yield* subscribe()
      const countCommits = (attempt: Effect.Effect<unknown, unknown>) =>
        Effect.gen(function* () {
          state.commits = 0
          yield* Effect.exit(attempt)
          return state.commits
        })
      yield* subscription.consume({ requests: 1 })
      const counts: Array<number> = []
      for (let used = 1; used < 14; used++) counts.push(yield* countCommits(subscription.consume({ requests: 1 })))
      // At 8 and at 10, one more commit records the threshold.
      assert.deepStrictEqual(counts, [1, 1, 1, 1, 1, 1, 2, 1, 2, 1, 1, 1, 1])
    }).pipe(startOn(layer)(start))
  })
})

describe.each(stores)("a pending change, on %s", (_, store) => {
  const startAt = startOn(store)

  it.effect("is written by the system when the period ends, once, although nobody reads it and two processes run", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe, createPlan } = yield* setUp()
      yield* createPlan("free", { requests: 1 })
      const customers = yield* Customers
      const keys = Array.from({ length: 10 }, (_, index) => `customer-${index}`)
      yield* Effect.forEach(keys, (customerKey, index) =>
        Effect.gen(function* () {
          yield* subscribe({ customerKey, quotaResetAnchor: DateTime.makeUnsafe("2027-03-01T00:00:00Z") })
          const params = { bucketId, customerKey }
          const at = "period-end"
          yield* index % 2 === 0
            ? customers.cancel({ params, payload: { at } })
            : customers.changePlan({ params, payload: { planExternalIds: ["free"], at } })
        })
      )
      const before = 2 * keys.length
      yield* Effect.repeat(readEvents("subscription.*"), { until: (events) => events.length >= before })
      yield* setTime("2027-04-01T00:00:00Z")
      yield* Effect.all([startProcess(), startProcess()], { concurrency: "unbounded" })
      const written = before + keys.length * 1.5
      const events = yield* Effect.repeat(readEvents("subscription.*"), {
        until: (events) => events.length >= written
      })
      const bySystem = events.filter(({ actor }) => actor.type === "system")
      const namesOf = (type: string) =>
        bySystem.filter((event) => event.type === type).map(({ subject }) => subject.name ?? "")
      assert.deepStrictEqual(namesOf("subscription.updated").sort(), keys)
      assert.deepStrictEqual(
        namesOf("subscription.status_changed").sort(),
        keys.filter((_, index) => index % 2 === 0)
      )
      assert.isTrue(bySystem.every(({ data }) => data["updatedOn"] === "2027-04-01T00:00:00.000Z"))
      assert.lengthOf(yield* readEvents("subscription.*"), written)
      const page = { limit: 1, offset: 0 }
      const { list } = yield* Subscriptions
      const canceled = yield* list({ params: { bucketId }, query: { ...page, status: "canceled" } })
      assert.strictEqual(canceled.total, keys.length / 2)
    }).pipe(startAt("2027-03-15T00:00:00Z"))
  )
})

describe.each(stores)("a trial, on %s", (_, store) => {
  const startAt = startOn(store)
  const trialEndDate = DateTime.makeUnsafe("2027-03-20T00:00:00Z")

  it.effect("that ends is one change of status by the system, although nobody reads it and two processes run", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      const trials = yield* Effect.all(
        Array.from({ length: 20 }, () => subscribe({ status: "trialing", trialEndDate, trialEndStatus: "cancel" }))
      )
      yield* setTime("2027-03-20T00:00:00Z")
      // A process looks for ended trials when it starts.
      yield* Effect.all([startProcess(), startProcess()], { concurrency: "unbounded" })
      const params = { bucketId, subscriptionId: trials[0]?.id ?? "" }
      const events = yield* Effect.repeat(readEvents("subscription.*"), {
        until: (events) => events.length >= 40
      })
      const changes = events.filter(({ type }) => type === "subscription.status_changed")
      assert.deepStrictEqual(changes.map(({ subject }) => subject.id).sort(), trials.map(({ id }) => id).sort())
      assert.isTrue(changes.every(({ actor }) => actor.type === "system" && actor.id === undefined))
      assert.isTrue(changes.every(({ data }) => data["previousStatus"] === "trialing" && data["status"] === "canceled"))
      const { value } = yield* (yield* Subscriptions).get({ params })
      const [change] = changes.filter(({ subject }) => subject.id === params.subscriptionId)
      assert.strictEqual(change?.data["updatedOn"], DateTime.formatIso(value.updatedOn))
      assert.lengthOf(yield* readEvents("subscription.*"), 40)
    }).pipe(startAt(start))
  )

  it.effect("that has ended when it is created or set is written as ended, with one event", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUp()
      yield* setTime("2027-03-20T00:00:00Z")
      const ended = { status: "trialing", trialEndDate, trialEndStatus: "canceled" } as const
      const created = yield* subscribe(ended)
      const updated = yield* subscribe()
      yield* updated.update(ended)
      const { list } = yield* Subscriptions
      const page = yield* list({ params: { bucketId }, query: { limit: 10, offset: 0, status: "canceled" } })
      assert.deepStrictEqual(page.data.map(({ id }) => id).sort(), [created.id, updated.id].sort())
      yield* persistDueChanges(bucketId, yield* DateTime.now)
      const events = yield* readEvents("subscription.*")
      assert.deepStrictEqual(
        events.map(({ type, data }) => [type, data["status"], data["previousStatus"]]),
        [
          ["subscription.created", "canceled", undefined],
          ["subscription.created", "active", undefined],
          ["subscription.updated", "canceled", undefined],
          ["subscription.status_changed", "canceled", "active"]
        ]
      )
    }).pipe(startAt(start))
  )

  it.effect("that has ended and is updated, before anyone noticed, changes its status by the system", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp()
      const subscription = yield* subscribe({ status: "trialing", trialEndDate })
      yield* setTime("2027-03-20T00:00:00Z")
      yield* subscription.update({ status: "past-due" })
      const [created, ...events] = yield* readEvents("subscription.*")
      assert.strictEqual(created?.type, "subscription.created")
      assert.deepStrictEqual(
        events.map(({ type, actor, data }) => [type, actor.type, data["previousStatus"], data["status"]]),
        [
          ["subscription.status_changed", "system", "trialing", "active"],
          ["subscription.updated", "host", undefined, "past-due"],
          ["subscription.status_changed", "host", "active", "past-due"]
        ]
      )
    }).pipe(startAt(start))
  )
})
