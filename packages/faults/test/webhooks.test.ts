/**
 * Webhooks under load: a backlog of events reaches every endpoint, at a steady pace and in constant memory.
 */

import { createTollgate } from "@tollgate/core"
import { eventually, measureHeapAfterGc } from "@tollgate/testing"
import { webhooks } from "@tollgate/webhooks"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { isComplete } from "./sample.ts"
import { openSharedStore, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"
import { startCountingReceiver } from "./webhookReceiver.ts"

let scope: Scope.Closeable
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const endpoints = 5
const backlogs = [
  ["SQLite", isComplete ? 10_000 : 2_000],
  ["Redis", isComplete ? 2_000 : 1_000]
] as const

describe.each(backlogs)("a backlog of webhooks on %s", (kind, events) => {
  it("reaches every endpoint once", async () => {
    const store = await openSharedStore(await Effect.runPromise(Scope.provide(startSharedStore(kind), scope)))
    const gate = await createTollgate({ store, secret, modules: [webhooks({ allowPrivateNetworks: true })] })
    const acme = gate.account("acme")
    const receivers = await Promise.all(Array.from({ length: endpoints }, () => startCountingReceiver(scope)))
    for (const { url } of receivers) await acme.webhooks.create({ url, events: ["key.created"] })
    const { consumers, keys } = acme.keyBucket("production")
    await consumers.create({ name: "alice" })
    const before = measureHeapAfterGc()
    const start = performance.now()
    for (let created = 0; created < events; created += 1_000) {
      await keys.createMany(
        "alice",
        Array.from({ length: 1_000 }, () => ({}))
      )
    }
    const createdAfter = performance.now() - start
    const countAll = () => receivers.reduce((sum, { ids }) => sum + ids.size, 0)
    let [peak, last, lastProgress] = [0, 0, performance.now()]
    while (countAll() < events * endpoints) {
      peak = Math.max(peak, measureHeapAfterGc())
      if (countAll() > last) [last, lastProgress] = [countAll(), performance.now()]
      expect(performance.now() - lastProgress).toBeLessThan(60_000)
      await new Promise((resolve) => setTimeout(resolve, 2_000))
    }
    const seconds = (performance.now() - start) / 1_000
    const received = receivers.reduce((sum, { requests }) => sum + requests(), 0)
    const megabytes = (bytes: number) => (bytes / 1_000_000).toFixed(0)
    console.log(
      `${kind}: ${events} events created in ${(createdAfter / 1_000).toFixed(1)} s, ${received} requests for ` +
        `${events * endpoints} deliveries in ${seconds.toFixed(1)} s, ${((events * endpoints) / seconds).toFixed(0)} a second; ` +
        `heap ${megabytes(before)} MB before, ${megabytes(peak)} MB at most`
    )
    expect(received).toBe(events * endpoints)
    for (const { id } of (await acme.webhooks.list()).data) {
      await eventually(async () => {
        const { data, total } = await acme.webhooks.deliveries(id)
        expect([total, data.every(({ status }) => status === "succeeded")]).toEqual([1_000, true])
      })
    }
    await gate.close()
    await store.close()
  }, 1_800_000)
})
