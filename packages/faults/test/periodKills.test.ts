/**
 * Four processes close the periods that ended in a downtime of ten weeks, with clocks that differ by minutes. Three of them are
 * killed at a commit that closes periods. Each period has one event in the log, in order, with what was used in it.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { createTollgate } from "@tollgate/core"
import { getNodeOptions } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import type { KilledClosingInput } from "./periodKilled.worker.ts"
import { openSharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"

const customers = 60
const minuteMs = 60_000
const downtimeMs = 70 * 24 * 60 * minuteMs

let scope: Scope.Closeable
const children: Array<ChildProcess> = []
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL")
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const start = async (input: KilledClosingInput): Promise<ChildProcess> => {
  const child = fork(new URL("./periodKilled.worker.ts", import.meta.url), { execArgv: [...getNodeOptions()] })
  children.push(child)
  child.send(input)
  // Or it has died at once.
  await Promise.race([once(child, "message"), once(child, "exit")])
  return child
}

it.each(sharedStoreKinds)(
  "periods on %s are closed once each and in order after a downtime, by processes that are killed",
  async (kind) => {
    const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Effect.runPromise(Scope.provide(effect, scope))
    const shared = await run(startSharedStore(kind))
    const store = await openSharedStore(shared)
    const gate = await createTollgate({ store, secret, background: false })
    const account = gate.account("acme")
    const billing = await account.meteringBuckets.ensure("billing")
    await billing.plans.create({ planExternalId: "free", meters: { requests: { max: 1_000 } } })
    for (let index = 0; index < customers; index++) {
      const { id } = await billing.subscriptions.create({ customerKey: `c-${index}`, planExternalIds: ["free"] })
      if (index > 0) await billing.usage.consume(id, { requests: index })
    }

    const kills = [
      { commit: 1, moment: "before" },
      { commit: 1, moment: "after" },
      { commit: 2, moment: "after" }
    ] as const
    const input = { shared, secret }
    const killed = await Promise.all(
      kills.map((kill, index) => start({ ...input, ...kill, aheadMs: downtimeMs + index * 4 * minuteMs }))
    )
    // The first that closes something, after which the others take over.
    await expect
      .poll(() => killed.some(({ signalCode }) => signalCode === "SIGKILL"), { timeout: 60_000, interval: 50 })
      .toBe(true)
    await start({ ...input, aheadMs: downtimeMs - 4 * minuteMs, commit: 0, moment: "before" })

    const readLog = async () => {
      const log = []
      for await (const event of account.events.list({ order: "asc", type: "period.*" })) log.push(event)
      return log
    }
    await expect
      .poll(async () => (await readLog()).length, { timeout: 180_000, interval: 250 })
      .toBeGreaterThanOrEqual(2 * customers)
    const log = await readLog()
    expect(log.length).toBe(2 * customers)
    const bySubject = Map.groupBy(log, ({ subject }) => subject.name)
    expect(bySubject.size).toBe(customers)
    for (const [name, events] of bySubject) {
      const index = Number(name?.slice("c-".length))
      expect(
        events.map(({ type, data }) => [type, (data["meters"] as { requests: { used: number } }).requests.used]),
        name
      ).toEqual([
        ["period.closed", index],
        ["period.closed", 0]
      ])
      const [first, second] = events
      expect(first?.data["periodEnd"]).toBe(second?.data["periodStart"])
    }
    const dead = killed.filter(({ signalCode }) => signalCode === "SIGKILL").length
    console.log(`periods, ${kind}: ${dead} kills, ${log.length} periods closed once each`)
    await gate.close()
    await store.close()
  },
  240_000
)
