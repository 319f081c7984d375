/**
 * Kills processes while they deliver webhooks. Every event reaches the endpoint, at least once.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { createTollgate } from "@tollgate/core"
import { getNodeOptions } from "@tollgate/testing"
import { webhooks } from "@tollgate/webhooks"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { isComplete } from "./sample.ts"
import { openSharedStore, type SharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"
import { startCountingReceiver } from "./webhookReceiver.ts"

let scope: Scope.Closeable
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const [kills, eventsOfEach] = [isComplete ? 10 : 4, 40]
const events = kills * eventsOfEach
const modules = [webhooks({ allowPrivateNetworks: true })]

/** Starts a process that causes events, and kills it when it has delivered a few of them. */
const deliverAndKill = async (shared: SharedStore, awaitRequests: (count: number) => Promise<void>): Promise<void> => {
  const sender = fork(new URL("./webhookSender.worker.ts", import.meta.url), {
    execArgv: [...getNodeOptions()]
  })
  const isBusy = awaitRequests(3)
  sender.send({ shared, secret, count: eventsOfEach })
  await isBusy
  sender.kill("SIGKILL")
  await once(sender, "exit")
}

describe.each(sharedStoreKinds)("a process that delivers webhooks, on %s", (kind) => {
  it(`loses no event when it is killed ${kills} times`, async () => {
    const shared = await Effect.runPromise(Scope.provide(startSharedStore(kind), scope))
    const receiver = await startCountingReceiver(scope)
    const openGate = async () => {
      const store = await openSharedStore(shared)
      return { store, gate: await createTollgate({ store, secret, modules }) }
    }
    const first = await openGate()
    const before = first.gate.account("acme")
    await before.webhooks.create({ url: receiver.url, events: ["key.created"] })
    await before.keyBucket("production").consumers.create({ name: "alice" })
    await first.gate.close()
    await first.store.close()
    for (let kill = 0; kill < kills; kill++) await deliverAndKill(shared, receiver.awaitRequests)
    const delivered = receiver.ids.size
    const { gate, store } = await openGate()
    await expect.poll(() => receiver.ids.size, { timeout: 120_000, interval: 100 }).toBe(events)
    const { data } = await gate.account("acme").events.list({ type: "key.created", limit: 1_000 })
    expect(new Set(data.map(({ id }) => id))).toEqual(receiver.ids)
    console.log(
      `${kind}: ${kills} kills, ${events} events, ${delivered} delivered by killed processes; ${receiver.requests()} requests`
    )
    await gate.close()
    await store.close()
  }, 300_000)
})
