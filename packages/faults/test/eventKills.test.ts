/**
 * Kills two processes, which make changes and move the events of both, twenty times: before, during and after the commit
 * of a change, the commit that appends events to the log, and the commit that removes them from the outbox. In the end
 * the log contains each change exactly once, in the order of the changes of each resource. A failure prints its seed;
 * set `EVENTS_SEED` to repeat its choices.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { createTollgate } from "@tollgate/core"
import { Partition, type StoreOperations } from "@tollgate/store"
import { eventually, getNodeOptions } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import { checkEventLog } from "./checkEventLog.ts"
import type { EventStep, KilledWriterInput, KilledWriterMessage, KillMoment } from "./eventWriter.worker.ts"
import { makeRandom, readSeed } from "./random.ts"
import { openSharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"
import type { ChangeReport } from "./writeChanges.ts"

const [lanes, killsPerLane] = [2, 10]
const kills = lanes * killsPerLane
const seed = readSeed("EVENTS_SEED")
const steps: ReadonlyArray<EventStep> = ["change", "append", "removal"]
const moments: ReadonlyArray<KillMoment> = ["before", "during", "after"]

let scope: Scope.Closeable
const children = new Set<ChildProcess>()
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL")
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

/** Runs a process until it is killed, and passes on the changes that it reports. */
const runUntilKilled = async (input: KilledWriterInput, acknowledge: (change: ChangeReport) => void) => {
  const worker = new URL("./eventWriter.worker.ts", import.meta.url)
  const child = fork(worker, { execArgv: [...getNodeOptions()] })
  children.add(child)
  child.on("message", (message: KilledWriterMessage) => {
    if (message === "kill") child.kill("SIGKILL")
    else acknowledge(message)
  })
  child.send(input)
  const [, signal] = await once(child, "exit")
  children.delete(child)
  expect(signal, "the process failed").toBe("SIGKILL")
}

/** The number of events that are not moved yet. */
const countPendingEvents = async (store: StoreOperations): Promise<number> => {
  const countRecords = (partition: string, term: string, limit = 0) =>
    Effect.map(
      store.list(partition as Partition.Partition, [{ indexTerms: [term], offset: 0, limit }]),
      ([page]) => page ?? { records: [], total: 0 }
    )
  const directory = await Effect.runPromise(countRecords(Partition.jobsDirectory, "held", 10_000))
  // The keys are `held/<process>/<partition>`.
  const names = new Set(directory.records.map(({ key }) => key.split("/").slice(2).join("/")))
  const totals = await Effect.runPromise(Effect.forEach(names, (name) => countRecords(name, "outbox")))
  return totals.reduce((sum, { total }) => sum + total, 0)
}

const countPendingRemovals = async (store: StoreOperations): Promise<number> => {
  const pending = { indexTerms: ["listing/deleting"], offset: 0, limit: 0 }
  const [page] = await Effect.runPromise(store.list(Partition.meteringDirectory, [pending]))
  return page?.total ?? 0
}

it.each(sharedStoreKinds)(
  "every change on %s has its event once and in order, although processes are killed twenty times",
  async (kind) => {
    const random = makeRandom(seed)
    const shared = await Effect.runPromise(Scope.provide(startSharedStore(kind), scope))
    const acknowledged: Array<ChangeReport> = []
    const runLane = async (lane: number) => {
      for (let index = lane; index < kills; index += lanes) {
        const step = steps[index % steps.length] ?? "change"
        const moment = moments[Math.floor(index / steps.length) % moments.length] ?? "during"
        const kill = { step, moment, count: 1 + random.below(20) }
        await runUntilKilled({ shared, secret, prefix: `r${index}`, kill }, (change) => acknowledged.push(change))
      }
    }
    await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane)))

    const store = await openSharedStore(shared)
    const left = await countPendingEvents(store)
    const gate = await createTollgate({ store, secret })
    await eventually(async () => expect(await countPendingEvents(store)).toBe(0))
    // A removal that was interrupted is completed some seconds after it began.
    await eventually(async () => expect(await countPendingRemovals(store)).toBe(0))
    const { events, ...mistakes } = await checkEventLog(gate.account("acme"), acknowledged)
    console.log(
      `events, ${kind}: ${kills} kills (seed ${seed}), ${acknowledged.length} changes acknowledged, ` +
        `${mistakes.withoutEvent.length} without event; ${events} in the log, the last ${left} after the last kill, ` +
        `${mistakes.withoutChange.length} without change, ${mistakes.twice} twice, ${mistakes.outOfOrder.length} resources out of order`
    )
    expect(mistakes, `seed ${seed}`).toEqual({ twice: 0, withoutEvent: [], withoutChange: [], outOfOrder: [] })
    expect(events).toBeGreaterThanOrEqual(acknowledged.length)
    await gate.close()
    await store.close()
  },
  600_000
)
