import { assert, describe, it } from "@effect/vitest"
import { eventually } from "@tollgate/testing"
import { Effect, Exit, Fiber } from "effect"
import { makeSystemResolver } from "../src/makeSystemResolver.ts"
import { HostNotFound } from "../src/ResolutionError.ts"

describe("makeSystemResolver", () => {
  it.effect("reads the hosts file", () =>
    Effect.gen(function* () {
      const addresses = yield* makeSystemResolver()("localhost")
      assert.isNotEmpty(addresses)
      for (const address of addresses) assert.include(["127.0.0.1", "::1"], address)
    })
  )

  it.effect("says that a name does not exist", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Effect.flip(makeSystemResolver()("a..example")), new HostNotFound())
    })
  )

  it.effect("starts no lookup while one hangs, and none for a caller that has gone", () =>
    Effect.gen(function* () {
      const started: Array<string> = []
      const hanging = Promise.withResolvers<ReadonlyArray<{ readonly address: string }>>()
      const resolve = makeSystemResolver((host) => {
        started.push(host)
        return host === "hanging" ? hanging.promise : Promise.resolve([{ address: "10.0.0.1" }])
      })
      const first = yield* Effect.forkChild(resolve("hanging"))
      const second = yield* Effect.forkChild(resolve("abandoned"))
      const third = yield* Effect.forkChild(resolve("waiting"))
      yield* Effect.promise(() => eventually(() => assert.deepStrictEqual(started, ["hanging"])))
      yield* Fiber.interrupt(first)
      yield* Fiber.interrupt(second)
      // Enough turns for the third lookup to start, if an interruption had made room for it.
      yield* Effect.repeat(Effect.yieldNow, { times: 20 })
      assert.deepStrictEqual(started, ["hanging"])
      hanging.resolve([])
      assert.deepStrictEqual(yield* Fiber.await(third), Exit.succeed(["10.0.0.1"]))
      assert.deepStrictEqual(started, ["hanging", "waiting"])
    })
  )
})
