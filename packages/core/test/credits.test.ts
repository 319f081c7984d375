/**
 * Grants, and what they give: by every way to count, and when they end.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createTollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { toNodeHandler } from "@tollgate/node"
import { describe, expect, it } from "vitest"
import { freshAccount, readLog, useGate } from "./eventGates.ts"
import { secret, stores, tokens } from "./stores.ts"

const later = "2099-01-01T00:00:00.000Z"

describe.each(stores)("grants, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const open = async (max = 100) => {
    const accountName = freshAccount()
    const account = gate().account(accountName)
    const billing = await account.meteringBuckets.ensure("default")
    await billing.plans.create({ planExternalId: "pro", meters: { tokens: { max } } })
    const subscribe = () => billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    const alice = billing.customer("alice")
    const grant = (amount: number, fields: object = {}) => alice.grants.create({ meter: "tokens", amount, ...fields })
    const readEvents = async () =>
      (await readLog(store(), gate(), accountName)).filter(({ type }) => type.startsWith("grant."))
    return { account, accountName, billing, subscribe, alice, grant, readEvents }
  }

  it("are spent after the allowance, by priority, expiry and age", async () => {
    const { subscribe, alice, grant } = await open()
    await subscribe()
    const last = await grant(10, { priority: 200 })
    const old = await grant(10)
    // Two of one millisecond have one age.
    while (Date.now() <= Date.parse(old.createdOn)) await new Promise(setImmediate)
    const young = await grant(10)
    const expiring = await grant(10, { expiresOn: later })
    const first = await grant(10, { priority: 0 })
    const readUsed = async () => {
      const { data } = await alice.grants.list()
      return [first, expiring, old, young, last].map(({ id }) => data.find((each) => each.id === id)?.used)
    }
    const used: Array<unknown> = []
    for (let count = 0; count < 5; count++) {
      await alice.consume({ tokens: count === 0 ? 104 : 8 })
      used.push(await readUsed())
    }
    expect(used).toEqual([
      [4, 0, 0, 0, 0],
      [10, 2, 0, 0, 0],
      [10, 10, 0, 0, 0],
      [10, 10, 8, 0, 0],
      [10, 10, 10, 6, 0]
    ])
    await expect(alice.consume({ tokens: 15 })).rejects.toMatchObject({ code: "quota-exceeded", max: 150 })
    const { meters } = await alice.consume({ tokens: 14 })
    expect(meters["tokens"]).toEqual({ max: 100, used: 150, remaining: 0, credit: 0 })
  })

  it("are found again by their externalId, also by requests at once, and by nobody else", async () => {
    const { billing, alice, grant, readEvents } = await open()
    const fields = { externalId: "payment-1", metadata: { invoice: [1, { a: "b" }] }, reason: "x", expiresOn: later }
    const created = await Promise.all([1, 2, 3, 4].map(() => grant(5, fields)))
    expect(new Set(created.map(({ id }) => id)).size).toBe(1)
    for (const other of [{ reason: "y" }, { priority: 3 }, { expiresOn: undefined }, { metadata: {} }]) {
      await expect(grant(5, { ...fields, ...other })).rejects.toMatchObject({ code: "grant-external-id-taken" })
    }
    await expect(grant(6, fields)).rejects.toMatchObject({ externalId: "payment-1" })
    const bob = billing.customer("bob").grants
    await expect(bob.create({ meter: "tokens", amount: 5, ...fields })).rejects.toMatchObject({
      code: "grant-external-id-taken"
    })
    await expect(bob.get(created[0]?.id ?? "")).rejects.toMatchObject({ code: "grant-not-found" })
    await expect(bob.void(created[0]?.id ?? "")).rejects.toMatchObject({ code: "grant-not-found" })
    expect((await alice.grants.list()).total).toBe(1)
    expect((await readEvents()).map(({ type }) => type)).toEqual(["grant.created"])
  })

  it("wait for a subscription with the meter, and go from one to the next", async () => {
    const { billing, subscribe, alice, grant } = await open(10)
    const { id } = await grant(50)
    expect(await alice.grants.get(id)).toMatchObject({ state: "active", remaining: 50 })
    await expect(alice.consume({ tokens: 1 })).rejects.toMatchObject({ code: "customer-not-found" })
    const first = await subscribe()
    await alice.consume({ tokens: 30 })
    await billing.plans.create({ planExternalId: "other", meters: { images: { max: 1 } } })
    await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["other"] })
    expect((await alice.get()).meters["tokens"]).toMatchObject({ remaining: 30, credit: 30 })
    const second = await subscribe()
    // The first one has no credit any more, but what it has taken is still counted.
    expect((await billing.usage.quotas(first.id)).meters["tokens"]).toEqual({
      ...{ max: 10, used: 30, remaining: 0, credit: 0 }
    })
    await expect(billing.usage.consume(first.id, { tokens: 1 })).rejects.toMatchObject({ code: "quota-exceeded" })
    await alice.consume({ tokens: 25 })
    expect(await alice.grants.get(id)).toMatchObject({ used: 35 })
    await billing.subscriptions.remove(second.id)
    expect(await alice.grants.get(id)).toMatchObject({ used: 35, remaining: 15 })
    expect((await billing.usage.consume(first.id, { tokens: 15 })).meters["tokens"]).toMatchObject({ remaining: 0 })
    await billing.subscriptions.remove(first.id)
    expect(await alice.grants.get(id)).toMatchObject({ used: 50, state: "depleted" })
  })

  it("get back what was not used, from the last source on", async () => {
    const { subscribe, alice, grant } = await open(10)
    await subscribe()
    const [one, two] = [await grant(10, { priority: 1 }), await grant(10, { priority: 2 })]
    const read = async () =>
      (await Promise.all([one, two].map(({ id }) => alice.grants.get(id)))).map(({ used }) => used)
    const reserved = await alice.reserve({ meters: { tokens: 25 } })
    await alice.consume({ tokens: 3 })
    expect(await read()).toEqual([10, 8])
    expect((await alice.settle(reserved.id, { meters: { tokens: 12 } })).meters["tokens"]).toMatchObject({
      ...{ used: 15, remaining: 15, credit: 15 }
    })
    expect(await read()).toEqual([5, 0])
    // In another segment: what the reservation has taken returns to the grants that it was taken from.
    const second = await alice.reserve({ meters: { tokens: 9 } })
    expect(await read()).toEqual([10, 4])
    await grant(10, { priority: 0 })
    await alice.consume({ tokens: 6 })
    await alice.settle(second.id, { meters: {} })
    expect(await read()).toEqual([5, 0])
    expect((await alice.get()).meters["tokens"]).toMatchObject({ remaining: 19, credit: 19, allowance: { used: 10 } })
    // What returns to a grant that was voided is gone.
    const third = await alice.reserve({ meters: { tokens: 6 } })
    await alice.grants.void(one.id)
    await alice.settle(third.id, { meters: {} })
    expect(await alice.grants.get(one.id)).toMatchObject({ state: "voided", used: 5 })
    expect((await alice.get()).meters["tokens"]).toMatchObject({ remaining: 14 })
  })

  it("get back what is adjusted, and give what is added", async () => {
    const { subscribe, alice, grant } = await open(10)
    await subscribe()
    const { id } = await grant(10)
    await alice.consume({ tokens: 16 })
    await grant(5)
    await alice.consume({ tokens: 6 })
    const adjust = (amount: number) => alice.adjust({ meter: "tokens", amount, reason: "x" })
    await adjust(-4)
    expect((await alice.get()).meters["tokens"]).toMatchObject({ remaining: 7, allowance: { used: 10 } })
    await adjust(-10)
    expect(await alice.grants.get(id)).toMatchObject({ used: 0 })
    expect((await alice.get()).meters["tokens"]).toMatchObject({ remaining: 17, allowance: { used: 8 } })
    await adjust(20)
    expect((await alice.get()).meters["tokens"]).toMatchObject({ remaining: 0, overage: 3, allowance: { used: 13 } })
  })

  it("are recorded once each in the log, with what was used", async () => {
    const { subscribe, alice, grant, readEvents } = await open(0)
    await subscribe()
    const [small, large] = [await grant(5, { priority: 1 }), await grant(50)]
    await Promise.all(Array.from({ length: 10 }, () => alice.consume({ tokens: 1 })))
    const reservation = await alice.reserve({ meters: { tokens: 2 } })
    await alice.settle(reservation.id, { meters: {} })
    await alice.grants.list({ state: "depleted" })
    await alice.grants.void(large.id, { actor: "jane" })
    await alice.grants.void(large.id)
    const events = await readEvents()
    expect(events.map(({ type, subject, data }) => [type, subject.id, data["used"]])).toEqual([
      ["grant.created", small.id, 0],
      ["grant.created", large.id, 0],
      ["grant.depleted", small.id, 5],
      ["grant.voided", large.id, 5]
    ])
    expect(events.map(({ actor }) => actor.type)).toEqual(["host", "host", "system", "host"])
    expect(events[3]?.subject).toEqual({ type: "grant", id: large.id, name: "alice" })
  })

  it("are listed by meter and state, in pages", async () => {
    const { billing, subscribe, alice, grant } = await open(0)
    await subscribe()
    await billing.customer("bob").grants.create({ meter: "tokens", amount: 1 })
    const depleted = await grant(1, { priority: 1 })
    const active = await grant(2)
    const pending = await grant(3, { effectiveOn: later })
    const images = await alice.grants.create({ meter: "images", amount: 4 })
    await alice.consume({ tokens: 1 })
    const voided = await grant(5)
    await alice.grants.void(voided.id)
    const list = async (query?: object) => (await alice.grants.list(query)).data.map(({ amount }) => amount)
    expect(await list()).toEqual([1, 2, 3, 4, 5])
    expect(await list({ meter: "tokens" })).toEqual([1, 2, 3, 5])
    expect(await list({ state: "active" })).toEqual([2, 4])
    expect(await list({ state: "pending" })).toEqual([3])
    expect(await list({ state: "depleted" })).toEqual([1])
    expect(await list({ state: "voided", meter: "images" })).toEqual([])
    expect(await list({ limit: 2, offset: 1 })).toEqual([2, 3])
    const ids: Array<string> = []
    for await (const { id } of alice.grants.list({ limit: 2 })) ids.push(id)
    expect(ids).toEqual([depleted, active, pending, images, voided].map(({ id }) => id))
  })

  it("are at most 100 that can be spent, of a customer and meter", async () => {
    const { subscribe, alice, grant } = await open(0)
    await subscribe()
    const created = await Promise.all(
      Array.from({ length: 102 }, () =>
        grant(1).then(
          ({ id }) => id,
          ({ code }) => code
        )
      )
    )
    expect(created.filter((id) => id === "too-many-grants")).toHaveLength(2)
    await alice.grants.create({ meter: "images", amount: 1 })
    expect((await alice.consume({ tokens: 60 })).meters["tokens"]).toMatchObject({ remaining: 40 })
    // Those that were used up are not open any more.
    await Promise.all(Array.from({ length: 60 }, () => grant(1)))
    await expect(grant(1)).rejects.toMatchObject({ code: "too-many-grants", meter: "tokens", max: 100 })
  })

  it("are not created from mistakes", async () => {
    const { grant, alice } = await open()
    const messages = await Promise.all(
      [
        grant(0),
        grant(1.5),
        grant(1, { priority: 256 }),
        grant(1, { expiresOn: "2020-01-01T00:00:00Z" }),
        grant(1, { effectiveOn: later, expiresOn: later }),
        grant(1, { reason: "" }),
        alice.grants.create({ meter: "no meter", amount: 1 })
      ].map((call) =>
        call.then(
          () => "created",
          ({ message }) => message
        )
      )
    )
    expect(messages).toMatchInlineSnapshot(`
      [
        "/amount: Expected an integer from 1 to 10,000,000,000,000",
        "/amount: Expected an integer",
        "/priority: Expected an integer from 0 to 255",
        "/expiresOn: must be in the future",
        "/expiresOn: must be after effectiveOn",
        "/reason: Expected a value with a length of at least 1",
        "/meter: Expected 1 to 64 of the characters A-Z a-z 0-9 _ . -",
      ]
    `)
    expect((await alice.grants.list()).total).toBe(0)
  })

  it("are of no more meters than a metering bucket may have, and exact when there are a hundred of the largest", async () => {
    const few = await createTollgate({ store: store(), secret, limits: { metersPerMeteringBucket: 2 } })
    const { billing, alice, accountName, subscribe } = await open()
    const { grants } = few.account(accountName).meteringBucket(billing.id).customer("alice")
    await grants.create({ meter: "images", amount: 1 })
    await expect(grants.create({ meter: "calls", amount: 1 })).rejects.toMatchObject({ code: "limit-reached" })
    await few.close()
    await subscribe()
    for (let count = 0; count < 100; count++) await alice.grants.create({ meter: "tokens", amount: 1e13 })
    const { meters } = await alice.consume({ tokens: 1e15 + 99 })
    expect(meters["tokens"]).toEqual({ max: 100, used: 1e15 + 99, remaining: 1, credit: 1 })
  })

  it("are the same by a client, and in the headers of a decision", async () => {
    const { account, accountName, billing, subscribe } = await open(10)
    await subscribe()
    const server = createServer(toNodeHandler(gate())).listen(0)
    const baseUrl = `http://localhost:${(server.address() as AddressInfo).port}`
    const client = createClient({ baseUrl, token: tokens.admin })
    const { grants } = client.account(accountName).meteringBucket(billing.id).customer("alice")
    const { id } = await grants.create({ meter: "tokens", amount: 5, effectiveOn: new Date(0) })
    const production = account.keyBucket("production")
    const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
    const metering = { meteringBucketId: billing.id, meters: { tokens: 12 } }
    const decision = await production.authorize(apiKeys[0]?.key, { metering })
    expect(decision).toMatchObject({ quotas: { meters: { tokens: { used: 12, remaining: 3, credit: 3 } } } })
    expect(await grants.get(id)).toMatchObject({ used: 2, effectiveOn: "1970-01-01T00:00:00.000Z" })
    const refused = await production.authorize(apiKeys[0]?.key, { metering })
    expect(refused).toMatchObject({ allowed: false, reason: "over-quota" })
    const once = { idempotencyKey: "once" }
    const alice = billing.customer("alice")
    const counted = await alice.consume({ tokens: 1 }, once)
    await alice.grants.create({ meter: "tokens", amount: 5 })
    expect(await alice.consume({ tokens: 1 }, once)).toEqual(counted)
    expect(await grants.void(id)).toMatchObject({ state: "voided", used: 3, remaining: 2 })
    await expect(grants.get("grt_none")).rejects.toMatchObject({ code: "grant-not-found" })
    server.close()
  })
})
