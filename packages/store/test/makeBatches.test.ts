import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { makeBatches } from "../src/runtime/makeBatches.ts"

describe("makeBatches", () => {
  it.live("runs together what arrives while a batch runs, and each key by itself", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const batches: Array<readonly [string, ReadonlyArray<number>]> = []
      const run = makeBatches(
        (key: string, values: ReadonlyArray<number>) =>
          Effect.gen(function* () {
            batches.push([key, values])
            if (key === "a" && batches.length === 1) yield* Deferred.await(gate)
            return values.length
          }),
        3
      )
      const first = yield* Effect.forkChild(run("a", 0))
      while (batches.length === 0) yield* Effect.yieldNow
      const rest = yield* Effect.forkChild(
        Effect.all(
          [1, 2, 3, 4].map((value) => run("a", value)),
          { concurrency: 4 }
        )
      )
      assert.strictEqual(yield* run("b", 9), 1)
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual(yield* Fiber.join(first), 1)
      assert.deepStrictEqual(yield* Fiber.join(rest), [3, 3, 3, 1])
      assert.deepStrictEqual(batches, [
        ["a", [0]],
        ["b", [9]],
        ["a", [1, 2, 3]],
        ["a", [4]]
      ])
    })
  )

  it.live("goes on when the caller that runs the batch is interrupted, and leaves out one that waits", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const batches: Array<ReadonlyArray<number>> = []
      const run = makeBatches(
        (_: string, values: ReadonlyArray<number>) =>
          Effect.gen(function* () {
            batches.push(values)
            yield* Deferred.await(gate)
            return values.length
          }),
        2
      )
      const calls = yield* Effect.forEach([1, 2, 3, 4], (value) => Effect.forkChild(run("a", value)))
      while (batches.length === 0) yield* Effect.yieldNow
      const [running, , waiting] = calls
      const interrupted = yield* Effect.forkChild(
        Effect.all([running, waiting].map((call) => (call === undefined ? Effect.void : Fiber.interrupt(call))))
      )
      yield* Effect.yieldNow
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(interrupted)
      const [, second, , last] = calls
      assert.deepStrictEqual(second && (yield* Fiber.join(second)), 2)
      assert.deepStrictEqual(last && (yield* Fiber.join(last)), 1)
      assert.deepStrictEqual(batches, [[1, 2], [4]])
    })
  )

  it.live("fails every call of a batch that fails, and none of the next one", () =>
    Effect.gen(function* () {
      const run = makeBatches(
        (_: string, values: ReadonlyArray<number>) =>
          values.includes(1) ? Effect.fail("a failure") : Effect.succeed(values.length),
        2
      )
      const exits = yield* Effect.all(
        [0, 1, 2].map((value) => Effect.exit(run("a", value))),
        { concurrency: 3 }
      )
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [false, false, true])
    })
  )
})
