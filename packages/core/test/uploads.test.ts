/**
 * Uploads that are slow, or meet each other.
 */
import { assert, describe, it } from "@effect/vitest"
import { memorySources, memoryTarget, type SourceStore } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Effect, Fiber, Schedule, Stream } from "effect"
import { TestClock } from "effect/testing"
import { addressOf, branch, content, settled, startProcess } from "./processes.ts"

const pass = (seconds: number) =>
  Effect.gen(function* () {
    for (let second = 0; second < seconds; second++) {
      yield* TestClock.adjust("1 second")
      yield* settled
    }
  })

/** So many bytes, every so many seconds, for ever. */
const trickle = (bytes: number, seconds: number) =>
  Stream.fromEffectSchedule(
    Effect.sync(() => new Uint8Array(bytes)),
    Schedule.spaced({ seconds })
  )

describe("an upload", () => {
  it.effect("that has arrived may take its store as long as it needs", () =>
    Effect.gen(function* () {
      const inner = memorySources()
      const slow: SourceStore = {
        ...inner,
        put: (key, stream) => Effect.andThen(inner.put(key, stream), Effect.sleep("40 seconds"))
      }
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget(), slow)
      const address = addressOf((yield* uploads.create(branch)).uploadUrl)
      const sending = yield* Effect.forkChild(uploads.receive(address, content))
      yield* pass(45)
      assert.strictEqual((yield* Fiber.join(sending)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("is not given up while its store is slow to take the next piece", () =>
    Effect.gen(function* () {
      const inner = memorySources()
      const slow: SourceStore = {
        ...inner,
        put: (key, stream) =>
          inner.put(
            key,
            Stream.tap(stream, () => Effect.sleep("40 seconds"))
          )
      }
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget(), slow)
      const address = addressOf((yield* uploads.create(branch)).uploadUrl)
      const pieces = Stream.fromIterable([new Uint8Array(5), new Uint8Array(5)], { chunkSize: 1 })
      const sending = yield* Effect.forkChild(uploads.receive(address, pieces))
      yield* pass(85)
      assert.strictEqual((yield* Fiber.join(sending)).bytes, 10)
    }).pipe(Effect.scoped)
  )

  it.effect("that trickles is given up after its grace period", () =>
    Effect.gen(function* () {
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget())
      const address = addressOf((yield* uploads.create(branch)).uploadUrl)
      const sending = yield* Effect.forkChild(Effect.flip(uploads.receive(address, trickle(1, 20))))
      yield* settled
      yield* pass(59)
      assert.isUndefined(sending.pollUnsafe())
      yield* pass(10)
      assert.match((yield* Fiber.join(sending)).message, /less than 1024 bytes per second/)
      assert.strictEqual((yield* uploads.receive(address, content)).bytes, 8)
    }).pipe(Effect.scoped)
  )

  it.effect("ends after an hour, however steadily it comes", () =>
    Effect.gen(function* () {
      const { uploads } = yield* startProcess(MemoryStore.open(), memoryTarget(), memorySources(), {
        sourceLimit: 100_000_000
      })
      const address = addressOf((yield* uploads.create(branch)).uploadUrl)
      const sending = yield* Effect.forkChild(Effect.flip(uploads.receive(address, trickle(20_000, 10))))
      yield* settled
      for (let minute = 0; minute < 59; minute++) yield* TestClock.adjust("1 minute")
      yield* settled
      assert.isUndefined(sending.pollUnsafe())
      yield* pass(80)
      assert.match((yield* Fiber.join(sending)).message, /longer than 60 minutes/)
    }).pipe(Effect.scoped)
  )
})
