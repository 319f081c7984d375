/**
 * Deliveries of webhooks: what is sent, to whom, how often, and what is shown of it.
 */
import { MemoryStore } from "@tollgate/memory"
import { eventually } from "@tollgate/testing"
import { Webhook } from "standardwebhooks"
import { describe, expect, it } from "vitest"
import { dumpStore, hang, respondWith, startGate, startReceiver } from "./receivers.ts"

type Acme = ReturnType<Awaited<ReturnType<typeof startGate>>["account"]>

const createConsumers = async ({ keyBucket }: Acme, count: number, prefix = "c") => {
  const { consumers } = keyBucket("production")
  for (let index = 0; index < count; index++) await consumers.create({ name: `${prefix}-${index}` })
}

const readDelivery = async ({ webhooks }: Acme, webhookId: string, deliveryId: string) => {
  const { data } = await webhooks.deliveries(webhookId)
  return data.find(({ id }) => id === deliveryId)
}

/** Sends a test event, and waits until it was attempted. */
const attemptTest = async (acme: Acme, webhookId: string) => {
  const { id } = await acme.webhooks.test(webhookId)
  await eventually(async () => expect((await readDelivery(acme, webhookId, id))?.attempts).toHaveLength(1))
  return id
}

describe("a delivery", () => {
  it("has the event of the log and its time as body, and the headers of Standard Webhooks", async () => {
    const acme = (await startGate()).account("acme")
    const receiver = await startReceiver()
    const { id, secret } = await acme.webhooks.create({ url: receiver.url, events: ["consumer.*"] })
    await createConsumers(acme, 1)
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    const [event] = (await acme.events.list({ type: "consumer.*" })).data
    for (const { event: sent, headers, body } of receiver.requests) {
      expect(sent).toEqual({ ...event, timestamp: event?.occurredOn })
      expect(headers).toMatchObject({ "webhook-id": event?.id, "content-type": "application/json" })
      expect(headers["webhook-timestamp"]).toMatch(/^\d{10}$/)
      expect(headers["webhook-signature"]).toMatch(/^v1,[0-9A-Za-z+/]{43}=$/)
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual(sent)
    }
    await eventually(async () =>
      expect((await acme.webhooks.deliveries(id)).data).toEqual([
        {
          id: expect.stringMatching(/^dlv_/),
          eventId: event?.id,
          type: "consumer.created",
          status: "succeeded",
          attempts: [{ startedOn: expect.any(String), durationMs: expect.any(Number), statusCode: 204 }]
        }
      ])
    )
  })

  it("of a test event is in no log", async () => {
    const acme = (await startGate()).account("acme")
    const receiver = await startReceiver()
    const { id } = await acme.webhooks.create({ url: receiver.url, events: ["consumer.created"] })
    await attemptTest(acme, id)
    expect(receiver.requests.map(({ event }) => event)).toMatchObject([
      { type: "webhook.test", accountName: "acme", actor: { type: "host" }, subject: { type: "webhook", id } }
    ])
    expect((await acme.events.list()).data.map(({ type }) => type)).toEqual(["webhook.created"])
  })

  it("does not follow a redirect", async () => {
    const acme = (await startGate()).account("acme")
    const target = await startReceiver()
    const receiver = await startReceiver(respondWith(307, { location: target.url }))
    const { id } = await acme.webhooks.create({ url: receiver.url })
    const delivery = await attemptTest(acme, id)
    expect(await readDelivery(acme, id, delivery)).toMatchObject({
      status: "pending",
      attempts: [{ statusCode: 307 }],
      nextAttemptOn: expect.any(String)
    })
    expect(target.requests).toEqual([])
  })

  it("says why there was no response", async () => {
    const acme = (await startGate()).account("acme")
    const receiver = await startReceiver((response) => response.destroy())
    const { id } = await acme.webhooks.create({ url: receiver.url })
    const delivery = await attemptTest(acme, id)
    const attempts = (await readDelivery(acme, id, delivery))?.attempts
    expect(attempts).toEqual([
      { startedOn: expect.any(String), durationMs: expect.any(Number), error: expect.stringMatching(/connection/) }
    ])
  })

  it("can be repeated, whatever its status", async () => {
    const acme = (await startGate()).account("acme")
    const receiver = await startReceiver(respondWith(500))
    const { id } = await acme.webhooks.create({ url: receiver.url })
    const delivery = await attemptTest(acme, id)
    const retry = async (status: number) => {
      receiver.respond = respondWith(status)
      const before = (await readDelivery(acme, id, delivery))?.attempts ?? []
      expect(await acme.webhooks.retry(id, delivery)).toMatchObject({ id: delivery, status: "pending" })
      return eventually(async () => {
        const after = await readDelivery(acme, id, delivery)
        expect(after?.attempts).toHaveLength(before.length + 1)
        return after?.status
      })
    }
    expect(await retry(500)).toBe("pending")
    expect(await retry(200)).toBe("succeeded")
    expect(await retry(201)).toBe("succeeded")
    await acme.webhooks.retry(id, delivery)
    await acme.webhooks.update(id, { state: "disabled" })
    await eventually(async () => expect((await readDelivery(acme, id, delivery))?.status).not.toBe("pending"))
    await expect(acme.webhooks.retry(id, delivery)).rejects.toMatchObject({ _tag: "WebhookDisabled" })
    await acme.webhooks.update(id, { state: "enabled" })
    expect(await retry(204)).toBe("succeeded")
    expect(new Set(receiver.ids()).size).toBe(1)
  })

  it("that is repeated during an attempt has both outcomes", async () => {
    const acme = (await startGate()).account("acme")
    const waiting: Array<Parameters<ReturnType<typeof respondWith>>> = []
    const receiver = await startReceiver((...request) => void waiting.push(request))
    const { id } = await acme.webhooks.create({ url: receiver.url })
    const { id: delivery } = await acme.webhooks.test(id)
    await eventually(() => expect(waiting).toHaveLength(1))
    await acme.webhooks.retry(id, delivery)
    await eventually(() => expect(waiting).toHaveLength(2))
    for (const request of waiting) respondWith(204)(...request)
    await eventually(async () => {
      const after = await readDelivery(acme, id, delivery)
      expect(after?.status).toBe("succeeded")
      expect(after?.attempts.map(({ statusCode }) => statusCode)).toEqual([204, 204])
    })
  })

  it("whose event was dropped from the log fails, which is not the fault of the endpoint", async () => {
    const store = MemoryStore.open()
    const acme = (await startGate({ store, events: { maxEventsPerAccount: 5 } })).account("acme")
    const receiver = await startReceiver()
    const { id } = await acme.webhooks.create({ url: receiver.url, events: ["consumer.created"] })
    await createConsumers(acme, 1, "first")
    const oldest = await eventually(async () => {
      const [delivery] = (await acme.webhooks.deliveries(id)).data
      expect(delivery?.status).toBe("succeeded")
      return delivery?.id ?? ""
    })
    await acme.webhooks.update(id, { events: ["consumer.deleted"] })
    await createConsumers(acme, 10)
    await eventually(async () =>
      expect((await acme.events.list()).data.map(({ subject }) => subject.name)).not.toContain("first-0")
    )
    await acme.webhooks.retry(id, oldest)
    await eventually(async () =>
      expect(await readDelivery(acme, id, oldest)).toMatchObject({
        status: "failed",
        attempts: [{ statusCode: 204 }, { error: "the event is no longer in the log" }]
      })
    )
    expect(receiver.requests).toHaveLength(1)
    expect(await dumpStore(store)).not.toContain("failingSince")
  })
})

