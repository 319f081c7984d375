/**
 * Runs every pair of writing operations, the second one, as in another process, completely between two store calls of
 * the first. The outcomes
 * and the final state are as if one operation had run after the other.
 */
import { MemoryStore } from "@tollgate/memory"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { type Fixture, makeFixture, type Operation, operations } from "./operations.ts"
import { sampleCases } from "./sample.ts"

const writingOperations = Object.entries(operations).filter(([, { isDone }]) => isDone !== undefined)

/** Two concurrent removals of one metering bucket both succeed, because each completes the steps of the other. */
const canBothSucceed = (first: Operation, second: Operation): boolean =>
  first === second && first === operations["meteringBuckets.remove"]

/** "done", "not found" (whichever record was missing), or the tag of another error. */
const getOutcome = ({ run }: Operation, fixture: Fixture): Promise<string> =>
  run(fixture).then(
    () => "done",
    (error: unknown) => {
      const tag = typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : String(error)
      // In both cases the upload URL cannot be used.
      if (tag === "UploadInProgress") return "AlreadyUploaded"
      return /^Unknown|NotFound$/.test(tag) ? "not found" : tag
    }
  )

const getState = async ({ isDone }: Operation, fixture: Fixture): Promise<string> =>
  isDone === undefined ? "" : await isDone(fixture).then(String, () => "unknown")

const describeResult = async (
  fixture: Fixture,
  first: Operation,
  second: Operation,
  outcomes: readonly [string, string]
) => `${outcomes.join(" / ")}; applied: ${await getState(first, fixture)} / ${await getState(second, fixture)}`

/** Runs both operations, one after the other. */
const runSequentially = async (first: Operation, second: Operation, isFirstFirst: boolean): Promise<string> => {
  const { fixture } = await makeFixture(MemoryStore.open(), first, second)
  const [earlier, later] = isFirstFirst ? [first, second] : [second, first]
  const [earlierOutcome, laterOutcome] = [await getOutcome(earlier, fixture), await getOutcome(later, fixture)]
  const outcomes = isFirstFirst ? ([earlierOutcome, laterOutcome] as const) : ([laterOutcome, earlierOutcome] as const)
  const result = await describeResult(fixture, first, second, outcomes)
  await fixture.gate.close()
  return result
}

let interleavings = 0

describe.each(writingOperations)("%s", (_, first) => {
  it.each(sampleCases(writingOperations, 0.08))(
    "interleaved with %s",
    async (_, second) => {
      const allowed = [
        await runSequentially(first, second, true),
        await runSequentially(first, second, false),
        ...(canBothSucceed(first, second) ? ["done / done; applied: true / true"] : [])
      ]
      for (let call = 1; ; call++) {
        const { fixture, openOtherProcess, injectAt, calls } = await makeFixture(MemoryStore.open(), first, second)
        const otherFixture = await openOtherProcess()
        let secondOutcome = Promise.resolve("never called")
        injectAt(call, {
          interleave: Effect.promise(() => {
            secondOutcome = getOutcome(second, otherFixture)
            return secondOutcome
          })
        })
        const firstOutcome = await getOutcome(first, fixture)
        const isPastLastCall = calls() < call
        injectAt(0, "fail")
        if (!isPastLastCall) {
          interleavings++
          expect(allowed, `before call ${call}`).toContain(
            // The call can be one of the run that an upload starts: then the second operation ends after the first.
            await describeResult(fixture, first, second, [firstOutcome, await secondOutcome])
          )
        }
        await Promise.all([fixture.gate.close(), otherFixture.gate.close()])
        if (isPastLastCall) break
      }
    },
    180_000
  )
})

it("has run more than 150 interleavings", () => {
  console.log(`races: ${interleavings} interleavings of pairs of operations, all serializable`)
  expect(interleavings).toBeGreaterThan(150)
})
