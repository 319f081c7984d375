/**
 * Long work in pieces: who works for whom, and what the event loop gets in between.
 */
import { setImmediate as nextTick } from "node:timers/promises"
import { Effect, Fiber } from "effect"
import { expect, it } from "vitest"
import { forEachInPieces, nextTurn, WorkOwner } from "../src/runtime/turns.ts"

const spin = (milliseconds: number): void => {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}

it("gives each owner a piece in turn, however much work each has", async () => {
  const order: Array<string> = []
  const work = (owner: string, pieces: number) =>
    Effect.forEach(
      Array.from({ length: pieces }),
      () =>
        Effect.andThen(
          nextTurn,
          Effect.sync(() => order.push(owner))
        ),
      {
        discard: true
      }
    ).pipe(Effect.provideService(WorkOwner, owner))
  await Effect.runPromise(
    Effect.all([...Array.from({ length: 50 }, () => work("many", 4)), work("one", 4)], {
      concurrency: "unbounded",
      discard: true
    })
  )
  expect(order).toHaveLength(204)
  // The first has begun before the other comes.
  expect(order.lastIndexOf("one")).toBeLessThanOrEqual(9)
})

it("lets the event loop turn after about 10 ms of all pieces together", async () => {
  let turns = 0
  let isDone = false
  const countTurns = async () => {
    for (; !isDone; turns++) await nextTick()
  }
  const counting = countTurns()
  const start = performance.now()
  const work = forEachInPieces(Array.from({ length: 10 }), () => Effect.sync(() => spin(6)))
  // Each piece takes 6 ms, so two of 200 fit in a turn.
  await Effect.runPromise(
    Effect.all(
      Array.from({ length: 20 }, () => work),
      { concurrency: "unbounded", discard: true }
    )
  )
  isDone = true
  await counting
  // The first piece of each runs when it is started.
  expect(turns).toBeGreaterThanOrEqual(180 / 2)
  expect(performance.now() - start).toBeGreaterThanOrEqual(200 * 6)
})

it("goes on when work that waits is interrupted", async () => {
  const order: Array<string> = []
  const work = (name: string) =>
    Effect.andThen(
      nextTurn,
      Effect.sync(() => order.push(name))
    )
  await Effect.runPromise(
    Effect.gen(function* () {
      const fibers = yield* Effect.forEach(["a", "b", "c"], (name) =>
        Effect.forkChild(work(name), { startImmediately: true })
      )
      yield* Fiber.interrupt(fibers[1] as Fiber.Fiber<number>)
      yield* Fiber.awaitAll(fibers)
    })
  )
  expect(order).toEqual(["a", "c"])
})
