/**
 * Customers with grants over HTTP: what an answer says of their credit.
 */
import { describe, expect, it } from "vitest"
import { useGate } from "../eventGates.ts"
import { stores } from "../stores.ts"
import { makeClient } from "./client.ts"

let count = 0

describe.each(stores)("customers with grants, on %s", (_, layer) => {
  const { gate } = useGate(layer)
  const open = async (max = 10) => {
    const billing = await gate().account("acme").meteringBuckets.ensure(`billing-${++count}`)
    await billing.plans.create({ planExternalId: "pro", meters: { tokens: { max }, requests: { max: 5 } } })
    const call = makeClient(gate().handler)
    const customers = `/v1/metering/${billing.id}/customers`
    const pathOf = (key: string) => `${customers}/${encodeURIComponent(key)}`
    const grant = async (key: string, body: object) =>
      (await call("POST", `${pathOf(key)}/grants`, { body: { meter: "tokens", ...body } })).body
    return { billing, call, customers, pathOf, grant }
  }

  it("are customers without a subscription, too", async () => {
    const { billing, call, customers, pathOf, grant } = await open()
    expect((await call("GET", pathOf("org/42"))).status).toBe(404)
    await grant("org/42", { amount: 5 })
    const customer = { customerKey: "org/42", subscriptions: [], features: {}, meters: {} }
    expect(await call("GET", pathOf("org/42"))).toMatchObject({ status: 200, body: customer })
    const listed = [{ customerKey: "org/42", subscriptionCount: 0 }]
    expect((await call("GET", customers)).body).toMatchObject({ data: listed, total: 1 })
    expect((await call("GET", `${customers}?search=ORG`)).body.data).toEqual(listed)
    expect((await call("GET", `${customers}?include=usage`)).body.data).toEqual([
      { ...listed[0], usage: { meters: {} } }
    ])
    // It stays one when its last subscription is removed.
    const { id } = await billing.subscriptions.create({ customerKey: "org/42", planExternalIds: ["pro"] })
    expect((await call("GET", pathOf("org/42"))).body.meters.tokens.remaining).toBe(15)
    await billing.subscriptions.remove(id)
    expect((await call("GET", pathOf("org/42"))).body).toMatchObject(customer)
    // Counting needs a subscription.
    expect(await call("POST", `${pathOf("org/42")}/consume`, { body: { meters: { tokens: 1 } } })).toMatchObject({
      status: 404,
      body: { code: "customer-not-found" }
    })
  })

  it("show how many active grants a meter has, and when the next expires", async () => {
    const { billing, call, customers, pathOf, grant } = await open()
    await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    const read = async () => (await call("GET", pathOf("alice"))).body.meters
    expect((await read()).tokens).not.toHaveProperty("grants")
    await grant("alice", { amount: 20 })
    await grant("alice", { amount: 5, priority: 0, expiresOn: "2099-02-01T00:00:00.000Z" })
    await grant("alice", { amount: 5, expiresOn: "2099-03-01T00:00:00.000Z" })
    await grant("alice", { amount: 5, effectiveOn: "2098-01-01T00:00:00.000Z", expiresOn: "2098-02-01T00:00:00.000Z" })
    const { tokens, requests } = await read()
    expect(tokens.grants).toEqual({ remaining: 30, count: 3, nextExpiryOn: "2099-02-01T00:00:00.000Z" })
    expect(tokens).toMatchObject({ remaining: 40, credit: 30 })
    expect(requests).not.toHaveProperty("grants")
    await call("POST", `${pathOf("alice")}/consume`, { body: { meters: { tokens: 17 } } })
    const left = { remaining: 23, count: 2, nextExpiryOn: "2099-03-01T00:00:00.000Z" }
    expect((await read()).tokens.grants).toEqual(left)
    const { body } = await call("GET", `${customers}?include=usage`)
    expect(body.data[0].usage.meters.tokens.grants).toEqual(left)
    await call("POST", `${pathOf("alice")}/consume`, { body: { meters: { tokens: 23 } } })
    expect((await read()).tokens.grants).toEqual({ remaining: 0, count: 0 })
  })

  describe("say after an adjustment and a settlement", () => {
    const consume = (call: ReturnType<typeof makeClient>, path: string, tokens: number) =>
      call("POST", `${path}/consume`, { body: { meters: { tokens } } })

    it("that what returns to a grant is credit again, also in a replay", async () => {
      const { billing, call, pathOf, grant } = await open()
      await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
      const path = pathOf("alice")
      const adjust = (amount: number, headers = {}) =>
        call("POST", `${path}/adjust`, { headers, body: { meter: "tokens", amount, reason: "Refund" } })
      await grant("alice", { amount: 20 })
      await consume(call, path, 30)
      // The grant is used up, so its segment is closed by the count that is refused.
      expect((await consume(call, path, 1)).status).toBe(429)
      const once = { "idempotency-key": "refund" }
      const quota = { max: 10, used: 27, remaining: 3, credit: 3 }
      const adjusted = await adjust(-3, once)
      expect(adjusted.body.meters.tokens).toEqual(quota)
      expect((await adjust(-3, once)).body).toEqual(adjusted.body)
      expect((await billing.customer("alice").get()).meters["tokens"]).toMatchObject({ remaining: 3, credit: 3 })
      // More than the grant has given returns to the allowance.
      expect((await adjust(-19)).body.meters.tokens).toEqual({ max: 10, used: 8, remaining: 22, credit: 20 })
      expect((await consume(call, path, 4)).body.meters.tokens).toEqual({
        ...{ max: 10, used: 12, remaining: 18, credit: 18 }
      })
    })

    it("that what returns to a voided grant is gone", async () => {
      const { billing, call, pathOf, grant } = await open()
      await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
      const path = pathOf("alice")
      const { id } = await grant("alice", { amount: 20 })
      await consume(call, path, 20)
      await call("POST", `${path}/grants/${id}/void`)
      const body = { meter: "tokens", amount: -3, reason: "Refund" }
      const { meters } = (await call("POST", `${path}/adjust`, { body })).body
      const shown = (await billing.customer("alice").get()).meters["tokens"]
      expect(meters.tokens).toMatchObject({ used: 17, remaining: shown?.remaining, credit: shown?.credit })
      expect(shown).toMatchObject({ remaining: 0, credit: 0 })
    })

    it("what a reservation of an earlier segment gives back", async () => {
      const { billing, call, pathOf, grant } = await open()
      await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
      const path = pathOf("alice")
      const first = await grant("alice", { amount: 20 })
      const reserved = await call("POST", `${path}/reserve`, { body: { meters: { tokens: 25 } } })
      await grant("alice", { amount: 7 })
      await consume(call, path, 1)
      const settle = { body: { meters: { tokens: 12 } } }
      const { meters } = (await call("POST", `${path}/reservations/${reserved.body.id}/settle`, settle)).body
      expect(meters.tokens).toEqual({ max: 10, used: 13, remaining: 24, credit: 24 })
      expect((await billing.customer("alice").get()).meters["tokens"]).toMatchObject({ remaining: 24, credit: 24 })
      expect((await call("GET", `${path}/grants/${first.id}`)).body).toMatchObject({ used: 3 })
    })
  })
})
