/**
 * Runs every operation of every service, and makes each of its store calls fail in every way, on every store. The
 * operation succeeds or fails with `StoreUnavailable`, is applied with its events or not at all, and succeeds when repeated.
 */
import type { Fault } from "@tollgate/store-testkit"
import { afterAll, describe, expect, it } from "vitest"
import { makeFixture, operations } from "./operations.ts"
import { getShare, sampleCases } from "./sample.ts"
import { getNewEventTypes } from "./storedEvents.ts"
import { setUpStore, stores } from "./stores.ts"

const getOutcome = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => "done",
    (error: unknown) => error
  )

describe.each(stores)("on %s", (name, layer) => {
  const makeEmptyStore = setUpStore(layer)
  let [runs, cleanFailures] = [0, 0]
  afterAll(() => {
    console.log(
      `injected faults, ${name}: ${runs} runs, ${cleanFailures} failed cleanly, none was partially applied or without its events`
    )
    expect(runs).toBeGreaterThan(300 * getShare(name))
  })

  describe.each(["fail", "lose-reply", "delay"] satisfies ReadonlyArray<Fault>)(
    'when the n-th store call has the fault "%s"',
    (fault) => {
      it.each(sampleCases(Object.entries(operations), getShare(name)))(
        "%s",
        async (_, operation) => {
          const {
            run,
            isDone,
            isMultiStep,
            errorWhenRepeated,
            events = [],
            appliesAgain,
            eventsOfUndoing = []
          } = operation
          for (let call = 1; ; call++) {
            const { fixture, injectAt, calls, readState } = await makeFixture(makeEmptyStore(), operation)
            const before = await readState()
            injectAt(call, fault)
            const outcome = await getOutcome(run(fixture))
            const isPastLastCall = calls() < call
            injectAt(0, fault)
            runs++
            if (outcome !== "done") {
              expect(outcome).toMatchObject({ _tag: "StoreUnavailable" })
              cleanFailures++
              if (isMultiStep !== true) {
                const after = await readState()
                const isUnchanged = after.records === before.records
                expect(isUnchanged || (await isDone?.(fixture)) === true, `partially applied after call ${call}`).toBe(
                  true
                )
                expect(getNewEventTypes(before, after), `events after call ${call}`).toEqual(isUnchanged ? [] : events)
              }
              const repeated = await getOutcome(run(fixture))
              if (repeated !== "done") {
                expect(fault === "lose-reply" || isMultiStep === true, "the repeated operation failed").toBe(true)
                expect(repeated).toMatchObject({ _tag: errorWhenRepeated })
              }
            }
            if (isDone !== undefined) expect(await isDone(fixture), `applied in the end, call ${call}`).toBe(true)
            const recorded = getNewEventTypes(before, await readState()).filter(
              (type) => !/^(?:quota\.|grant\.depleted)/.test(type) && !eventsOfUndoing.includes(type)
            )
            if (appliesAgain === true) expect(new Set(recorded)).toEqual(new Set(events))
            else expect(recorded, `events in the end, call ${call}`).toEqual(events)
            await fixture.gate.close()
            if (isPastLastCall) break
          }
        },
        300_000
      )
    }
  )
})
