import { MemoryStore } from "@tollgate/memory"
import type { Change, StoreOperations } from "@tollgate/store"
import { eventually } from "@tollgate/testing"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { dumpStore, startGate } from "./receivers.ts"

const queuesDelivery = (change: Change): boolean => change._tag === "Put" && change.key.startsWith("delivery/")

/** A store that calls `before` ahead of the first commit that queues a delivery. */
const interrupt = (store: StoreOperations, before: () => Promise<void>): StoreOperations => {
  let isFirst = true
  return {
    ...store,
    commit: (partition, changes, idempotency) =>
      Effect.suspend(() => {
        if (!isFirst || !changes.some(queuesDelivery)) return store.commit(partition, changes, idempotency)
        isFirst = false
        return Effect.andThen(Effect.promise(before), store.commit(partition, changes, idempotency))
      })
  }
}

describe("a webhook that is deleted while an event is queued for it", () => {
  it("leaves no delivery behind", async () => {
    const store = MemoryStore.open()
    // Closed, so that it does not queue the delivery itself.
    const creator = await startGate({ store })
    const { id } = await creator.account("acme").webhooks.create({ url: "http://127.0.0.1:9/hooks" })
    await creator.close()
    const deleteWebhook = async () => {
      await (await startGate({ store })).account("acme").webhooks.remove(id)
      await eventually(async () => expect(await dumpStore(store)).not.toContain('"key":"webhook/'))
    }
    const other = (await startGate({ store: interrupt(store, deleteWebhook) })).account("acme")
    await other.keyBucket("production").consumers.create({ name: "alice" })
    await eventually(async () =>
      expect((await other.events.list()).data.map(({ type }) => type)).toContain("consumer.created")
    )
    expect(await dumpStore(store)).not.toContain('"key":"delivery/')
  })
})
