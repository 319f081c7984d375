import { appendFileSync } from "node:fs"
import type { StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import { openSharedStore, type SharedStore } from "./sharedStores.ts"
import { type MeteredSubscription, type Meters, makeMovableClock, openUsageGate } from "./usageGate.ts"

/** What the process does when it is killed. `sweep`: it gives back expired reservations when it starts. */
export type KilledStep = "consume" | "reserve" | "settle" | "record" | "release" | "sweep"

/**
 * `during`: the parent kills the process while it commits, or just after it, before it does anything else. Otherwise it
 * kills itself before or after a commit.
 */
export type KillMoment = "before" | "during" | "after"

export interface KilledUsageInput {
  readonly shared: SharedStore
  readonly secret: string
  readonly bucketId: string
  readonly subscription: MeteredSubscription
  readonly log: string
  readonly now: number
  readonly kill: { readonly step: KilledStep; readonly moment: KillMoment; readonly cycle: number }
}

/** A line of the log: what the process is about to do, and then that it was acknowledged. */
export type LogLine =
  | {
      readonly _tag: "intention"
      readonly step: KilledStep
      readonly meters: Meters
      readonly at: number
      readonly id?: string
    }
  | { readonly _tag: "acknowledgement"; readonly id?: string }

const minute = 60_000

/**
 * Repeats all steps until it is killed: each cycle starts in a new hour, every third on a new day, and every eighth in a
 * new period. What is settled was reserved in the hour before.
 */
process.once("message", async ({ shared, secret, bucketId, subscription, log, now, kill }: KilledUsageInput) => {
  let [step, cycle]: [KilledStep, number] = ["sweep", 0]
  const opened = await openSharedStore(shared)
  let isKillRequested = false
  const dieIf = (moment: KillMoment) =>
    Effect.sync(() => {
      if (kill.step !== step || kill.moment !== moment || cycle < kill.cycle) return
      if (moment === "during") {
        isKillRequested = true
        process.send?.("kill")
      } else process.kill(process.pid, "SIGKILL")
    })
  const store: StoreOperations = {
    ...opened,
    commit: (partition, changes, idempotency) => {
      const commit = opened.commit(partition, changes, idempotency)
      const givesBack = changes.some((change) => change._tag === "Delete" && change.key.startsWith("reservation/"))
      if (step === "sweep" && !givesBack) return commit
      return dieIf("before").pipe(
        Effect.andThen(dieIf("during")),
        Effect.andThen(commit),
        Effect.tap(() => (isKillRequested ? Effect.never : dieIf("after")))
      )
    }
  }
  const clock = makeMovableClock(now)
  const write = (line: LogLine) => appendFileSync(log, `${JSON.stringify(line)}\n`)
  write({ _tag: "intention", step, meters: {}, at: now })
  const gate = await openUsageGate(store, clock, secret)
  // The sweep runs in the background.
  if (kill.step === "sweep") return

  const run = async (next: KilledStep, meters: Meters, id: string | undefined, call: () => Promise<unknown>) => {
    step = next
    write({ _tag: "intention", step, meters, at: now, ...(id === undefined ? {} : { id }) })
    const result = await call()
    write({ _tag: "acknowledgement", ...(typeof result === "string" ? { id: result } : {}) })
    return typeof result === "string" ? result : ""
  }
  const reserve = (meters: Meters) =>
    run("reserve", meters, undefined, () => gate.reserve(bucketId, subscription, { meters, expiresIn: 3_600 }))
  const move = (by: number) => {
    now += by
    clock.set(now)
  }

  for (; ; cycle++) {
    move(cycle % 8 === 7 ? 33 * 24 * 60 * minute : (cycle % 3 === 2 ? 25 : 1) * 60 * minute)
    const consumed = { requests: 1, tokens: 2 }
    await run("consume", consumed, undefined, () => gate.consume(bucketId, subscription, consumed))
    const settled = await reserve({ requests: 5, tokens: 7 })
    const released = await reserve({ tokens: 11 })
    await reserve({ requests: 13 })
    move(59 * minute)
    const used = { requests: 3, tokens: 7 }
    await run("settle", used, settled, () => gate.settle(bucketId, subscription, settled, used))
    const recorded = { tokens: 17 }
    await run("record", recorded, undefined, () => gate.record(bucketId, subscription, recorded))
    await run("release", {}, released, () => gate.release(bucketId, subscription, released))
  }
})
