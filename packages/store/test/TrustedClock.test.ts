import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { TrustedClock } from "../src/runtime/TrustedClock.ts"

/** A clock whose wall time can be set independently of its monotonic time. */
const makeMachine = () => {
  let [wall, elapsed] = [Date.UTC(2030, 0, 1), 5_000]
  const clock: Clock.Clock = {
    ...Clock.Clock.defaultValue(),
    currentTimeMillisUnsafe: () => wall,
    monotonicTimeNanosUnsafe: () => BigInt(elapsed) * 1_000_000n
  }
  return {
    clock,
    wall: () => wall,
    set: (time: number) => {
      wall = time
    },
    pass: (milliseconds: number) => {
      wall += milliseconds
      elapsed += milliseconds
    }
  }
}

const hour = 60 * 60 * 1000

const makeTrustedClock = Effect.map(Effect.scoped(Layer.build(TrustedClock.layer)), (context) =>
  Context.get(context, TrustedClock)
)

describe("TrustedClock", () => {
  it.effect("returns to the correct time after a wall clock that jumped ahead is corrected", () =>
    Effect.gen(function* () {
      const { readMillis: at } = yield* makeTrustedClock
      const machine = makeMachine()
      const start = at(machine.clock)
      machine.set(start + 24 * 365 * hour)
      assert.strictEqual(at(machine.clock), start + 24 * 365 * hour)
      machine.pass(1_000)
      at(machine.clock)
      machine.set(start + 1_000)
      assert.strictEqual(at(machine.clock), start + 1_000)
      machine.pass(1_000)
      assert.strictEqual(at(machine.clock), start + 2_000)
    })
  )

  it.effect("stays at the latest time when the wall clock is set back, until it catches up", () =>
    Effect.gen(function* () {
      const { readMillis: at } = yield* makeTrustedClock
      const machine = makeMachine()
      const start = at(machine.clock)
      machine.pass(hour)
      assert.strictEqual(at(machine.clock), start + hour)
      machine.set(start)
      assert.strictEqual(at(machine.clock), start + hour)
      machine.pass(hour + 1)
      assert.strictEqual(at(machine.clock), start + hour + 1)
    })
  )

  it.effect("accepts a wall clock that stays ahead, for example after the machine was suspended", () =>
    Effect.gen(function* () {
      const { readMillis: at } = yield* makeTrustedClock
      const machine = makeMachine()
      const start = at(machine.clock)
      machine.set(start + 5 * hour)
      at(machine.clock)
      machine.pass(hour)
      assert.strictEqual(at(machine.clock), start + 6 * hour)
      machine.set(start)
      assert.strictEqual(at(machine.clock), start + 6 * hour)
    })
  )

  it.effect("follows small adjustments forward and never goes back", () =>
    Effect.gen(function* () {
      const { readMillis: at } = yield* makeTrustedClock
      const machine = makeMachine()
      const start = at(machine.clock)
      machine.pass(hour)
      for (let step = 1; step <= 10; step++) {
        machine.set(machine.wall() + 30_000)
        assert.strictEqual(at(machine.clock), start + hour + step * 30_000)
      }
      machine.set(start)
      assert.strictEqual(at(machine.clock), start + hour + 300_000)
    })
  )

  it.effect("returns to the correct time after a start with a wrong date is corrected", () =>
    Effect.gen(function* () {
      const { readMillis: at } = yield* makeTrustedClock
      const machine = makeMachine()
      const wrong = at(machine.clock)
      machine.pass(30_000)
      assert.strictEqual(at(machine.clock), wrong + 30_000)
      const correct = wrong - 24 * hour
      machine.set(correct)
      assert.strictEqual(at(machine.clock), correct)
      machine.pass(hour)
      assert.strictEqual(at(machine.clock), correct + hour)
      machine.set(correct)
      assert.strictEqual(at(machine.clock), correct + hour)
    })
  )

  it.effect("trusts the time of its start after ten minutes", () =>
    Effect.gen(function* () {
      const { readMillis: at } = yield* makeTrustedClock
      const machine = makeMachine()
      const start = at(machine.clock)
      machine.pass(10 * 60_000)
      machine.set(start - 24 * hour)
      assert.strictEqual(at(machine.clock), start)
    })
  )
})
