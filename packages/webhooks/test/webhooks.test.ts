/**
 * Webhooks in process: their fields, their secrets and their end.
 */

import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Partition } from "@tollgate/store"
import { eventually } from "@tollgate/testing"
import { webhooks } from "@tollgate/webhooks"
import { Effect, Stream } from "effect"
import { Webhook } from "standardwebhooks"
import { describe, expect, it } from "vitest"
import { secret } from "../../core/test/secrets.ts"
import { dumpStore, hang, isSignedWith, respondWith, startGate, startReceiver } from "./receivers.ts"

const url = "http://127.0.0.1:9/hooks"

describe("the events of webhooks", () => {
  it("are no more in the log than it keeps, although nobody reads it", async () => {
    const store = MemoryStore.open()
    const acme = (await startGate({ store, events: { maxEventsPerAccount: 20 } })).account("acme")
    const { url } = await startReceiver()
    const { id } = await acme.webhooks.create({ url, events: ["plan.*"] })
    for (let index = 0; index < 60; index++) await acme.webhooks.update(id, { description: `${index}` })
    const batches = await Effect.runPromise(Stream.runCollect(store.contents.read(Partition.forEvents("acme"))))
    const keys = batches.flat().flatMap((entry) => (entry._tag === "Record" ? [entry.record.key] : []))
    expect(keys.filter((key) => key.startsWith("event/"))).toHaveLength(20)
    const { data } = await acme.events.list()
    expect(data[0]?.data).toMatchObject({ description: "59" })
  })
})

