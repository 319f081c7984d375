/**
 * Kills a process twenty times while it uses a subscription: before, during and after the commit of each step, also of
 * those that open an hour, roll up a day and close a period. Afterwards every acknowledged count is there, the step that
 * was interrupted has counted completely or not at all, and what was reserved is given back exactly once.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { getNodeOptions, temporaryFolder } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import { openSharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"
import { makeMovableClock, openUsageGate, start } from "./usageGate.ts"
import type { KilledStep, KilledUsageInput, KillMoment, LogLine } from "./usageKilled.worker.ts"
import {
  expire,
  isErrorList,
  makeModel,
  predictConsume,
  predictEnd,
  predictRecord,
  predictReserve,
  toReadings,
  type UsageModel
} from "./usageModel.ts"
import { dayMs, hourMs, readUsage } from "./usageReadings.ts"

const kills = 20
const steps: ReadonlyArray<KilledStep> = ["consume", "reserve", "settle", "record", "release", "sweep"]
const moments: ReadonlyArray<KillMoment> = ["before", "during", "after"]

let scope: Scope.Closeable
let child: ChildProcess | undefined
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(async () => {
  child?.kill("SIGKILL")
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const runUntilKilled = async (input: KilledUsageInput) => {
  const worker = new URL("./usageKilled.worker.ts", import.meta.url)
  const started = fork(worker, { execArgv: [...getNodeOptions()] })
  child = started
  started.on("message", () => started.kill("SIGKILL"))
  started.send(input)
  const [, signal] = await once(started, "exit")
  expect(signal, "the process failed").toBe("SIGKILL")
}

type Intention = Extract<LogLine, { readonly _tag: "intention" }>

/** The state after a step. `reservationId`: of the reservation that it made. */
const applyStep = (
  before: UsageModel,
  { step, meters, at, id = "" }: Intention,
  reservationId?: string
): UsageModel => {
  const model = expire(before, at)
  const prediction = {
    sweep: () => model,
    consume: () => predictConsume(model, "s", meters, at),
    record: () => predictRecord(model, "s", meters, at),
    reserve: () =>
      predictReserve(model, { id: reservationId, subscription: "s", meters, madeAt: at, expiresAt: at + hourMs }),
    settle: () => predictEnd(model, id, meters, at),
    release: () => predictEnd(model, id, {}, at)
  }[step]()
  return isErrorList(prediction) ? expect.fail(`${step} failed with ${prediction}`) : prediction
}

it.each(sharedStoreKinds)(
  "a process on %s that is killed twenty times loses no count and counts nothing twice",
  async (kind) => {
    const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Effect.runPromise(Scope.provide(effect, scope))
    const shared = await run(startSharedStore(kind))
    const log = join(await run(temporaryFolder), "log")
    const store = await openSharedStore(shared)
    const clock = makeMovableClock(start)
    const gate = await openUsageGate(store, clock, secret)
    const bucketId = await gate.createBucket()
    const maxima = { requests: 1_000_000, tokens: 1_000_000 }
    const subscription = await gate.subscribe(bucketId, "s", maxima)
    let [model, now, acknowledged, applied] = [makeModel({ s: maxima }), start, 0, 0]

    for (let kill = 0; kill < kills; kill++) {
      const step = steps[kill % steps.length] ?? "sweep"
      const moment = moments[Math.floor(kill / steps.length) % moments.length] ?? "during"
      const cycle = step === "sweep" ? 0 : (kill * 3 + 2) % 9
      writeFileSync(log, "")
      const input = { shared, secret, bucketId, subscription, log, now, kill: { step, moment, cycle } }
      await runUntilKilled(input)
      let intention: Intention | undefined
      for (const line of readFileSync(log, "utf8").trim().split("\n")) {
        const entry: LogLine = JSON.parse(line)
        if (entry._tag === "acknowledgement" && intention !== undefined) {
          model = applyStep(model, intention, entry.id)
          acknowledged++
        }
        intention = entry._tag === "intention" ? entry : undefined
        if (entry._tag === "intention") now = entry.at
      }
      clock.set(now)
      const readings = await readUsage(gate, bucketId, { s: subscription }, now)
      const interrupted = intention === undefined ? model : applyStep(model, intention)
      const isApplied = isDeepStrictEqual(readings, toReadings(interrupted, now))
      if (isApplied && interrupted !== model) applied++
      if (isApplied) model = interrupted
      const label = `kill ${kill}, ${moment} the commit of ${step}, in cycle ${cycle}`
      expect(readings, label).toEqual(toReadings(model, now))
      // The next process finds expired reservations when it starts.
      now += hourMs + 60_000
    }

    now += 2 * dayMs
    clock.set(now)
    const readings = await readUsage(gate, bucketId, { s: subscription }, now)
    expect(readings).toEqual(toReadings({ ...model, open: [] }, now))
    console.log(
      `usage, ${kind}: ${kills} kills, ${acknowledged} steps acknowledged, none lost; ${applied} of the interrupted steps were applied, none partially`
    )
    await gate.close()
    await store.close()
  },
  240_000
)