describe("a webhook whose endpoint is gone", () => {
  it("is disabled by 410, its other deliveries end, and it can be enabled again", async () => {
    const acme = (await startGate()).account("acme")
    const receiver = await startReceiver(respondWith(500))
    const watcher = await startReceiver()
    await acme.webhooks.create({ url: watcher.url, events: ["webhook.disabled"] })
    const { id } = await acme.webhooks.create({ url: receiver.url, events: ["consumer.*"] })
    const pending = await attemptTest(acme, id)
    receiver.respond = respondWith(410)
    const last = await attemptTest(acme, id)
    expect(await acme.webhooks.get(id)).toMatchObject({
      state: "disabled",
      disabledReason: "The endpoint responded with 410 Gone"
    })
    for (const delivery of [pending, last]) {
      await eventually(async () => expect(await readDelivery(acme, id, delivery)).toMatchObject({ status: "failed" }))
    }
    expect((await acme.events.list({ type: "webhook.disabled" })).data).toMatchObject([
      { actor: { type: "system" }, subject: { type: "webhook", id }, data: { id, state: "disabled" } }
    ])
    await eventually(() => expect(watcher.types()).toEqual(["webhook.disabled"]))
    receiver.respond = respondWith(204)
    const enabled = await acme.webhooks.update(id, { state: "enabled" })
    expect(enabled).toMatchObject({ state: "enabled" })
    expect(enabled).not.toHaveProperty("disabledReason")
    await createConsumers(acme, 1)
    await eventually(() => expect(receiver.types().at(-1)).toBe("consumer.created"))
  })

  it("is not disabled by the endpoint that it had before", async () => {
    const acme = (await startGate()).account("acme")
    let respondLate = () => {}
    const before = await startReceiver((response) => {
      respondLate = () => respondWith(410)(response, before.requests[0] as never)
    })
    const after = await startReceiver()
    const { id } = await acme.webhooks.create({ url: before.url })
    const { id: delivery } = await acme.webhooks.test(id)
    await eventually(() => expect(before.requests).toHaveLength(1))
    await acme.webhooks.update(id, { url: after.url })
    respondLate()
    await eventually(async () =>
      expect(await readDelivery(acme, id, delivery)).toMatchObject({ attempts: [{ statusCode: 410 }] })
    )
    expect(await acme.webhooks.get(id)).toMatchObject({ state: "enabled" })
    await attemptTest(acme, id)
    expect(after.types()).toEqual(["webhook.test"])
  })
})

