/**
 * Deliveries over time: retries, endpoints that fail for days, rotated secrets and claims.
 */
import { assert, describe, it } from "@effect/vitest"
import { MemoryStore } from "@tollgate/memory"
import { Partition, StoreUnavailable } from "@tollgate/store"
import { Clock, DateTime, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { moveTo, startBarrier, startClockedGate, waitUntil } from "./clockedGate.ts"
import { hang, isSignedWith, respondWith, startReceiver } from "./receivers.ts"

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]
const schedule = [5 * second, 5 * minute, ...[0.5, 2, 5, 10, 14, 20, 24].map((hours) => hours * hour)]

const startOn = TestClock.setTime(Date.parse("2026-03-01T12:00:00Z"))

/** Lets time pass, and in each second the work that is due. */
const advance = Effect.fnUntraced(function* (seconds: number) {
  for (let second = 0; second < seconds; second++) {
    yield* TestClock.adjust("1 second")
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
})

const advanceUntil = Effect.fnUntraced(function* (condition: () => boolean) {
  for (let turn = 0; turn < 10_000 && !condition(); turn++) {
    yield* TestClock.adjust("10 millis")
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
  assert.isTrue(condition())
})

const setUp = Effect.gen(function* () {
  yield* startOn
  const store = MemoryStore.open()
  const gate = yield* startClockedGate(store)
  const barrier = yield* startBarrier(gate)
  const receiver = yield* Effect.promise(() => startReceiver(respondWith(500)))
  const webhook = yield* gate.create(receiver.url)
  return { store, gate, barrier, receiver, webhook }
})

describe("a delivery that fails", () => {
  it.effect(
    "is repeated after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h, each up to a tenth earlier or later, and then ends",
    () =>
      Effect.gen(function* () {
        const { gate, barrier, receiver, webhook } = yield* setUp
        const id = yield* gate.test(webhook.id)
        for (const [index, delay] of schedule.entries()) {
          const delivery = yield* gate.awaitAttempts(webhook.id, id, index + 1)
          const next = delivery?.nextAttemptOn
          if (next === undefined) return assert.fail(`no attempt follows after ${index + 1}`)
          assert.strictEqual(delivery?.status, "pending")
          const actual = DateTime.toEpochMillis(next) - (yield* Clock.currentTimeMillis)
          assert.isAtLeast(actual, 0.9 * delay)
          assert.isAtMost(actual, 1.1 * delay)
          yield* moveTo(next, -1)
          yield* barrier.pass
          assert.lengthOf(receiver.requests, index + 1)
          yield* moveTo(next)
        }
        const last = yield* gate.awaitAttempts(webhook.id, id, 10)
        assert.strictEqual(last?.status, "failed")
        assert.isUndefined(last?.nextAttemptOn)
        assert.lengthOf(new Set(receiver.requests.map(({ body }) => body)), 1)
        assert.deepStrictEqual(
          receiver.requests.map(({ headers }) => headers["webhook-timestamp"]),
          last?.attempts.map(({ startedOn }) => String(Math.floor(startedOn.epochMilliseconds / 1_000)))
        )
        assert.isTrue(receiver.requests.every((request) => isSignedWith(webhook.secret, request)))
        assert.strictEqual((yield* gate.get(webhook.id)).state, "enabled")
      })
  )

  it.effect("waits as long as Retry-After asks, and not less than without it", () =>
    Effect.gen(function* () {
      const { gate, receiver, webhook } = yield* setUp
      const readDelay = Effect.fnUntraced(function* (retryAfter: string) {
        receiver.respond = respondWith(503, { "retry-after": retryAfter })
        const id = yield* gate.test(webhook.id)
        const delivery = yield* gate.awaitAttempts(webhook.id, id, 1)
        return (
          DateTime.toEpochMillis(delivery?.nextAttemptOn ?? DateTime.makeUnsafe(0)) - (yield* Clock.currentTimeMillis)
        )
      })
      assert.strictEqual(yield* readDelay("3600"), hour)
      assert.strictEqual(yield* readDelay("Sun, 01 Mar 2026 12:10:00 GMT"), 10 * minute)
      assert.strictEqual(yield* readDelay("9999999"), day)
      for (const short of ["1", "0", "soon"]) assert.isAtLeast(yield* readDelay(short), 4.5 * second)
    })
  )

  it.effect("is not repeated early because another one is", () =>
    Effect.gen(function* () {
      const { gate, receiver, webhook } = yield* setUp
      receiver.respond = respondWith(503, { "retry-after": "600" })
      const later = yield* gate.test(webhook.id)
      const { nextAttemptOn } = (yield* gate.awaitAttempts(webhook.id, later, 1)) ?? {}
      receiver.respond = respondWith(500)
      const sooner = yield* gate.test(webhook.id)
      yield* gate.awaitAttempts(webhook.id, sooner, 1)
      receiver.respond = respondWith(200)
      yield* TestClock.adjust(6 * second)
      yield* gate.awaitAttempts(webhook.id, sooner, 2)
      assert.lengthOf((yield* gate.readDelivery(webhook.id, later))?.attempts ?? [], 1)
      yield* moveTo(nextAttemptOn ?? DateTime.makeUnsafe(0))
      yield* gate.awaitAttempts(webhook.id, later, 2)
    })
  )
})

describe("an endpoint that fails for 5 days", () => {
  it.effect("is disabled, gets nothing more, and starts anew when it is enabled", () =>
    Effect.gen(function* () {
      const { gate, receiver } = yield* setUp
      const { id } = yield* gate.create(receiver.url, ["*"])
      const fail = Effect.fnUntraced(function* () {
        const delivery = yield* gate.test(id)
        yield* gate.awaitAttempts(id, delivery, 1)
        return delivery
      })
      const first = yield* fail()
      yield* TestClock.adjust(4.9 * day)
      const second = yield* fail()
      assert.strictEqual((yield* gate.get(id)).state, "enabled")
      // An attempt of the deliveries before may be due, and disable it first.
      yield* TestClock.adjust(0.2 * day)
      yield* Effect.ignore(gate.test(id))
      yield* waitUntil(Effect.map(gate.get(id), ({ state }) => expect(state).toBe("disabled")))
      assert.strictEqual((yield* gate.get(id)).disabledReason, "Every attempt failed for 5 days")
      assert.deepInclude((yield* gate.events)[0], { type: "webhook.disabled", actor: { type: "system" } })
      for (const delivery of [first, second]) {
        yield* waitUntil(
          Effect.map(gate.readDelivery(id, delivery), (found) => {
            expect(found).toMatchObject({ status: "failed" })
            expect(found).not.toHaveProperty("nextAttemptOn")
          })
        )
      }
      const before = yield* gate.countDeliveries(id)
      yield* gate.create(receiver.url)
      assert.strictEqual((yield* gate.events)[0]?.type, "webhook.created")
      assert.strictEqual(yield* gate.countDeliveries(id), before)
      yield* gate.enable(id)
      yield* fail()
      yield* TestClock.adjust(4.9 * day)
      yield* fail()
      assert.strictEqual((yield* gate.get(id)).state, "enabled")
      yield* gate.create(receiver.url)
      assert.isAbove(yield* gate.countDeliveries(id), before + 2)
    })
  )

  it.effect("is not disabled if one attempt succeeded meanwhile", () =>
    Effect.gen(function* () {
      const { gate, receiver, webhook } = yield* setUp
      const attempt = Effect.fnUntraced(function* (status: number) {
        receiver.respond = respondWith(status)
        yield* gate.awaitAttempts(webhook.id, yield* gate.test(webhook.id), 1)
      })
      yield* attempt(500)
      yield* TestClock.adjust(3 * day)
      yield* attempt(200)
      yield* TestClock.adjust(3 * day)
      yield* attempt(500)
      assert.strictEqual((yield* gate.get(webhook.id)).state, "enabled")
    })
  )
})

describe("a rotated secret", () => {
  it.effect("signs beside the new one for 24 hours, and then no more", () =>
    Effect.gen(function* () {
      const { gate, receiver, webhook } = yield* setUp
      receiver.respond = respondWith(200)
      const { secret } = yield* gate.rotateSecret(webhook.id)
      const readSignatures = Effect.fnUntraced(function* () {
        yield* gate.awaitAttempts(webhook.id, yield* gate.test(webhook.id), 1)
        const request = receiver.requests.at(-1)
        return [webhook.secret, secret].map((value) => request !== undefined && isSignedWith(value, request))
      })
      assert.deepStrictEqual(yield* readSignatures(), [true, true])
      yield* TestClock.adjust(day - 1)
      assert.deepStrictEqual(yield* readSignatures(), [true, true])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* readSignatures(), [false, true])
    })
  )
})

describe("an attempt whose process ends", () => {
  it.effect("is repeated by another process at once", () =>
    Effect.gen(function* () {
      const { store, gate, receiver, webhook } = yield* setUp
      receiver.respond = hang
      const id = yield* gate.test(webhook.id)
      yield* waitUntil(Effect.sync(() => expect(receiver.requests).toHaveLength(1)))
      yield* gate.close
      receiver.respond = respondWith(200)
      const other = yield* startClockedGate(store)
      const repeated = yield* other.awaitAttempts(webhook.id, id, 1)
      assert.strictEqual(repeated?.status, "succeeded")
      assert.lengthOf(new Set(receiver.ids()), 1)
    })
  )

  it.effect.each([0, minute, -minute])(
    "is repeated some 10 seconds after the last heartbeat, and not earlier, by one whose clock is ahead by %i ms",
    (aheadMs) =>
      Effect.gen(function* () {
        yield* startOn
        const store = MemoryStore.open()
        let isSilent = false
        const unavailable = new StoreUnavailable({
          operation: "commit",
          problem: "it is silent",
          retryable: true,
          outcome: "not-applied"
        })
        const first = yield* startClockedGate(
          {
            ...store,
            commit: (partition, ...rest) =>
              isSilent && partition === Partition.jobsDirectory
                ? Effect.fail(unavailable)
                : store.commit(partition, ...rest)
          },
          { hasTestClock: true }
        )
        let failLate = () => {}
        const receiver = yield* Effect.promise(() => startReceiver())
        receiver.respond = (response, request) => {
          failLate = () => respondWith(500)(response, request)
        }
        const webhook = yield* first.create(receiver.url)
        const started = yield* Effect.forkChild(first.test(webhook.id))
        yield* advanceUntil(() => receiver.requests.length === 1)
        const id = yield* Fiber.join(started)
        receiver.respond = respondWith(200)
        const other = yield* startClockedGate(store, { aheadMs, hasTestClock: true })
        // An attempt ends after 15 seconds.
        yield* advance(1)
        assert.lengthOf(receiver.requests, 1, "a process that lives keeps its deliveries")
        isSilent = true
        yield* advance(6)
        assert.lengthOf(receiver.requests, 1)
        yield* advance(7)
        yield* waitUntil(Effect.sync(() => expect(receiver.requests).toHaveLength(2)))
        yield* other.awaitAttempts(webhook.id, id, 1)
        // The first one fails later, and does not undo the success of the other.
        failLate()
        const both = yield* first.awaitAttempts(webhook.id, id, 2)
        assert.strictEqual(both?.status, "succeeded")
        assert.isUndefined(both?.nextAttemptOn)
      })
  )
})
