/**
 * Four processes use the same subscriptions of one store at once, over the boundaries of hours, days and periods. At the end
 * of the period, one changes to another plan, and one is canceled. No call fails, no maximum is exceeded, nothing is counted
 * on what is canceled, and quotas, series and totals are exactly the sum of what was acknowledged.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { getNodeOptions } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import { openSharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"
import type { UsageContenderMessage } from "./usageContender.worker.ts"
import type { UsageRoundResult } from "./usageContention.ts"
import { makeMovableClock, openUsageGate, start, toOtherPlan } from "./usageGate.ts"
import { getPeriodEnd, makeModel, toReadings, type UsageModel } from "./usageModel.ts"
import { dayMs, hourMs, readUsage, type UsageReadings } from "./usageReadings.ts"

const maxima = {
  "s-1": { requests: 150, tokens: 100_000, calls: 25 },
  // The plan that it changes to has lower maxima, and no requests.
  "s-changed": { requests: 100_000, tokens: 100_000, calls: 100_000 },
  "s-canceled": { requests: 100_000, tokens: 100_000, calls: 100_000 },
  "s-2": { requests: 100_000, tokens: 100_000, calls: 100_000 }
}

const second = 1_000
/** The times of the rounds: around the ends of hours, of a day and period, and later, when days and periods are closed. */
const times = [
  start,
  start + hourMs - second,
  start + hourMs,
  start + 2 * hourMs - second,
  start + 2 * hourMs + second,
  start + 2.5 * hourMs,
  start + 5 * dayMs,
  start + 35 * dayMs
]

let scope: Scope.Closeable
let children: ReadonlyArray<ChildProcess> = []
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL")
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const startContenders = (count: number) => {
  const worker = new URL("./usageContender.worker.ts", import.meta.url)
  children = Array.from({ length: count }, () => fork(worker, { execArgv: [...getNodeOptions()] }))
  const exits = Promise.race(children.map((child) => once(child, "exit"))).then(([code, signal]) => {
    throw new Error(`A process exited with ${signal ?? code}`)
  })
  exits.catch(() => undefined)
  const sendAll = (makeMessage: (index: number) => UsageContenderMessage) => {
    for (const [index, child] of children.entries()) child.send(makeMessage(index))
  }
  /** Sends a message to every process, and waits for all replies. */
  const askAll = async (makeMessage: (index: number) => UsageContenderMessage) => {
    const replies = children.map((child) => new Promise((resolve) => child.once("message", resolve)))
    sendAll(makeMessage)
    return await Promise.race([Promise.all(replies), exits])
  }
  return { sendAll, askAll }
}

const periodEnd = getPeriodEnd(start)
const pending = {
  "s-changed": { at: periodEnd, plan: toOtherPlan("s-changed") },
  "s-canceled": { at: periodEnd, status: "canceled" }
} as const

const toModel = (results: ReadonlyArray<UsageRoundResult>): UsageModel => ({
  ...makeModel(maxima),
  pending,
  counts: results.flatMap(({ counts }) => counts),
  open: results.flatMap(({ open }) => open)
})

/** The sums over all steps of a series, by subscription and meter. */
const sumSteps = (amounts: Readonly<Record<string, number>>) => {
  const sums: Record<string, number> = {}
  for (const [name, amount] of Object.entries(amounts)) {
    const [subscription, meter] = name.split(" ")
    const key = `${subscription} ${meter}`
    sums[key] = (sums[key] ?? 0) + amount
  }
  return sums
}

const sumAll = ({ days, periods, totals }: UsageReadings) => [sumSteps(days), sumSteps(periods), sumSteps(totals)]

it.each(sharedStoreKinds)(
  "four processes on one %s store count all usage exactly, and exceed no maximum",
  async (kind) => {
    const shared = await Effect.runPromise(Scope.provide(startSharedStore(kind), scope))
    const store = await openSharedStore(shared)
    const clock = makeMovableClock(start)
    const gate = await openUsageGate(store, clock, secret)
    const bucketId = await gate.createBucket()
    const subscriptions = {
      "s-1": await gate.subscribe(bucketId, "s-1", maxima["s-1"]),
      "s-changed": await gate.subscribe(bucketId, "s-changed", maxima["s-changed"]),
      "s-canceled": await gate.subscribe(bucketId, "s-canceled", maxima["s-canceled"]),
      "s-2": await gate.subscribe(bucketId, "s-2", maxima["s-2"])
    }
    await gate.changePlan(bucketId, subscriptions["s-changed"], pending["s-changed"].plan, "period-end")
    await gate.cancel(bucketId, subscriptions["s-canceled"], "period-end")
    const { sendAll, askAll } = startContenders(4)
    await askAll(() => ({ _tag: "open", input: { shared, secret, start, bucketId, subscriptions } }))

    const runRound = async (now: number, seed: number, isClockMoving = false) => {
      const replies = await askAll((index) => ({
        _tag: "round",
        round: { now, seed: seed * 10 + index, isClockMoving }
      }))
      const results = replies as ReadonlyArray<UsageRoundResult>
      expect(results.flatMap(({ failures }) => failures)).toEqual([])
      return results
    }
    let results: ReadonlyArray<UsageRoundResult> = []
    for (const [seed, now] of times.entries()) {
      results = await runRound(now, seed)
      clock.set(now)
      const readings = await readUsage(gate, bucketId, subscriptions, now)
      expect(readings, `after the round of ${new Date(now).toISOString()}`).toEqual(toReadings(toModel(results), now))
      for (const name of ["s-1 requests", "s-1 calls", "s-changed tokens", "s-changed calls"]) {
        const [max, used] = readings.quotas[name] ?? [0, 0]
        expect(used, name).toBeLessThanOrEqual(max)
      }
    }
    expect(results.reduce((sum, result) => sum + result.canceled, 0)).toBeGreaterThan(0)
    const refused = results.reduce((sum, result) => sum + result.refused, 0)
    expect(refused).toBeGreaterThan(0)

    // The clock moves during the last round, so only the sums are known.
    const last = (times.at(-1) ?? 0) + hourMs
    const running = runRound(last, times.length, true)
    const end = last + 2 * dayMs
    for (let now = last; now <= end; now += dayMs / 4) {
      sendAll(() => ({ _tag: "clock", now }))
      clock.set(now)
      await gate.quotas(bucketId, subscriptions["s-1"])
    }
    const acknowledged = toModel(await running)
    const late = acknowledged.counts.filter(({ subscription, at }) => subscription === "s-canceled" && at >= periodEnd)
    expect(late).toEqual([])
    clock.set(end)
    const readings = await readUsage(gate, bucketId, subscriptions, end)
    expect(sumAll(readings)).toEqual(sumAll(toReadings(acknowledged, end)))
    const amount = acknowledged.counts.reduce((sum, count) => sum + count.amount, 0)
    console.log(
      `usage, ${kind}, 4 processes: ${acknowledged.counts.length} counts of ${amount} in ${times.length + 1} rounds, ${refused} over the maximum, all exact`
    )
    await gate.close()
    await store.close()
  },
  120_000
)
