/**
 * Every operation of every service, with every one of its store calls going wrong, in every way, on every store: it
 * fails cleanly or succeeds, leaves everything as it was or as it was to be, and succeeds when it is repeated.
 */
import type { Fault } from "@tollgate/store-testkit"
import { afterAll, describe, expect, it } from "vitest"
import { makeWorld, operations } from "./operations.ts"
import { openedFor, stores } from "./stores.ts"

const outcomeOf = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => "done",
    (error: unknown) => error
  )

describe.each(stores)("on %s", (name, layer) => {
  const emptyStore = openedFor(layer)
  let [tried, failedCleanly] = [0, 0]
  afterAll(() => {
    console.log(`faults injected, ${name}: ${tried} tries, ${failedCleanly} failed cleanly, none half done`)
    expect(tried).toBeGreaterThan(300)
  })

  describe.each(["fail", "lose-reply", "delay"] satisfies ReadonlyArray<Fault>)(
    "the n-th call is made to %s",
    (fault) => {
      it.each(Object.entries(operations))(
        "%s",
        async (_, { run, isDone, inSteps, whenRepeated }) => {
          for (let call = 1; ; call++) {
            const { world, injectAt, calls, hash } = await makeWorld(emptyStore())
            const before = await hash()
            injectAt(call, fault)
            const outcome = await outcomeOf(run(world))
            const isOver = calls() < call
            injectAt(0, fault)
            tried++
            if (outcome !== "done") {
              expect(outcome).toMatchObject({ _tag: "StoreUnavailable" })
              failedCleanly++
              if (inSteps !== true) {
                const isUnchanged = (await hash()) === before
                expect(isUnchanged || (await isDone?.(world)) === true, `half done, after call ${call}`).toBe(true)
              }
              const again = await outcomeOf(run(world))
              if (again !== "done") {
                expect(fault === "lose-reply" || inSteps === true, "it succeeds when it is repeated").toBe(true)
                expect(again).toMatchObject({ _tag: whenRepeated })
              }
            }
            if (isDone !== undefined) expect(await isDone(world), `done in the end, call ${call}`).toBe(true)
            await world.gate.close()
            if (isOver) break
          }
        },
        60_000
      )
    }
  )
})
