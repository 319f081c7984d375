/**
 * `key.expiring`: 14, 7 and 1 day before a key expires, once each, whichever processes record it and whenever they die.
 */
import { hash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { ApiKeys, Consumers, Events } from "@tollgate/core/effect"
import { Partition, Store, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { waitForEvents } from "@tollgate/testing"
import { DateTime, Effect } from "effect"
import { dueRecords } from "../src/jobs/workRecords.ts"
import { recordExpiringKeys } from "../src/keys/expiryEvents.ts"
import { outboxRecords } from "../src/outbox/outboxRecords.ts"
import { keyRecords } from "../src/records/keyRecords.ts"
import { alice, bucket, ofAlice, partition } from "./alice.ts"
import { stores } from "./stores.ts"
import { setTime, startOn } from "./usageServices.ts"

const start = "2027-03-01T12:00:00.000Z"
const flushEventLoop = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
const parse = (text: string) => DateTime.makeUnsafe(text)
const addDays = (days: number) => DateTime.add(parse(start), { hours: days * 24 })

const createAlice = Effect.flatMap(Consumers, ({ create }) => create({ params: bucket, payload: { name: alice } }))
const createKeys = (payload: ReadonlyArray<object>) =>
  Effect.flatMap(ApiKeys, (keys) =>
    Effect.map(keys.createMany({ params: ofAlice, payload }), ({ data }) => data.map(({ id }) => id))
  )
const createKey = (fields: object) => Effect.map(createKeys([fields]), ([id = ""]) => id)
const update = (keyId: string, payload: object) =>
  Effect.flatMap(ApiKeys, (keys) => keys.update({ params: { ...ofAlice, keyId }, payload }))

/** Records what is due, as the job does. Returns when the next is due. */
const run = Effect.flatMap(DateTime.now, (now) => recordExpiringKeys(partition, now))
const runAt = (text: string) => Effect.andThen(setTime(text), run)

/** The events that were recorded, in the order of the outbox. No process moves them. */
const readEvents = Effect.gen(function* () {
  const entries = yield* outboxRecords.page(partition, { offset: 0, limit: 10_000 })
  return entries.entries.flatMap(({ value }) => (value.type === "key.expiring" ? [value] : []))
})
const readTold = Effect.map(readEvents, (events) => events.map(({ subject, data }) => [subject.id, data["daysLeft"]]))

const readDue = Effect.gen(function* () {
  const store = yield* Store
  const [record] = yield* store.get(Partition.jobsDirectory, [`due/expiries/${partition}`])
  return record === undefined ? undefined : (yield* dueRecords.decode(record)).value.dueOn
})

/** Repeats an effect while background work goes on, on the real clock. */
const waitUntil = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>, isDone: (value: A) => boolean) {
  let value = yield* effect
  for (; !isDone(value); value = yield* effect) yield* flushEventLoop
  return value
})

