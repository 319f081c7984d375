/**
 * Plan changes of customers over HTTP, and by a client.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createClient } from "@tollgate/core/client"
import { toNodeHandler } from "@tollgate/node"
import { describe, expect, it } from "vitest"
import { readLog, useGate } from "../eventGates.ts"
import { stores, tokens } from "../stores.ts"
import { makeClient } from "./client.ts"

const strange = "org/ü 100%?#&.+"

describe.each(stores)("plan changes over HTTP, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const open = async () => {
    const billing = await gate().account("acme").meteringBuckets.ensure("default")
    const { data } = await billing.plans.list()
    for (const planExternalId of ["pro", "free"]) {
      if (data.some((plan) => plan.planExternalId === planExternalId)) continue
      await billing.plans.create({ planExternalId, meters: { requests: { max: 10 } } })
    }
    const call = makeClient(gate().handler)
    const customers = `/v1/metering/${billing.id}/customers`
    return { billing, call, customers, pathOf: (key: string) => `${customers}/${encodeURIComponent(key)}` }
  }

  it("create, change, cancel and withdraw, by any key", async () => {
    const { call, pathOf } = await open()
    const path = pathOf(strange)
    const plan = (body: object, headers = {}) => call("POST", `${path}/plan`, { body, headers })
    const once = { "idempotency-key": "sign-up" }
    const created = await plan({ planExternalIds: ["pro"], at: "now" }, once)
    expect(created).toMatchObject({
      status: 200,
      body: { customerKey: strange, planExternalIds: ["pro"], status: "active" }
    })
    expect(created.headers.get("etag")).toMatch(/^"\d+"$/)
    expect((await plan({ planExternalIds: ["pro"], at: "now" }, once)).body).toEqual(created.body)
    const { nextBillingCycle: effectiveOn, id } = created.body
    const pendingChange = { planExternalIds: ["free"], planIds: [expect.any(String)], effectiveOn }
    const changed = await plan({ planExternalIds: ["free"], at: "period-end" })
    expect(changed).toMatchObject({ status: 200, body: { id, planExternalIds: ["pro"], pendingChange } })
    expect((await call("GET", path)).body).toMatchObject({ pendingChange, subscriptions: [{ pendingChange }] })
    expect((await call("DELETE", `${path}/pending-change`)).status).toBe(204)
    expect(await call("DELETE", `${path}/pending-change`)).toMatchObject({
      status: 404,
      body: { code: "pending-change-not-found" }
    })
    expect((await call("GET", path)).body).not.toHaveProperty("pendingChange")
    const canceled = await call("POST", `${path}/cancel`, { body: { at: "period-end" } })
    expect(canceled.body).toMatchObject({ status: "active", pendingChange: { status: "canceled", effectiveOn } })
    expect((await call("POST", `${path}/cancel`, { body: { at: "now" } })).body).toMatchObject({ status: "canceled" })
    expect(await call("POST", `${path}/cancel`, { body: { at: "now" } })).toMatchObject({
      status: 403,
      body: { code: "subscription-not-active" }
    })
    expect((await plan({ planExternalIds: ["free"], at: "now" })).body).toMatchObject({ id, status: "active" })
    const events = (await readLog(store(), gate(), "acme")).filter(({ subject }) => subject.id === id)
    expect(events.map(({ type, data }) => [type, data["status"]])).toEqual([
      ["subscription.created", "active"],
      ["subscription.updated", "active"],
      ["subscription.updated", "active"],
      ["subscription.updated", "active"],
      ["subscription.updated", "canceled"],
      ["subscription.status_changed", "canceled"],
      ["subscription.updated", "active"],
      ["subscription.status_changed", "active"]
    ])
  })

  it("refuse bad input and say what is wrong", async () => {
    const { call, pathOf, customers } = await open()
    const path = pathOf("bad-input")
    const plan = { planExternalIds: ["pro"], at: "now" }
    const wrong: ReadonlyArray<readonly [string, object, string]> = [
      ["plan", { planExternalIds: ["pro"] }, "/at"],
      ["plan", { ...plan, at: "later" }, "/at"],
      ["plan", { at: "now" }, "/planExternalIds"],
      ["plan", { ...plan, planExternalIds: [] }, "/planExternalIds"],
      ["plan", { ...plan, planExternalIds: ["pro", "pro"] }, "/planExternalIds"],
      ["plan", { ...plan, prorate: 2 }, "/prorate"],
      ["plan", { ...plan, at: "period-end", prorate: 0.5 }, "/prorate"],
      ["plan", { ...plan, planIds: [] }, "/planIds"],
      ["cancel", {}, "/at"],
      ["cancel", { at: "now", prorate: 1 }, "/prorate"]
    ]
    for (const [operation, body, pointer] of wrong) {
      const refused = await call("POST", `${path}/${operation}`, { body })
      expect(refused.status, JSON.stringify(body)).toBe(400)
      expect(refused.body.errors[0].pointer).toMatch(new RegExp(`^${pointer}`))
    }
    expect((await call("POST", `${customers}/${"x".repeat(257)}/plan`, { body: plan })).status).toBe(400)
    const unknown = { planExternalIds: ["missing"], at: "now" }
    expect((await call("POST", `${path}/plan`, { body: unknown })).body.code).toBe("unknown-plan")
    expect((await call("POST", `${path}/cancel`, { body: { at: "now" } })).body.code).toBe("customer-not-found")
    expect((await call("DELETE", `${path}/pending-change`)).body.code).toBe("customer-not-found")
    expect((await call("DELETE", `${path}/pending-change?x=1`)).status).toBe(400)
    const { body } = await call("POST", `${path}/plan`, { body: plan })
    const update = { pendingChange: null }
    const subscription = customers.replace("/customers", `/subscriptions/${body.id}`)
    expect((await call("PATCH", subscription, { body: update })).status).toBe(400)
  })

  it("are made by a client, and by a handle in process", async () => {
    const { billing } = await open()
    const server = createServer(toNodeHandler(gate()))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = createClient({ baseUrl, token: tokens.writer })
    for (const [key, handle] of [
      ["by client", client.account("acme").meteringBucket(billing.id)],
      ["in process", billing]
    ] as const) {
      const customer = handle.customer(key)
      const created = await customer.changePlan({ planExternalIds: ["pro"], at: "now" })
      expect(created).toMatchObject({ customerKey: key, version: expect.any(Number) })
      const pending = await customer.cancel({ at: "period-end" }, { idempotencyKey: "retry" })
      expect(pending.pendingChange).toEqual({ status: "canceled", effectiveOn: created.nextBillingCycle })
      await customer.withdrawPendingChange()
      await expect(customer.withdrawPendingChange()).rejects.toMatchObject({
        _tag: "PendingChangeNotFound",
        customerKey: key
      })
      await customer.cancel({ at: "now" })
      const continued = await handle.subscriptions.create({
        customerKey: key,
        planExternalIds: ["free"],
        continueUsage: true
      })
      expect(continued.quotaResetAnchor).toBe(created.quotaResetAnchor)
      expect(continued).not.toHaveProperty("continueUsage")
    }
    await new Promise((resolve) => server.close(resolve))
  })
})
