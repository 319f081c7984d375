import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { FairSemaphore } from "../src/runtime/FairSemaphore.ts"

/** Starts work that holds its permit until `end`. `started` are the keys in the order in which they had their turn. */
const makeWork = (permits: number) => {
  const semaphore = new FairSemaphore(permits)
  const started: Array<string> = []
  const start = Effect.fnUntraced(function* (key: string) {
    const done = yield* Deferred.make<void>()
    const work = Effect.andThen(
      Effect.sync(() => started.push(key)),
      Deferred.await(done)
    )
    const fiber = yield* Effect.forkChild(semaphore.withPermit(key, work), { startImmediately: true })
    return {
      end: Effect.andThen(Deferred.succeed(done, undefined), Fiber.join(fiber)),
      interrupt: Fiber.interrupt(fiber)
    }
  })
  return { semaphore, started, start }
}

describe("FairSemaphore", () => {
  it.effect("gives a key no second permit while another key waits", () =>
    Effect.gen(function* () {
      const { started, start } = makeWork(2)
      const [first, second] = [yield* start("a"), yield* start("a")]
      yield* Effect.forEach(["a", "a"], start)
      const [quick] = [yield* start("b"), yield* start("b")]
      yield* first.end
      assert.deepStrictEqual(started, ["a", "a", "b"])
      // The key "a" still has a permit, so the one of "b" stays with it.
      yield* quick.end
      assert.deepStrictEqual(started, ["a", "a", "b", "b"])
      yield* second.end
      assert.deepStrictEqual(started, ["a", "a", "b", "b", "a"])
    })
  )

  it.effect("lets keys take turns, also one that came last", () =>
    Effect.gen(function* () {
      const { started, start } = makeWork(1)
      let current = yield* start("a")
      const work = yield* Effect.forEach(["a", "a", "b", "c", "b"], start)
      for (const index of [0, 2, 3, 1, 4]) {
        yield* current.end
        const next = work[index]
        assert.isDefined(next)
        current = next
      }
      assert.deepStrictEqual(started, ["a", "a", "b", "c", "a", "b"])
    })
  )

  it.effect("takes back the permit of work that is interrupted, also before it had one", () =>
    Effect.gen(function* () {
      const { started, start } = makeWork(1)
      const running = yield* start("a")
      const waiting = yield* start("b")
      yield* start("c")
      yield* waiting.interrupt
      yield* running.interrupt
      assert.deepStrictEqual(started, ["a", "c"])
    })
  )

  it.effect("runs any number of short works, one inside the other's turn", () =>
    Effect.gen(function* () {
      const { semaphore } = makeWork(1)
      const count = 20_000
      let runs = 0
      const work = Effect.sync(() => ++runs)
      yield* Effect.forEach(Array.from({ length: count }), () => semaphore.withPermit("a", work), {
        concurrency: "unbounded",
        discard: true
      })
      assert.strictEqual(runs, count)
    })
  )
})