describe("a webhook that is disabled and enabled again", () => {
  it("is not sent what was queued before, however much it was", async () => {
    const acme = (await startGate()).account("acme")
    const receiver = await startReceiver(hang)
    const { id } = await acme.webhooks.create({ url: receiver.url, events: ["key.created"] })
    const { consumers, keys } = acme.keyBucket("production")
    await consumers.create({ name: "alice" })
    await keys.createMany(
      "alice",
      Array.from({ length: 1_000 }, () => ({}))
    )
    await eventually(async () => expect((await acme.webhooks.deliveries(id)).total).toBe(1_000))
    await acme.webhooks.update(id, { state: "disabled" })
    receiver.respond = respondWith(204)
    await acme.webhooks.update(id, { state: "enabled" })
    const sent = receiver.requests.length
    expect(sent).toBeLessThan(100)
    const { data } = await acme.webhooks.deliveries(id)
    expect(data.filter(({ status }) => status !== "failed").length).toBeLessThanOrEqual(sent)
    const last = await keys.create("alice")
    await eventually(() => expect(receiver.requests.at(-1)?.event).toMatchObject({ subject: { id: last.id } }))
    expect(receiver.requests).toHaveLength(sent + 1)
  })
})

describe("the list of deliveries", () => {
  it("has the newest first, and keeps the last 1,000 that have ended", async () => {
    const acme = (await startGate()).account("acme")
    const receiver = await startReceiver()
    const { id } = await acme.webhooks.create({ url: receiver.url, events: ["key.created"] })
    const { consumers, keys } = acme.keyBucket("production")
    await consumers.create({ name: "alice" })
    const create = (count: number) =>
      keys.createMany(
        "alice",
        Array.from({ length: count }, () => ({}))
      )
    for (const count of [600, 1_200]) {
      await create(600)
      await eventually(() => expect(receiver.requests).toHaveLength(count))
    }
    await eventually(async () => {
      const { data, total } = await acme.webhooks.deliveries(id)
      expect(total).toBe(1_000)
      expect(data.every(({ status }) => status === "succeeded")).toBe(true)
      const { data: newest } = await acme.events.list({ type: "key.created", limit: 1_000 })
      expect(data.map(({ eventId }) => eventId)).toEqual(newest.map(({ id }) => id))
    })
  }, 300_000)
})

describe("an endpoint that hangs", () => {
  it("delays no other endpoint of its account", async () => {
    const acme = (await startGate()).account("acme")
    const hanging = await startReceiver(hang)
    await acme.webhooks.create({ url: hanging.url, events: ["consumer.*"] })
    const others = await Promise.all(Array.from({ length: 4 }, () => startReceiver()))
    for (const { url } of others) await acme.webhooks.create({ url, events: ["consumer.*"] })
    await createConsumers(acme, 50)
    await eventually(() => expect(others.map(({ requests }) => requests.length)).toEqual([50, 50, 50, 50]))
    for (const other of others) expect(new Set(other.ids()).size).toBe(50)
    expect(hanging.requests.length).toBeLessThan(50)
  })

  it("delays no other account, also if there are twenty", async () => {
    const gate = await startGate()
    const [acme, other] = [gate.account("acme"), gate.account("other")]
    const hanging = await startReceiver(hang)
    for (let count = 0; count < 20; count++) await acme.webhooks.create({ url: hanging.url, events: ["consumer.*"] })
    const receiver = await startReceiver()
    await other.webhooks.create({ url: receiver.url, events: ["consumer.*"] })
    await createConsumers(acme, 3)
    // Two of each endpoint, or more if the machine is so slow that some have timed out.
    await eventually(() => expect(hanging.requests.length).toBeGreaterThanOrEqual(40))
    await createConsumers(other, 20)
    await eventually(() => expect(receiver.requests).toHaveLength(20))
  })
})

describe("two gates on one store", () => {
  it("send each event to each endpoint once", async () => {
    const store = MemoryStore.open()
    const gates = [await startGate({ store }), await startGate({ store })]
    const receivers = [await startReceiver(), await startReceiver()]
    const [one, two] = gates.map((gate) => gate.account("acme"))
    if (one === undefined || two === undefined) throw new Error("Two gates were started")
    for (const { url } of receivers) await one.webhooks.create({ url, events: ["consumer.*"] })
    await Promise.all([createConsumers(one, 150, "one"), createConsumers(two, 150, "two")])
    for (const { id } of (await one.webhooks.list()).data) {
      await eventually(async () => {
        const { data, total } = await one.webhooks.deliveries(id)
        expect([total, data.filter(({ status }) => status === "succeeded").length]).toEqual([300, 300])
      })
    }
    for (const { requests } of receivers) {
      expect(requests).toHaveLength(300)
      expect(new Set(requests.map(({ event }) => event.id)).size).toBe(300)
    }
  })
})
