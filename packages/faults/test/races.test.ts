/**
 * Every two operations that change something, the second run whole between any two store calls of the first: what
 * both answer, and what is there afterwards, is as if one had come after the other.
 */
import { MemoryStore } from "@tollgate/memory"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { makeWorld, type Operation, operations, type World } from "./operations.ts"

const changing = Object.entries(operations).filter(([, { isDone }]) => isDone !== undefined)

/** Two who remove one bucket both take part in it, step by step, and both have done it. */
const isShared = (first: Operation, second: Operation): boolean =>
  first === second && first === operations["buckets.remove"]

/** What it answers: that it is done, that what it needs is gone (and not which part of it was missed first), or an error. */
const answerOf = ({ run }: Operation, world: World): Promise<string> =>
  run(world).then(
    () => "done",
    (error: unknown) => {
      const name = typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : String(error)
      // An address that is in use is as much taken as one that was used.
      if (name === "UploadInProgress") return "AlreadyUploaded"
      return /^Unknown|NotFound$/.test(name) ? "gone" : name
    }
  )

const isThere = async ({ isDone }: Operation, world: World): Promise<string> =>
  isDone === undefined ? "" : await isDone(world).then(String, () => "cannot tell")

const seen = async (world: World, first: Operation, second: Operation, answers: readonly [string, string]) =>
  `${answers.join(" / ")}; there: ${await isThere(first, world)} / ${await isThere(second, world)}`

/** Both, one after the other. */
const inTurn = async (first: Operation, second: Operation, isFirstFirst: boolean): Promise<string> => {
  const { world } = await makeWorld(MemoryStore.open())
  const [earlier, later] = isFirstFirst ? [first, second] : [second, first]
  const [one, other] = [await answerOf(earlier, world), await answerOf(later, world)]
  const all = await seen(world, first, second, isFirstFirst ? [one, other] : [other, one])
  await world.gate.close()
  return all
}

let tried = 0

describe.each(changing)("%s", (_, first) => {
  it.each(changing)(
    "and meanwhile %s",
    async (_, second) => {
      const allowed = [
        await inTurn(first, second, true),
        await inTurn(first, second, false),
        ...(isShared(first, second) ? ["done / done; there: true / true"] : [])
      ]
      for (let call = 1; ; call++) {
        const { world, injectAt, calls } = await makeWorld(MemoryStore.open())
        let other = "never called"
        injectAt(call, {
          interleave: Effect.promise(async () => {
            other = await answerOf(second, world)
          })
        })
        const one = await answerOf(first, world)
        const isOver = calls() < call
        injectAt(0, "fail")
        if (!isOver) {
          tried++
          expect(allowed, `before call ${call}`).toContain(await seen(world, first, second, [one, other]))
        }
        await world.gate.close()
        if (isOver) break
      }
    },
    60_000
  )
})

it("tells how much was tried", () => {
  console.log(
    `races: ${changing.length ** 2} pairs of operations, ${tried} interleavings, each as if one came after the other`
  )
  expect(tried).toBeGreaterThan(1_000)
})
