/**
 * How long the event log keeps events, by their age.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountName, Events } from "@tollgate/core/effect"
import { Store } from "@tollgate/store"
import { waitForEvents } from "@tollgate/testing"
import { Effect } from "effect"
import { stores } from "./stores.ts"
import { setTime, setUp, startOn } from "./usageServices.ts"

const start = "2027-03-14T09:30:00Z"

const listTypes = Effect.gen(function* () {
  yield* waitForEvents(yield* Store)
  const params = { accountName: AccountName.make("acme") }
  const { data, total } = yield* (yield* Events).list({ params, query: { limit: 100, offset: 0, order: "asc" } })
  assert.strictEqual(total, data.length)
  return data.map(({ type }) => type)
})

describe.each(stores)("an event, on %s", (_, store) => {
  it.effect("is dropped after the days that are configured, when the log is read", () =>
    Effect.gen(function* () {
      yield* setUp()
      yield* setTime("2027-03-20T09:30:00Z")
      assert.lengthOf(yield* listTypes, 2)
      yield* setTime("2027-03-21T09:29:59Z")
      assert.lengthOf(yield* listTypes, 2)
      yield* setTime("2027-03-21T09:31:01Z")
      assert.deepStrictEqual(yield* listTypes, [])
    }).pipe(startOn(store)(start, { events: { retentionDays: 7 } }))
  )

  it.effect("is dropped after 90 days, when others are written, and not before", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp()
      yield* waitForEvents(yield* Store)
      yield* setTime("2027-06-12T09:29:59Z")
      yield* subscribe()
      assert.lengthOf(yield* listTypes, 3)
      yield* setTime("2027-06-12T09:30:01Z")
      const subscription = yield* subscribe()
      // The log was read a moment ago, so that only the write drops events.
      assert.deepStrictEqual(yield* listTypes, ["subscription.created", "subscription.created"])
      yield* subscription.remove
      assert.lengthOf(yield* listTypes, 3)
    }).pipe(startOn(store)(start))
  )

  it.effect("of the system is dropped after 30 days, and changes are kept", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp({ requests: 10 })
      const subscription = yield* subscribe()
      yield* subscription.consume({ requests: 10 })
      const changes = ["metering_bucket.created", "plan.created", "subscription.created"]
      const reached = ["quota.threshold_reached", "quota.threshold_reached"]
      assert.sameMembers(yield* listTypes, [...changes, ...reached])
      yield* setTime("2027-04-13T09:29:59Z")
      assert.lengthOf(yield* listTypes, 5)
      yield* setTime("2027-04-13T09:31:01Z")
      assert.sameMembers(yield* listTypes, changes)
    }).pipe(startOn(store)(start))
  )

  it.effect("of the system that is one too many drops the oldest of the system, and no change", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp({ requests: 10 })
      const subscriptions = yield* Effect.forEach(Array.from({ length: 4 }), () => subscribe())
      for (const { consume } of subscriptions) yield* consume({ requests: 10 })
      const params = { accountName: AccountName.make("acme") }
      yield* waitForEvents(yield* Store)
      const events = yield* Events
      const { data } = yield* events.list({ params, query: { limit: 100, offset: 0, order: "asc" } })
      assert.lengthOf(data, 9)
      const [system, changes] = [true, false].map((isSystem) =>
        data.filter(({ actor }) => (actor.type === "system") === isSystem)
      )
      assert.lengthOf(changes ?? [], 6)
      assert.deepStrictEqual(
        system?.map(({ subject }) => subject.id),
        [subscriptions[2]?.id, subscriptions[3]?.id, subscriptions[3]?.id]
      )
    }).pipe(startOn(store)(start, { events: { maxSystemEventsPerAccount: 3 } }))
  )

  it.effect("that is a change and one too many drops the oldest change, and none of the system", () =>
    Effect.gen(function* () {
      const { subscribe } = yield* setUp({ requests: 10 })
      const subscription = yield* subscribe()
      yield* subscription.consume({ requests: 10 })
      yield* waitForEvents(yield* Store)
      for (let index = 0; index < 5; index++) yield* subscribe()
      const types = yield* listTypes
      assert.sameMembers(types, [
        "quota.threshold_reached",
        "quota.threshold_reached",
        ...Array<string>(3).fill("subscription.created")
      ])
    }).pipe(startOn(store)(start, { events: { maxEventsPerAccount: 3 } }))
  )
})
