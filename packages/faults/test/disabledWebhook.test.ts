/**
 * A webhook that is disabled with a long queue: none of its deliveries stays pending, within a minute for 100,000 on a quiet
 * machine, and another account waits for nothing. 10,000 unless all cases run.
 */
import { createTollgate } from "@tollgate/core"
import { Partition, type StoreOperations } from "@tollgate/store"
import { webhooks } from "@tollgate/webhooks"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import { DeliveryId } from "../../webhooks/src/Delivery.ts"
import { WebhookId } from "../../webhooks/src/Webhook.ts"
import { deliveryRecords, newOf } from "../../webhooks/src/webhookRecords.ts"
import { isComplete } from "./sample.ts"
import { openSharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"
import { startCountingReceiver } from "./webhookReceiver.ts"

const count = isComplete ? 100_000 : 10_000
const batchSize = 500
/** Generous: other processes may have the machine. */
const timeout = isComplete ? 180_000 : 60_000

let scope: Scope.Closeable
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const log = Partition.forEvents("acme")

const fillQueue = async (store: StoreOperations, webhookId: WebhookId): Promise<void> => {
  for (let start = 0; start < count; start += batchSize) {
    const changes = Array.from({ length: batchSize }, (_, index) =>
      deliveryRecords.insert({
        id: DeliveryId.make(`dlv_${String(start + index).padStart(24, "0")}`),
        webhookId,
        eventId: `evt_${"0".repeat(24)}` as never,
        type: "consumer.created",
        status: "pending",
        attempts: [],
        isNew: true
      })
    )
    await Effect.runPromise(store.commit(log, changes))
  }
}

const countPending = async (store: StoreOperations, webhookId: string): Promise<number> => {
  const query = { indexTerms: [deliveryRecords.indexTerm(newOf(webhookId))], offset: 0, limit: 0 }
  const [page] = await Effect.runPromise(store.list(log, [query]))
  return page?.total ?? 0
}

it.each(sharedStoreKinds)(
  `a disabled webhook with ${count} pending deliveries ends them all, on %s`,
  async (kind) => {
    const shared = await Effect.runPromise(Scope.provide(startSharedStore(kind), scope))
    const [store, receiver] = [await openSharedStore(shared), await startCountingReceiver(scope)]
    const gate = await createTollgate({ store, secret, modules: [webhooks({ allowPrivateNetworks: true })] })
    const [acme, other] = [gate.account("acme"), gate.account("other")]
    const webhook = await acme.webhooks.create({ url: "http://127.0.0.1:9/", events: ["plan.*"] })
    await other.webhooks.create({ url: receiver.url, events: ["consumer.created"] })
    await acme.webhooks.update(webhook.id, { state: "disabled" })
    await fillQueue(store, WebhookId.make(webhook.id))
    const start = performance.now()
    // A change of the webhook makes the process look.
    await acme.webhooks.update(webhook.id, { description: "ended" })
    await other.keyBucket("production").consumers.create({ name: "alice" })
    await receiver.awaitRequests(1)
    const otherMs = performance.now() - start
    const pendingThen = await countPending(store, webhook.id)
    await expect.poll(() => countPending(store, webhook.id), { timeout, interval: 100 }).toBe(0)
    const seconds = ((performance.now() - start) / 1_000).toFixed(1)
    console.log(
      `${kind}: ${count} deliveries ended in ${seconds} s; another account's arrived after ${otherMs.toFixed(0)} ms, with ${pendingThen} pending`
    )
    await gate.close()
    await store.close()
  },
  timeout + 240_000
)
