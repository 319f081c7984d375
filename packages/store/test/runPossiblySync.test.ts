import { Context, Effect } from "effect"
import { expect, it } from "vitest"
import { runPossiblySync } from "../src/runtime/run.ts"

it.each([
  ["answers at once", Effect.succeed(1)],
  ["answers later", Effect.promise(async () => 1)]
])("rejects if the result cannot be made when a store %s", async (_, effect) => {
  const toResult = () => {
    throw new Error("no result")
  }
  await expect(runPossiblySync(effect, Context.empty(), toResult)).rejects.toThrow("no result")
})
