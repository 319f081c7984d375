/**
 * Customers: what they use counts on their newest subscription that allows usage and has the meters.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createClient } from "@tollgate/core/client"
import { toNodeHandler } from "@tollgate/node"
import { describe, expect, it } from "vitest"
import { freshAccount, openGate, readLog, useGate } from "./eventGates.ts"
import { makeClient } from "./http/client.ts"
import { stores, tokens } from "./stores.ts"

const strange = "org/ü 100%?#&.+"

describe.each(stores)("customers, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const open = async (accountName = freshAccount()) => {
    const account = gate().account(accountName)
    const billing = await account.meteringBuckets.ensure("default")
    const plan = (planExternalId: string, meters: Readonly<Record<string, number>>) =>
      billing.plans.create({
        planExternalId,
        meters: Object.fromEntries(Object.entries(meters).map(([name, max]) => [name, { max }]))
      })
    await plan("pro", { requests: 10, tokens: 100 })
    await plan("add-on", { tokens: 1_000, images: 5 })
    const subscribe = (customerKey: string, planExternalId = "pro") =>
      billing.subscriptions.create({ customerKey, planExternalIds: [planExternalId] })
    return { accountName, account, billing, subscribe }
  }

  it("use their newest subscription that allows usage and has the meters", async () => {
    const { billing, subscribe } = await open()
    const pro = await subscribe("alice")
    const addOn = await subscribe("alice", "add-on")
    const alice = billing.customer("alice")
    expect(await alice.consume({ requests: 1 })).toMatchObject({ meters: { requests: { max: 10, used: 1 } } })
    expect(await alice.consume({ tokens: 7 })).toMatchObject({ meters: { tokens: { max: 1_000, used: 7 } } })
    expect((await billing.usage.quotas(pro.id)).meters["tokens"]).toMatchObject({ used: 0 })
    expect((await billing.usage.quotas(addOn.id)).meters["tokens"]).toMatchObject({ used: 7 })
    await expect(alice.consume({ requests: 1, images: 1 })).rejects.toMatchObject({ code: "unknown-meter" })
    await billing.subscriptions.update(addOn.id, { status: "canceled" })
    expect(await alice.consume({ tokens: 1 })).toMatchObject({ meters: { tokens: { max: 100, used: 1 } } })
    await expect(alice.consume({ requests: 10 })).rejects.toMatchObject({ code: "quota-exceeded", meter: "requests" })
  })

  it("are read with their subscriptions, newest first, and each meter", async () => {
    const { billing, subscribe } = await open()
    const pro = await subscribe("alice")
    const addOn = await subscribe("alice", "add-on")
    const alice = billing.customer("alice")
    await alice.consume({ tokens: 3 })
    await billing.usage.record({ customerKey: "alice", meters: { requests: 12 } })
    const customer = await alice.get()
    const { version: _, ...newest } = addOn
    expect(customer.subscriptions).toEqual([newest, expect.objectContaining({ id: pro.id })])
    const { quotaResetAnchor: periodStart, nextBillingCycle: resetsOn } = pro
    expect(customer.meters["requests"]).toEqual({
      remaining: 0,
      overage: 2,
      allowance: { max: 10, used: 12, remaining: 0, periodStart, resetsOn }
    })
    expect(customer.meters["tokens"]).toMatchObject({ remaining: 997, allowance: { max: 1_000, used: 3 } })
    expect(customer.meters["images"]).toMatchObject({ remaining: 5, overage: 0 })
    await billing.subscriptions.update(pro.id, { status: "unpaid" })
    await billing.subscriptions.update(addOn.id, { status: "inactive" })
    expect(await alice.get()).toMatchObject({ customerKey: "alice", meters: {} })
  })

  it("are listed oldest first, until their last subscription is removed", async () => {
    const { billing, subscribe } = await open()
    const first = await subscribe("alice")
    await subscribe("bob")
    await subscribe("alice", "add-on")
    await subscribe(strange)
    const page = await billing.customers.list({ limit: 2 })
    expect(page).toMatchObject({
      data: [
        { customerKey: "alice", subscriptionCount: 2 },
        { customerKey: "bob", subscriptionCount: 1 }
      ],
      total: 3
    })
    expect((await billing.customers.list({ after: page.next })).data).toEqual([
      { customerKey: strange, subscriptionCount: 1 }
    ])
    await billing.subscriptions.remove(first.id)
    const [{ id = "" } = {}] = (await billing.subscriptions.list({ customerKey: "bob" })).data
    await billing.subscriptions.remove(id)
    expect((await billing.customers.list()).data.map(({ customerKey }) => customerKey)).toEqual(["alice", strange])
  })

  it("are found by the beginning of their key, and until their last subscription is removed", async () => {
    const { billing, subscribe } = await open()
    const eu = await subscribe("Acme-EU")
    await subscribe("acme")
    await subscribe("acme", "add-on")
    await subscribe("bob")
    const find = async (search: string, more: object = {}) =>
      (await billing.customers.list({ search, ...more })).data.map(({ customerKey }) => customerKey)
    expect(await billing.customers.list({ search: "ACME" })).toMatchObject({
      data: [
        { customerKey: "acme", subscriptionCount: 2 },
        { customerKey: "Acme-EU", subscriptionCount: 1 }
      ],
      limit: 100,
      offset: 0
    })
    expect(await find("acme", { limit: 1 })).toEqual(["acme"])
    expect(await find("me")).toEqual([])
    await billing.subscriptions.remove(eu.id)
    expect(await find("acme")).toEqual(["acme"])
    await expect(find("a")).rejects.toMatchObject({ status: 400 })
    await expect(find("acme", { offset: 0 })).rejects.toMatchObject({ status: 400 })
  })

  it("are listed with what they have used, as their subscriptions are", async () => {
    const { billing, subscribe } = await open()
    const pro = await subscribe("alice")
    await subscribe("alice", "add-on")
    const gone = await subscribe("bob")
    await billing.subscriptions.update(gone.id, { status: "canceled" })
    await billing.usage.record({ customerKey: "alice", meters: { requests: 12 } })
    await billing.customer("alice").consume({ tokens: 3 })
    await billing.customer("alice").reserve({ meters: { images: 2 } })
    const { meters } = await billing.customer("alice").get()
    expect(meters).toMatchObject({ requests: { overage: 2 }, tokens: { remaining: 997 }, images: { remaining: 3 } })
    const include = "usage"
    const listed = await billing.customers.list({ include })
    expect(listed).toMatchObject({ limit: 100, total: 2 })
    expect(listed.data).toEqual([
      { customerKey: "alice", subscriptionCount: 2, usage: { meters } },
      { customerKey: "bob", subscriptionCount: 1, usage: { meters: {} } }
    ])
    expect((await billing.customers.list({ search: "al", include })).data).toEqual(listed.data.slice(0, 1))
    const subscriptions = await billing.subscriptions.list({ include })
    expect(subscriptions.data.map(({ usage: _, ...subscription }) => subscription)).toEqual(
      (await billing.subscriptions.list()).data
    )
    for (const { id, usage } of subscriptions.data) expect(usage).toEqual(await billing.usage.quotas(id))
    expect(subscriptions.data[0]).toMatchObject({ id: pro.id, usage: { meters: { requests: { overage: 2 } } } })
    const invalid = billing.subscriptions.list({ include: "all" as never })
    await expect(invalid).rejects.toMatchObject({ status: 400, code: "bad-request" })
  })

  it("are listed in pages of 100 with what they have used", async () => {
    const { billing, subscribe } = await open()
    for (let number = 1; number <= 105; number++) await subscribe(`c-${number}`)
    const call = makeClient(gate().handler)
    const get = (path: string) => call("GET", path, { token: tokens.admin })
    for (const list of ["customers", "subscriptions"]) {
      const path = `/v1/metering/${billing.id}/${list}?include=usage`
      const first = await get(path)
      expect(first).toMatchObject({ status: 200, body: { limit: 100, total: 105 } })
      const { data, next } = first.body as { readonly data: ReadonlyArray<object>; readonly next: string }
      expect(data).toHaveLength(100)
      expect(data[99]).toMatchObject({ customerKey: "c-100", usage: { meters: { requests: expect.anything() } } })
      const last = await get(`${path}&after=${next}`)
      expect(last.body).toMatchObject({ data: Array(5).fill({ usage: { meters: {} } }) })
      expect((await get(`${path}&limit=3`)).body).toMatchObject({ limit: 3 })
    }
    const customers: Array<unknown> = []
    for await (const customer of billing.customers.list({ include: "usage" })) customers.push(customer.usage)
    expect(customers.filter((usage) => usage !== undefined)).toHaveLength(105)
  })

  it("that do not exist, or may not use anything, are told apart", async () => {
    const { billing, subscribe } = await open()
    const nobody = billing.customer("nobody")
    const calls = [
      () => nobody.get(),
      () => nobody.consume({ requests: 1 }),
      () => nobody.reserve({ meters: { requests: 1 } }),
      () => nobody.adjust({ meter: "requests", amount: 1, reason: "test" }),
      () => nobody.series(),
      () => nobody.settle("rsv_x", { meters: {} })
    ]
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: "customer-not-found", status: 404, customerKey: "nobody" })
    }
    const { id } = await subscribe("carol")
    await billing.subscriptions.update(id, { status: "unpaid" })
    const carol = billing.customer("carol")
    for (const call of [
      () => carol.consume({ requests: 1 }),
      () => carol.reserve({ meters: { requests: 1 } }),
      () => carol.adjust({ meter: "requests", amount: 1, reason: "test" })
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "subscription-not-active", status: 403 })
    }
    expect((await carol.series()).data).toHaveLength(30)
    await expect(carol.settle("rsv_x", { meters: {} })).rejects.toMatchObject({ code: "reservation-not-found" })
  })

  it("reserve and settle, in any status, and not the reservations of others", async () => {
    const { billing, subscribe } = await open()
    const { id } = await subscribe("alice")
    await subscribe("bob")
    const [alice, bob] = [billing.customer("alice"), billing.customer("bob")]
    const reserved = await alice.reserve({ meters: { tokens: 40 }, expiresIn: 600 })
    expect(reserved).toMatchObject({ meters: { tokens: 40 }, quotas: { meters: { tokens: { used: 40 } } } })
    await expect(bob.settle(reserved.id, { meters: {} })).rejects.toMatchObject({ code: "reservation-not-found" })
    await expect(alice.settle(reserved.id, { meters: { tokens: 41 } })).rejects.toMatchObject({ status: 400 })
    await billing.subscriptions.update(id, { status: "canceled" })
    const settle = () => alice.settle(reserved.id, { meters: { tokens: 12 } }, { idempotencyKey: "once" })
    const quotas = await settle()
    expect(quotas).toMatchObject({ meters: { tokens: { used: 12, remaining: 88 } } })
    expect(await settle()).toEqual(quotas)
    await expect(alice.settle(reserved.id, { meters: {} })).rejects.toMatchObject({ code: "reservation-settled" })
  })

  it("count a retry once", async () => {
    const { billing, subscribe } = await open()
    await subscribe("alice")
    const alice = billing.customer("alice")
    const options = { idempotencyKey: "retry" }
    const adjustment = { meter: "requests", amount: 2, reason: "test" }
    const calls = [
      () => alice.consume({ requests: 1 }, options),
      () => alice.reserve({ meters: { requests: 1 } }, options),
      () => alice.adjust(adjustment, options)
    ]
    for (const call of calls) expect(await call()).toEqual(await call())
    expect((await alice.get()).meters["requests"]).toMatchObject({ allowance: { used: 4 } })
    await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    expect(await alice.consume({ requests: 1 }, options)).toMatchObject({ meters: { requests: { used: 1 } } })
  })

  it("are adjusted in quota and history alike, with an event that says why", async () => {
    const { accountName, billing, subscribe } = await open()
    const { id } = await subscribe("alice")
    const alice = billing.customer("alice")
    await alice.consume({ tokens: 50 })
    await alice.reserve({ meters: { tokens: 30 } })
    const adjust = (amount: number) => alice.adjust({ meter: "tokens", amount, reason: "Counted twice" })
    expect(await adjust(-20)).toMatchObject({ meters: { tokens: { used: 60, remaining: 40 } } })
    await expect(adjust(-31)).rejects.toMatchObject({ code: "below-zero", status: 422, meter: "tokens", used: 30 })
    expect(await adjust(100)).toMatchObject({ meters: { tokens: { used: 160, remaining: 0 } } })
    for (const step of ["hour", "day", "period"] as const) {
      expect((await alice.series({ step })).data.at(-1)?.meters["tokens"]).toBe(130)
    }
    expect((await billing.usage.totals()).data.at(-1)?.meters["tokens"]).toBe(130)
    const events = (await readLog(store(), gate(), accountName)).filter(({ type }) => type === "usage.adjusted")
    expect(events).toMatchObject([
      {
        subject: { type: "subscription", id, name: "alice" },
        data: { customerKey: "alice", meter: "tokens", amount: -20, reason: "Counted twice", used: 30 }
      },
      { data: { amount: 100, used: 130 } }
    ])
    await expect(alice.adjust({ meter: "images", amount: 1, reason: "test" })).rejects.toMatchObject({
      code: "unknown-meter"
    })
    for (const wrong of [{ amount: 0 }, { amount: 0.5 }, { reason: "" }, { meter: "" }]) {
      const adjustment = { meter: "tokens", amount: 1, reason: "test", ...wrong }
      await expect(alice.adjust(adjustment)).rejects.toMatchObject({ status: 400 })
    }
  })

  it("are adjusted in the present period only", async () => {
    const { billing } = await open()
    const quotaResetAnchor = new Date(Date.now() - 3 * 24 * 60 * 60 * 1000)
    await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"], quotaResetAnchor })
    const alice = billing.customer("alice")
    const adjust = (daysAgo: number, amount: number) =>
      alice.adjust({
        meter: "tokens",
        amount,
        occurredOn: new Date(Date.now() - daysAgo * 24 * 60 * 60 * 1000),
        reason: "test"
      })
    for (const daysAgo of [3.01, -0.01]) {
      await expect(adjust(daysAgo, 1)).rejects.toMatchObject({ code: "outside-period", status: 422 })
    }
    await adjust(2, 5)
    await adjust(2, -2)
    const { data } = await alice.series({ step: "day" })
    expect(data.at(-3)?.meters["tokens"]).toBe(3)
    expect(data.at(-1)?.meters["tokens"]).toBe(0)
    expect((await billing.usage.totals()).data.at(-3)?.meters["tokens"]).toBe(3)
    expect((await alice.series({ step: "period" })).data.at(-1)?.meters["tokens"]).toBe(3)
  })

  it("lose nothing twice when several processes take back the same usage", async () => {
    const { accountName, billing, subscribe } = await open()
    await subscribe("alice")
    await billing.customer("alice").consume({ tokens: 100 })
    const other = await openGate(store())
    const handles = [gate(), other].map((gate) =>
      gate.account(accountName).meteringBucket(billing.id).customer("alice")
    )
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) =>
        handles[index % 2]?.adjust({ meter: "tokens", amount: -30, reason: "test" })
      )
    )
    const codes = results.flatMap((result) => (result.status === "rejected" ? [result.reason.code] : []))
    expect(codes).toEqual(Array.from({ length: 5 }, () => "below-zero"))
    expect((await billing.customer("alice").get()).meters["tokens"]).toMatchObject({ allowance: { used: 10 } })
    await other.close()
  })

  it("are adjusted by many callers at once", async () => {
    const { billing, subscribe } = await open()
    await subscribe("alice")
    const alice = billing.customer("alice")
    await Promise.all(Array.from({ length: 100 }, () => alice.adjust({ meter: "tokens", amount: 1, reason: "test" })))
    expect((await alice.get()).meters["tokens"]).toMatchObject({ allowance: { used: 100 } })
  })

  it("count a repeated request once, however its path is percent-encoded", async () => {
    const { billing, subscribe } = await open()
    await subscribe("org@42")
    const call = makeClient(gate().handler)
    for (const customerKey of ["org@42", "org%4042", "%6Frg%4042"]) {
      const { status, body } = await call("POST", `/v1/metering/${billing.id}/customers/${customerKey}/consume`, {
        token: tokens.admin,
        body: { meters: { requests: 4 } },
        headers: { "idempotency-key": "once" }
      })
      expect([status, body.meters]).toMatchObject([200, { requests: { used: 4 } }])
    }
    expect((await billing.customer("org@42").get()).meters["requests"]).toMatchObject({ allowance: { used: 4 } })
  })

  it("are found over HTTP by any key, percent-encoded, and by a client", async () => {
    const { accountName, billing, subscribe } = await open("acme")
    await subscribe(strange)
    const call = makeClient(gate().handler)
    const path = `/v1/metering/${billing.id}/customers/${encodeURIComponent(strange)}`
    const consumed = await call("POST", `${path}/consume`, { body: { meters: { requests: 4 } } })
    expect(consumed).toMatchObject({ status: 200, body: { meters: { requests: { used: 4, remaining: 6 } } } })
    expect(consumed.headers.get("ratelimit")).toMatch(/^"requests";r=6;t=\d+$/)
    const reserved = await call("POST", `${path}/reserve`, { body: { meters: { tokens: 5 } } })
    expect(reserved.headers.get("ratelimit")).toMatch(/^"tokens";r=95;t=\d+$/)
    const settle = `${path}/reservations/${(reserved.body as { id: string }).id}/settle`
    expect((await call("POST", settle, { body: { meters: { tokens: 2 } } })).status).toBe(200)
    const adjusted = await call("POST", `${path}/adjust`, { body: { meter: "tokens", amount: -3, reason: "test" } })
    expect(adjusted).toMatchObject({ status: 422, body: { code: "below-zero", used: 2 } })
    expect(await call("GET", `${path}/usage?step=period&meter=tokens`)).toMatchObject({ status: 200 })
    expect(await call("GET", path)).toMatchObject({ status: 200, body: { customerKey: strange } })
    const refused = await call("POST", `${path}/consume`, { body: { meters: { requests: 7 } } })
    expect(refused).toMatchObject({ status: 429, body: { code: "quota-exceeded" } })
    expect(await call("GET", `/v1/metering/${billing.id}/customers/nobody`)).toMatchObject({
      status: 404,
      body: { code: "customer-not-found" }
    })

    const server = createServer(toNodeHandler(gate()))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = createClient({ baseUrl, token: tokens.admin }).account(accountName)
    const remote = client.meteringBucket("default").customer(strange)
    expect(await remote.consume({ tokens: 1 })).toMatchObject({ meters: { tokens: { used: 3 } } })
    expect(await remote.get()).toEqual(await billing.customer(strange).get())
    await expect(remote.adjust({ meter: "tokens", amount: -9, reason: "test" })).rejects.toMatchObject({
      code: "below-zero"
    })
    await new Promise((resolve) => server.close(resolve))
  })
})

describe.each(stores)("a metering bucket by its name, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)

  it("is created by its first use, once, also by several handles and processes", async () => {
    const accountName = freshAccount()
    const other = await openGate(store())
    const handles = [gate(), gate(), other].map((gate) => gate.account(accountName).meteringBucket("eu.default"))
    await Promise.all(handles.map(({ plans }) => plans.list()))
    const { data } = await gate().account(accountName).meteringBuckets.list()
    expect(data).toMatchObject([{ name: "eu.default", id: handles[0]?.id }])
    await other.close()
  })

  it("has all methods, iterates, and knows its id after the first call", async () => {
    const account = gate().account(freshAccount())
    const billing = account.meteringBucket("default")
    expect(() => billing.id).toThrow('await meteringBuckets.ensure("default")')
    await billing.plans.create({ label: "pro", meters: { requests: { max: 10 } } })
    const { id } = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    const again = account.meteringBucket("default")
    expect(again.id).toBe(billing.id)
    expect(await again.usage.consume(id, { requests: 1 })).toMatchObject({ meters: { requests: { used: 1 } } })
    expect(await again.customer("alice").consume({ requests: 1 })).toMatchObject({ meters: { requests: { used: 2 } } })
    const names: Array<string> = []
    for await (const { label } of again.plans.list({ limit: 1 })) names.push(label)
    expect(names).toEqual(["pro"])
  })

  it("is found again after it was removed and created", async () => {
    const account = gate().account(freshAccount())
    const billing = account.meteringBucket("default")
    await billing.plans.list()
    const { id } = billing
    await account.meteringBuckets.remove(id)
    await billing.plans.create({ label: "pro", meters: { requests: { max: 10 } } })
    expect(billing.id).not.toBe(id)
  })

  it("has no name that begins like an id, or that is invalid", async () => {
    const account = gate().account(freshAccount())
    await expect(account.meteringBuckets.create({ name: "bckt_1" })).rejects.toMatchObject({
      errors: [{ pointer: "/name" }]
    })
    await expect(account.meteringBucket("bckt_1").plans.list()).rejects.toMatchObject({ code: "bucket-not-found" })
    expect(() => account.meteringBucket("no spaces")).toThrow("meteringBucketName")
    expect(() => account.meteringBucket("")).toThrow("meteringBucketId")
  })
})