describe.each(stores)("a key that expires, on %s", (_, layer) => {
  /** Without background work: the tests do it themselves. */
  const test = startOn(layer)(start, { background: false })

  it.effect("is told 14, 7 and 1 day before, once each", () =>
    Effect.gen(function* () {
      yield* createAlice
      const expiresOn = addDays(30)
      const id = yield* createKey({ expiresOn, description: "mine", scopes: ["a"] })
      assert.deepStrictEqual(yield* readDue, addDays(16))
      const times = [
        ["2027-03-17T11:59:59.999Z", []],
        ["2027-03-17T12:00:00.000Z", [14]],
        ["2027-03-17T12:00:00.000Z", [14]],
        ["2027-03-24T11:59:59.999Z", [14]],
        ["2027-03-24T12:00:00.000Z", [14, 7]],
        ["2027-03-30T11:59:59.999Z", [14, 7]],
        ["2027-03-30T12:00:01.000Z", [14, 7, 1]],
        ["2027-03-31T12:00:00.000Z", [14, 7, 1]],
        ["2027-06-01T00:00:00.000Z", [14, 7, 1]]
      ] as const
      for (const [time, told] of times) {
        yield* runAt(time)
        assert.deepStrictEqual(
          (yield* readTold).map(([, daysLeft]) => daysLeft),
          [...told],
          time
        )
      }
      const [event] = yield* readEvents
      const createdOn = start
      assert.deepStrictEqual(event?.data, {
        ...{
          id,
          consumerName: "alice",
          keyBucketName: bucket.bucketName,
          createdOn,
          updatedOn: createdOn,
          description: "mine",
          scopes: ["a"]
        },
        expiresOn: DateTime.formatIso(expiresOn),
        daysLeft: 14
      })
      assert.deepStrictEqual(event?.actor, { type: "system" })
      assert.deepStrictEqual(event?.subject, { type: "key", id })
      assert.strictEqual(event && DateTime.formatIso(event.occurredOn), "2027-03-17T12:00:00.000Z")
    }).pipe(test)
  )

  it.effect("is looked at when its next event is due, and not more than that", () =>
    Effect.gen(function* () {
      yield* createAlice
      const days = [15, 15.01, 18.4, 33, 61.5, 62, 400, 9_000]
      const ids = yield* createKeys(days.map((day) => ({ expiresOn: addDays(day) })))
      let runs = 0
      let next = yield* run
      for (; DateTime.isLessThan(next, addDays(420)); runs++) next = yield* runAt(DateTime.formatIso(next))
      const events = yield* readEvents
      const expected = ids.flatMap((id, index) =>
        [14, 7, 1].flatMap((daysLeft) => {
          const on = Date.parse(start) + ((days[index] ?? 0) - daysLeft) * 86_400_000
          return (days[index] ?? 0) < 9_000 ? [{ id, daysLeft, on }] : []
        })
      )
      assert.lengthOf(events, expected.length)
      for (const { id, daysLeft, on } of expected) {
        const event = events.find(({ subject, data }) => subject.id === id && data["daysLeft"] === daysLeft)
        const late = event === undefined ? Number.NaN : DateTime.toEpochMillis(event.occurredOn) - Math.round(on)
        assert.isTrue(late >= 0 && late <= 60_000, `${id} ${daysLeft}: ${late}`)
      }
      // Some more, because far times are found by year, month, day and hour.
      assert.isAtMost(runs, expected.length * 4)
    }).pipe(test)
  )

  it.effect("is told only the latest event after a pause, and none that was due before it had its expiry", () =>
    Effect.gen(function* () {
      yield* createAlice
      const early = yield* createKey({ expiresOn: addDays(20) })
      const short = yield* createKey({ expiresOn: addDays(10) })
      const set = yield* createKey({})
      const gone = yield* createKey({ expiresOn: addDays(16) })
      yield* setTime("2027-03-16T12:00:00.000Z")
      // The 14 days of this key are over when it gets its expiry, its 7 days are not.
      yield* update(set, { expiresOn: addDays(25) })
      yield* update(set, { description: "d" })
      yield* update(set, { expiresOn: addDays(25), scopes: ["a"] })
      yield* runAt("2027-03-17T12:00:00.000Z")
      // `short` and `gone` have expired: nothing is told of them any more.
      assert.deepStrictEqual(yield* readTold, [[early, 7]])
      yield* runAt("2027-03-20T12:00:00.000Z")
      assert.deepStrictEqual(yield* readTold, [
        [early, 7],
        [set, 7],
        [early, 1]
      ])
      assert.notInclude((yield* readTold).flat(), short)
      assert.notInclude((yield* readTold).flat(), gone)
    }).pipe(test)
  )

  it.effect("is not told if it was removed or disabled, or expires later or never", () =>
    Effect.gen(function* () {
      yield* createAlice
      const expiresOn = addDays(20)
      const [kept = "", removed = "", disabled = "", later = "", never = "", enabled = ""] = yield* createKeys(
        Array.from({ length: 6 }, () => ({ expiresOn }))
      )
      yield* (yield* ApiKeys).remove({ params: { ...ofAlice, keyId: removed } })
      yield* update(disabled, { disabled: true })
      yield* update(later, { expiresOn: addDays(60) })
      yield* update(never, { expiresOn: null })
      yield* update(enabled, { disabled: true })
      yield* runAt("2027-03-07T12:00:00.000Z")
      assert.deepStrictEqual(yield* readTold, [[kept, 14]])
      // What was due while it was disabled is over.
      yield* update(enabled, { disabled: false })
      yield* runAt("2027-03-08T12:00:00.000Z")
      assert.deepStrictEqual(yield* readTold, [[kept, 14]])
      yield* runAt("2027-03-14T12:00:00.000Z")
      assert.deepStrictEqual(
        (yield* readTold).slice(1).sort(),
        [
          [kept, 7],
          [enabled, 7]
        ].sort()
      )
      yield* (yield* Consumers).remove({ params: ofAlice })
      yield* runAt("2027-03-20T12:00:00.000Z")
      assert.lengthOf(yield* readTold, 3)
    }).pipe(test)
  )

  it.effect("is told again for an expiry that was changed, and not for the one before", () =>
    Effect.gen(function* () {
      yield* createAlice
      const id = yield* createKey({ expiresOn: addDays(20) })
      yield* runAt("2027-03-07T12:00:00.000Z")
      yield* update(id, { expiresOn: addDays(40) })
      const times = [
        ["2027-03-14T12:00:00.000Z", [14]],
        ["2027-03-20T12:00:00.000Z", [14]],
        ["2027-03-27T12:00:00.000Z", [14, 14]],
        ["2027-04-03T12:00:00.000Z", [14, 14, 7]],
        ["2027-04-09T12:00:00.000Z", [14, 14, 7, 1]]
      ] as const
      for (const [time, told] of times) {
        yield* Effect.all([runAt(time), runAt(time)], { concurrency: "unbounded" })
        assert.deepStrictEqual(
          (yield* readTold).map(([, daysLeft]) => daysLeft),
          [...told],
          time
        )
      }
    }).pipe(test)
  )

  it.effect("is not told if its consumer was removed, before a job has removed its keys", () =>
    Effect.gen(function* () {
      yield* createAlice
      yield* createKeys(Array.from({ length: 120 }, () => ({ expiresOn: addDays(20) })))
      yield* (yield* Consumers).remove({ params: ofAlice })
      const { total } = yield* keyRecords.page(partition, { offset: 0, limit: 0 })
      assert.strictEqual(total, 120)
      yield* runAt("2027-03-07T12:00:00.000Z")
      assert.deepStrictEqual(yield* readTold, [])
    }).pipe(test)
  )

  it.effect("is told if it expires by a roll of many keys, before a job has written that to it", () =>
    Effect.gen(function* () {
      yield* createAlice
      const ids = yield* createKeys(Array.from({ length: 120 }, () => ({})))
      yield* (yield* Consumers).rollKey({ params: ofAlice, payload: { expiresOn: addDays(20) } })
      assert.deepStrictEqual(yield* readDue, addDays(6))
      yield* runAt("2027-03-07T12:00:00.000Z")
      assert.deepStrictEqual(
        (yield* readTold).toSorted(),
        ids.toSorted().map((id) => [id, 14])
      )
    }).pipe(test)
  )

  it.effect("is told once by any number of processes, in batches, in order, also if they die in between", () =>
    Effect.gen(function* () {
      yield* createAlice
      const store = yield* Store
      const sizes: Array<number> = []
      let failing = 0
      const unavailable = new StoreUnavailable({
        ...{ operation: "commit", problem: "gone", retryable: true, outcome: "unknown" }
      })
      const watched: StoreOperations = {
        ...store,
        commit: (...args) => {
          const [, changes] = args
          const size = changes.filter((change) => "key" in change && change.key.startsWith("outbox/")).length
          return Effect.tap(store.commit(...args), () => {
            if (size === 0) return Effect.void
            sizes.push(size)
            // The reply is lost: the commit is there.
            return failing-- > 0 ? Effect.fail(unavailable) : Effect.void
          })
        }
      }
      const first = yield* createKeys(Array.from({ length: 700 }, () => ({ expiresOn: addDays(20) })))
      const second = yield* createKeys(Array.from({ length: 600 }, () => ({ expiresOn: addDays(20.5) })))
      yield* setTime("2027-03-08T00:00:00.000Z")
      const runOnce = Effect.provideService(run, Store, watched)
      failing = 1
      assert.instanceOf(yield* Effect.flip(runOnce), StoreUnavailable)
      yield* Effect.all([runOnce, runOnce, runOnce], { concurrency: "unbounded" })
      const told = yield* readTold
      const expected = [...first.toSorted(), ...second.toSorted()].map((id) => [id, 14])
      assert.deepStrictEqual(told.toSorted(), expected.toSorted())
      // The outbox has them in the order of their commits.
      assert.deepStrictEqual(told, expected)
      assert.deepStrictEqual(sizes, [500, 500, 300])
    }).pipe(test)
  )

  it.effect("is looked for from the commit on, whichever operation gives it its expiry", () =>
    Effect.gen(function* () {
      const [consumers, keys] = [yield* Consumers, yield* ApiKeys]
      const dueAfter = Effect.fnUntraced(function* <A, E, R>(operation: Effect.Effect<A, E, R>) {
        yield* operation
        return yield* readDue
      })
      let days = 400
      /** Each is due earlier than the one before. */
      const nextExpiry = () => addDays(--days)
      const check = <A, E, R>(label: string, operation: Effect.Effect<A, E, R>) =>
        Effect.map(dueAfter(operation), (dueOn) => assert.deepStrictEqual(dueOn, addDays(days - 14), label))
      yield* createAlice
      assert.isUndefined(yield* readDue)
      yield* createKey({})
      assert.isUndefined(yield* dueAfter(createKey({ expiresOn: addDays(0.5) })))
      yield* check("create", keys.create({ params: ofAlice, payload: { expiresOn: nextExpiry() } }))
      yield* check("createMany", createKeys([{}, { expiresOn: addDays(500) }, { expiresOn: nextExpiry() }]))
      const item = { hash: hash("sha256", "imported-value-1"), algorithm: "sha256", expiresOn: nextExpiry() } as const
      yield* check("import", keys.import({ params: ofAlice, payload: { keys: [item] } }))
      const bob = { name: alice.replace("alice", "bob") as typeof alice, apiKeys: [{ expiresOn: nextExpiry() }] }
      yield* check("create a consumer", consumers.create({ params: bucket, payload: bob }))
      const id = yield* createKey({})
      yield* check("update", update(id, { expiresOn: nextExpiry() }))
      yield* check("roll", consumers.rollKey({ params: ofAlice, payload: { expiresOn: nextExpiry() } }))
      // If less than 14 days are left, the next event counts.
      yield* createKey({ expiresOn: addDays(10) })
      assert.deepStrictEqual(yield* readDue, addDays(3))
    }).pipe(test)
  )
})