describe("a webhook", () => {
  it("is created enabled, for all events", async () => {
    const { webhooks } = (await startGate()).account("acme")
    const { secret: _, ...created } = await webhooks.create({ url })
    expect(created).toEqual({
      id: expect.stringMatching(/^whk_[0-9A-Za-z]+$/),
      url,
      events: ["*"],
      state: "enabled",
      createdOn: expect.any(String),
      updatedOn: created.createdOn,
      version: expect.anything()
    })
    expect(await webhooks.get(created.id)).toEqual(created)
    const { version: __, ...listed } = created
    expect(await webhooks.list()).toMatchObject({ data: [listed], total: 1 })
  })

  it("shows its secret once, and nothing else contains it", async () => {
    const store = MemoryStore.open()
    const gate = await startGate({ store })
    const { webhooks, events } = gate.account("acme")
    const receiver = await startReceiver()
    const created = await webhooks.create({ url: receiver.url }, { idempotencyKey: "create" })
    const rotated = await webhooks.rotateSecret(created.id, { idempotencyKey: "rotate" })
    await webhooks.create({ url: receiver.url })
    const later = [
      await webhooks.get(created.id),
      await webhooks.update(created.id, { description: "orders" }),
      (await webhooks.list()).data,
      await webhooks.test(created.id),
      await eventually(async () => {
        const { data } = await webhooks.deliveries(created.id)
        expect(data[0]?.status).toBe("succeeded")
        return data
      }),
      (await events.list()).data,
      receiver.requests,
      await dumpStore(store)
    ]
    for (const value of [created.secret, rotated.secret]) {
      expect(value).toMatch(/^whsec_[0-9A-Za-z+/]{43}=$/)
      expect(JSON.stringify(later)).not.toContain(value.slice("whsec_".length))
    }
  })

  it("receives the types of events that it names, and is changed at once", async () => {
    const { webhooks, keyBucket } = (await startGate()).account("acme")
    const [all, some] = [await startReceiver(), await startReceiver()]
    await webhooks.create({ url: all.url })
    const { id } = await webhooks.create({ url: some.url, events: ["consumer.created", "key.*"] })
    const { consumers, keys } = keyBucket("production")
    await consumers.create({ name: "alice" }, { withApiKey: true })
    await consumers.update("alice", { description: "first" })
    await eventually(() => expect(all.types()).toContain("consumer.updated"))
    await eventually(() => expect(some.types().sort()).toEqual(["consumer.created", "key.created"]))
    await webhooks.update(id, { events: ["consumer.deleted"] })
    await keys.create("alice")
    await consumers.remove("alice")
    await eventually(() => expect(some.types().sort()).toEqual(["consumer.created", "consumer.deleted", "key.created"]))
  })

  it("is sent the events of other webhooks, and not its own", async () => {
    const { webhooks } = (await startGate()).account("acme")
    const receiver = await startReceiver()
    const { id } = await webhooks.create({ url: receiver.url })
    await webhooks.update(id, { description: "own" })
    const other = await webhooks.create({ url })
    await webhooks.update(other.id, { state: "disabled" })
    await webhooks.remove(other.id)
    await eventually(() =>
      expect(receiver.types().sort()).toEqual(["webhook.created", "webhook.deleted", "webhook.updated"])
    )
    expect(receiver.requests.map(({ event }) => event.subject.id)).toEqual([other.id, other.id, other.id])
  })

  it("receives nothing while it is disabled", async () => {
    const { webhooks, keyBucket } = (await startGate()).account("acme")
    const [all, some] = [await startReceiver(), await startReceiver()]
    await webhooks.create({ url: all.url, events: ["consumer.*"] })
    const { id } = await webhooks.create({ url: some.url, events: ["consumer.*"] })
    expect(await webhooks.update(id, { state: "disabled" })).toMatchObject({ state: "disabled" })
    const { consumers } = keyBucket("production")
    await consumers.create({ name: "alice" })
    await eventually(() => expect(all.types()).toEqual(["consumer.created"]))
    expect(await webhooks.deliveries(id)).toMatchObject({ data: [], total: 0 })
    await expect(webhooks.test(id)).rejects.toMatchObject({ _tag: "WebhookDisabled" })
    expect(await webhooks.update(id, { state: "enabled" })).toMatchObject({ state: "enabled" })
    await consumers.remove("alice")
    await eventually(() => expect(some.types()).toEqual(["consumer.deleted"]))
  })

  it("ends its pending deliveries when it is disabled", async () => {
    const { webhooks } = (await startGate()).account("acme")
    const receiver = await startReceiver(respondWith(500))
    const { id } = await webhooks.create({ url: receiver.url })
    await webhooks.test(id)
    const readStatuses = async () =>
      (await webhooks.deliveries(id)).data.map(({ status, attempts }) => [status, attempts.length])
    await eventually(async () => expect(await readStatuses()).toEqual([["pending", 1]]))
    await webhooks.update(id, { state: "disabled" })
    await eventually(async () => expect(await readStatuses()).toEqual([["failed", 1]]))
  })

  it("takes its deliveries with it when it is deleted", async () => {
    const store = MemoryStore.open()
    const { webhooks, keyBucket, events } = (await startGate({ store })).account("acme")
    const receiver = await startReceiver(hang)
    const { id } = await webhooks.create({ url: receiver.url, events: ["key.created"] })
    await keyBucket("production").consumers.create({ name: "alice" })
    const keys = Array.from({ length: 900 }, () => ({}))
    await keyBucket("production").keys.createMany("alice", keys)
    await eventually(async () => expect((await webhooks.deliveries(id, { limit: 1 })).total).toBe(900))
    await webhooks.remove(id)
    await expect(webhooks.get(id)).rejects.toMatchObject({ _tag: "WebhookNotFound" })
    await expect(webhooks.deliveries(id)).rejects.toMatchObject({ _tag: "WebhookNotFound" })
    await eventually(async () => expect(await dumpStore(store)).not.toMatch(/"key":"(delivery|webhook)\//))
    expect((await events.list({ type: "webhook.*" })).data.map(({ type }) => type)).toEqual([
      "webhook.deleted",
      "webhook.created"
    ])
  })
})

describe("the secret of a webhook", () => {
  it("is verified by other implementations, and both after a rotation", async () => {
    const { webhooks } = (await startGate()).account("acme")
    const receiver = await startReceiver()
    const { id, secret: first } = await webhooks.create({ url: receiver.url })
    const { secret: second } = await webhooks.rotateSecret(id)
    await webhooks.test(id)
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    for (const { body, headers } of receiver.requests) {
      for (const value of [first, second]) {
        expect(new Webhook(value).verify(body, headers as Record<string, string>)).toEqual(JSON.parse(body))
      }
    }
  })

  it("is re-encrypted with the keys, so that the old secret of the store can be removed", async () => {
    const store = MemoryStore.open()
    const [older, newer] = [`older ${secret}`, `newer ${secret}`]
    const options = { store, modules: [webhooks({ allowPrivateNetworks: true })] }
    const receiver = await startReceiver()
    const before = await createTollgate({ ...options, secret: older })
    const { id, secret: first } = await before.account("acme").webhooks.create({ url: receiver.url })
    const { secret: second } = await before.account("acme").webhooks.rotateSecret(id)
    await before.close()
    const during = await createTollgate({ ...options, secret: [newer, older] })
    expect(await during.reencryptKeys()).toMatchObject({ reencrypted: 1, unchanged: 0, undecryptable: 0 })
    expect(await during.reencryptKeys()).toMatchObject({ reencrypted: 0, unchanged: 1, undecryptable: 0 })
    const { events } = during.account("acme")
    expect((await events.list()).data.map(({ type }) => type)).toEqual(["webhook.updated", "webhook.created"])
    await during.close()
    const after = await startGate({ ...options, secret: newer })
    await after.account("acme").webhooks.test(id)
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    for (const request of receiver.requests) {
      expect([first, second].map((value) => isSignedWith(value, request))).toEqual([true, true])
    }
  })

  it("that cannot be decrypted fails the attempt, and keeps the old secret of the store in use", async () => {
    const store = MemoryStore.open()
    const [older, newer] = [`older ${secret}`, `newer ${secret}`]
    const options = { store, modules: [webhooks({ allowPrivateNetworks: true })] }
    const receiver = await startReceiver()
    const before = await createTollgate({ ...options, secret: older })
    const { id } = await before.account("acme").webhooks.create({ url: receiver.url })
    await before.close()
    // Registers the new secret beside the old one.
    await (await createTollgate({ ...options, secret: [newer, older] })).close()
    const after = await startGate({ ...options, secret: newer })
    const acme = after.account("acme")
    await acme.webhooks.test(id)
    await eventually(async () =>
      expect((await acme.webhooks.deliveries(id)).data[0]).toMatchObject({
        status: "pending",
        attempts: [{ error: "the secret of the webhook cannot be read" }]
      })
    )
    expect(receiver.requests).toEqual([])
    expect(await after.reencryptKeys()).toMatchObject({ reencrypted: 0, undecryptable: 1 })
    await (await createTollgate({ ...options, secret: older })).close()
  })
})