describe.each(stores)("keys that expire while processes run, on %s", (_, layer) => {
  const readLog = Effect.gen(function* () {
    yield* waitForEvents(yield* Store)
    const query = { limit: 1_000, offset: 0, order: "asc", type: "key.expiring" } as const
    return (yield* (yield* Events).list({ params: bucket, query })).data
  })

  it.effect("are told in the event log, also those of a roll of many keys", () =>
    Effect.gen(function* () {
      yield* createAlice
      const many = yield* createKeys(Array.from({ length: 150 }, () => ({})))
      const rolled = { params: ofAlice, payload: { expiresOn: addDays(20) } }
      yield* (yield* Consumers).rollKey(rolled)
      const one = yield* createKey({ expiresOn: addDays(21) })
      // A job writes the expiry of a roll of many keys.
      yield* waitUntil(
        keyRecords.page(partition, { where: ["expires:2027"], offset: 0, limit: 0 }),
        ({ total }) => total === many.length + 1
      )
      assert.deepStrictEqual(yield* readDue, addDays(6))
      yield* setTime("2027-03-08T12:00:00.000Z")
      const events = yield* waitUntil(readLog, ({ length }) => length > many.length)
      assert.deepStrictEqual(
        events.map(({ subject, data }) => [subject.id, data["daysLeft"]]),
        [...many.toSorted(), one].map((id) => [id, 14])
      )
    }).pipe(startOn(layer)(start))
  )
})
