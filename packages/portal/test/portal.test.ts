/**
 * The portal of customers: sessions, keys, usage, plans and refusals.
 */
import { createTollgate, type Tollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { MemoryStore } from "@tollgate/memory"
import { customerPortal, type PortalModule, type PortalOptions } from "@tollgate/portal"
import { portalClient } from "@tollgate/portal/client"
import type { StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { serveGate } from "../../core/test/http/serveGate.ts"

const secret = "a-secret-with-at-least-32-characters"
const management = "a-management-token-of-the-host"
const base = "http://gate/v1/accounts/acme/key-buckets/production/consumers"

const openOn = async (store: StoreOperations, options: PortalOptions) => {
  const gate = await createTollgate({
    store,
    secret,
    tokens: [{ token: management, account: "acme" }],
    modules: [customerPortal(options)]
  })
  onTestFinished(() => gate.close())
  return gate
}

const open = async (options: PortalOptions = {}) => {
  const store = MemoryStore.open()
  const gate = await openOn(store, options)
  const acme = gate.account("acme")
  const production = acme.keyBucket("production")
  await production.consumers.create({ name: "alice" }, { withApiKey: true })
  await production.consumers.create({ name: "bob" }, { withApiKey: true })
  return { gate, acme, production, store }
}

type Gate = Tollgate<PortalModule>

const send = async (gate: Gate, token: string, method: string, url: string, body?: unknown) => {
  const response = await gate.handler(
    new Request(url.startsWith("http") ? url : `${base}/${url}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
  )
  const text = await response.text()
  return { status: response.status, text, json: text.startsWith("{") ? JSON.parse(text) : undefined }
}

describe("portal sessions", () => {
  it("open the portal of one consumer and nothing else", async () => {
    const { gate, acme } = await open()
    const { token, url, expiresOn, id } = await acme.portalSessions.create("production", "alice", { name: "ann" })
    expect(url).toBe(`/portal/#token=${token}&path=accounts%2Facme%2Fkey-buckets%2Fproduction%2Fconsumers%2Falice`)
    expect(Date.parse(expiresOn) - Date.now()).toBeGreaterThan(59 * 60_000)
    const home = await send(gate, token, "GET", "alice/portal")
    expect(home).toMatchObject({
      status: 200,
      json: { consumerName: "alice", name: "ann", allow: ["keys:read", "keys:write", "usage:read"], maxKeys: 10 }
    })
    for (const path of ["bob/portal", "bob/portal/keys", "alice", "alice/keys", "", "http://gate/v1/me"]) {
      expect((await send(gate, token, "GET", path)).status, path).toBe(403)
    }
    expect((await send(gate, token, "GET", "http://gate/v1/nothing")).status).toBe(404)
    await acme.portalSessions.remove("production", "alice", id)
    expect((await send(gate, token, "GET", "alice/portal")).status).toBe(401)
    await vi.waitFor(async () => {
      const { data } = await acme.events.list({ type: "portal_session.*" })
      expect(data.map(({ type }) => type)).toEqual(["portal_session.deleted", "portal_session.created"])
      expect(JSON.stringify(data)).not.toContain("tgp_")
    }, 60_000)
  })

  it("of one consumer are revoked all at once, each with its event", async () => {
    const { gate, acme } = await open()
    const { token: ofBob } = await acme.portalSessions.create("production", "bob")
    const created = await Promise.all(
      Array.from({ length: 101 }, () => acme.portalSessions.create("production", "alice"))
    )
    expect((await send(gate, ofBob, "DELETE", "alice/portal-sessions")).status).toBe(403)
    expect(await send(gate, management, "DELETE", "alice/portal-sessions")).toMatchObject({
      status: 204,
      text: ""
    })
    expect((await acme.portalSessions.list("production", "alice")).total).toBe(0)
    for (const { token } of created.slice(99)) {
      expect((await send(gate, token, "GET", "alice/portal")).status).toBe(401)
    }
    expect((await send(gate, ofBob, "GET", "bob/portal")).status).toBe(200)
    await vi.waitFor(async () => {
      const { data } = await acme.events.list({ type: "portal_session.deleted" })
      expect(new Set(data.map(({ subject }) => subject.id))).toEqual(new Set(created.map(({ id }) => id)))
    }, 5_000)
    await acme.portalSessions.removeAll("production", "alice")
    await expect(acme.portalSessions.removeAll("production", "nobody")).rejects.toMatchObject({
      code: "consumer-not-found"
    })
  })

  it("close while the consumer is disabled, and do not outlive it", async () => {
    const { gate, acme, production } = await open()
    const { token } = await acme.portalSessions.create("production", "alice")
    await production.consumers.update("alice", { disabled: true })
    expect((await send(gate, token, "GET", "alice/portal")).status).toBe(401)
    await expect(acme.portalSessions.create("production", "alice")).rejects.toMatchObject({ code: "consumer-disabled" })
    await production.consumers.update("alice", { disabled: false })
    expect((await send(gate, token, "GET", "alice/portal")).status).toBe(200)
    await production.consumers.remove("alice")
    await production.consumers.create({ name: "alice" })
    expect((await send(gate, token, "GET", "alice/portal")).status).toBe(401)
  })
})

describe("keys of customers", () => {
  it("are created, renamed, rolled and revoked by the customer", async () => {
    const { gate, acme, production } = await open()
    const { data: before } = await production.keys.list("alice")
    await production.keys.update("alice", before[0]?.id ?? "", { scopes: ["orders:read"], ipAllow: ["203.0.113.0/24"] })
    const { token, id: sessionId } = await acme.portalSessions.create("production", "alice", { name: "ann" })
    const created = await send(gate, token, "POST", "alice/portal/keys", { name: "CI" })
    expect(created).toMatchObject({ status: 200, json: { name: "CI" } })
    const { id, key } = created.json
    expect(await production.verify(key, { ip: "203.0.113.9" })).toMatchObject({ valid: true, scopes: ["orders:read"] })
    expect((await production.keys.get("alice", id)).ipAllow).toEqual(["203.0.113.0/24"])
    const renamed = await send(gate, token, "PATCH", `alice/portal/keys/${id}`, { name: "CI 2" })
    expect(renamed.json).toMatchObject({ name: "CI 2", key: `****${key.slice(-4)}` })
    const rolled = await send(gate, token, "POST", `alice/portal/keys/${id}/roll`, { expiresIn: 0 })
    expect(rolled).toMatchObject({ status: 200, json: { name: "CI 2" } })
    expect((await production.verify(key, { ip: "203.0.113.9" })).valid).toBe(false)
    expect(await production.verify(rolled.json.key, { ip: "203.0.113.9" })).toMatchObject({ scopes: ["orders:read"] })
    expect((await send(gate, token, "POST", `alice/portal/keys/${id}/roll`, {})).json.code).toBe("key-not-active")
    expect((await send(gate, token, "DELETE", `alice/portal/keys/${rolled.json.id}`)).status).toBe(204)
    expect((await production.verify(rolled.json.key, { ip: "203.0.113.9" })).valid).toBe(false)
    await vi.waitFor(async () => {
      const { data } = await acme.events.list({ type: "key.*" })
      const ofAnn = data.filter(({ actor }) => actor.name === "ann" && actor.id === sessionId)
      expect(ofAnn.map(({ type }) => type)).toEqual([
        "key.deleted",
        "key.created",
        "key.updated",
        "key.updated",
        "key.created"
      ])
    }, 60_000)
  })
})

describe("usage of customers", () => {
  const openMetered = async (options: PortalOptions = {}) => {
    const opened = await open({
      meteringBucket: "billing",
      plans: [
        { name: "Starter", planExternalIds: ["price_1"], price: "€ 0" },
        { name: "Pro", planExternalIds: ["price_2"], link: "https://app.example.com/upgrade" }
      ],
      ...options
    })
    const billing = await opened.acme.meteringBuckets.ensure("billing")
    await billing.plans.ensure([
      { label: "one", planExternalId: "price_1", meters: { requests: { label: "Requests", max: 10 } } },
      { label: "two", planExternalId: "price_2", meters: { requests: { max: 20, isSoftLimit: true } } }
    ])
    const subscribe = (customerKey: string, ...planExternalIds: Array<string>) =>
      billing.subscriptions.create({
        customerKey,
        planExternalIds,
        metadata: { note: "internal-note" },
        subscriptionExternalId: `external-${customerKey}`,
        customerExternalId: "external-customer"
      })
    const { token } = await opened.acme.portalSessions.create("production", "alice", {
      name: "ann",
      allow: ["usage:read", "plan:change"]
    })
    const get = (path: string) => send(opened.gate, token, "GET", `alice/portal/${path}`)
    const post = (path: string, body: object) => send(opened.gate, token, "POST", `alice/portal/${path}`, body)
    return { ...opened, billing, subscribe, get, post, token }
  }

  it("is that of the customer: quotas with credit and overage, days, months and CSV", async () => {
    const { gate, token, billing, subscribe, get } = await openMetered()
    expect((await get("quotas")).json).toEqual({ data: [] })
    expect((await get("usage")).json).toEqual({ step: "day", data: [] })
    await subscribe("alice", "price_1")
    await subscribe("bob", "price_2")
    await billing.customer("alice").grants.create({ meter: "requests", amount: 5, reason: "internal-note" })
    await billing.customer("alice").consume({ requests: 12 })
    await billing.customer("bob").consume({ requests: 25 })
    const quotas = await get("quotas")
    expect(quotas.json.data).toMatchObject([
      { meter: "requests", label: "Requests", max: 10, used: 10, remaining: 3, credit: 3 }
    ])
    const sum = (body: { readonly data: ReadonlyArray<{ readonly meters: { readonly requests: number } }> }) =>
      body.data.reduce((total, { meters }) => total + meters.requests, 0)
    const days = await get("usage")
    expect([days.json.data.length, sum(days.json)]).toEqual([30, 12])
    const months = await get("usage?step=month")
    expect([months.json.step, months.json.data.length, sum(months.json)]).toEqual(["month", 12, 12])
    expect(months.json.data.at(-1).start).toMatch(/-01T00:00:00.000Z$/)
    expect((await get("usage?from=2020-01-01T00:00:00Z&step=hour")).status).toBe(400)
    const csv = await gate.handler(
      new Request(`${base}/alice/portal/usage?step=month`, {
        headers: { authorization: `Bearer ${token}`, accept: "text/csv" }
      })
    )
    expect((await csv.text()).split("\r\n").slice(0, 1)).toEqual(["start,end,requests"])
    const ofBob = await gate.account("acme").portal.quotas("production", "bob")
    expect(ofBob.data).toMatchObject([{ max: 20, used: 25, overage: 5, isSoftLimit: true }])
    for (const { text } of [quotas, days, months, await get("plan"), await get("refusals")]) {
      expect(text).not.toMatch(/internal|external|price_|sbsc_|plan_|grt_|bckt_|csmr_/)
    }
  })

  it("is by key for the customer's own keys, with their names, and named to no other session", async () => {
    const { gate, acme, store, billing, subscribe, token } = await openMetered()
    await subscribe("alice", "price_2")
    const production = acme.keyBucket("production")
    const use = async (value: string | undefined, requests: number) => {
      const metering = { meteringBucketId: billing.id, meters: { requests } }
      expect((await production.authorize(value, { metering, customer: "alice" })).allowed).toBe(true)
    }
    const own = await production.keys.create("alice", { description: "Laptop, of Ann" })
    const gone = await production.keys.create("alice", { description: "gone" })
    await production.consumers.create({ name: "mate" })
    const others = await production.keys.create("mate", { description: "internal-note" })
    await use(own.key, 3)
    await use(gone.key, 4)
    await use(others.key, 5)
    await billing.customer("alice").consume({ requests: 6 })
    await production.keys.remove("alice", gone.id)
    const { token: reader } = await acme.portalSessions.create("production", "alice")
    await gate.close()

    const later = await openOn(store, { meteringBucket: "billing" })
    const read = (path: string) => send(later, reader, "GET", `alice/portal/${path}`)
    for (const step of ["day", "month"]) {
      const { json, text } = await read(`usage?groupBy=key&step=${step}`)
      expect(json.data.at(-1)).toMatchObject({
        meters: { requests: 18 },
        keys: [{ keyId: own.id, name: "Laptop, of Ann", meters: { requests: 3 } }],
        rest: { requests: 15 }
      })
      expect(text).not.toContain("internal")
      expect(text).not.toContain(others.id)
    }
    const headers = { authorization: `Bearer ${reader}`, accept: "text/csv" }
    const csv = await later.handler(new Request(`${base}/alice/portal/usage?groupBy=key&step=month`, { headers }))
    const lines = (await csv.text()).split("\r\n")
    expect(lines[0]).toBe("start,end,keyId,name,requests")
    expect(lines.at(-3)).toContain(`,${own.id},"Laptop, of Ann",3`)
    expect(lines.at(-2)).toMatch(/Z,,,15$/)
    expect((await send(later, token, "GET", "alice/portal/usage?groupBy=key")).json).toMatchObject({
      status: 400,
      errors: [{ parameter: "groupBy", detail: "needs keys:read, which this session does not allow" }]
    })
    expect((await read("usage?groupBy=label:model")).status).toBe(400)
  })

  it("is of no metering bucket of another account", async () => {
    const { gate, acme } = await openMetered()
    const other = await gate.account("other").meteringBuckets.ensure("secret")
    for (const meteringBucket of [other.id, "secret", "bckt_none", "not a name", "../x"]) {
      await expect(acme.portalSessions.create("production", "alice", { meteringBucket })).rejects.toMatchObject({
        status: 404,
        code: "bucket-not-found"
      })
    }
  })

  it("has no usage in an account without the metering bucket of the module", async () => {
    const { gate, acme } = await open({ meteringBucket: "billing" })
    const { token } = await acme.portalSessions.create("production", "alice")
    for (const path of ["quotas", "usage", "plan"]) {
      expect(await send(gate, token, "GET", `alice/portal/${path}`)).toMatchObject({ status: 200, json: { data: [] } })
    }
  })

  it("shows the plan by its name, and changes it by the host", async () => {
    const changes: Array<object> = []
    const { billing, subscribe, get, post } = await openMetered({
      onPlanChange: async ({ customerKey, plan, name }) => {
        changes.push({ customerKey, plan: plan.name, name })
        if (changes.length === 1) return { url: "https://checkout.example.com/1" }
        if (changes.length === 2) return { refused: "Pay your invoice first" }
        if (changes.length === 3) return { url: "javascript:alert(1)" }
        if (changes.length === 4) throw new Error("the host has failed, and this is internal")
        await billing.customer(customerKey).changePlan({ planExternalIds: plan.planExternalIds, at: "period-end" })
        return undefined
      }
    })
    expect((await get("plan")).json).toEqual({
      data: [
        { name: "Starter", price: "€ 0" },
        { name: "Pro", link: "https://app.example.com/upgrade" }
      ]
    })
    await subscribe("alice", "price_1")
    expect((await get("plan")).json).toMatchObject({
      current: { name: "Starter", status: "active" },
      data: [{ name: "Starter", isCurrent: true }, { name: "Pro" }]
    })
    expect(await post("plan", { plan: "Pro" })).toMatchObject({
      status: 200,
      json: { url: "https://checkout.example.com/1" }
    })
    expect((await post("plan", { plan: "Pro" })).json).toMatchObject({
      code: "plan-change-refused",
      detail: "Pay your invoice first"
    })
    for (const _ of [3, 4]) {
      const failed = await post("plan", { plan: "Pro" })
      expect(failed.status).toBe(500)
      expect(failed.text).not.toMatch(/internal and|javascript/)
    }
    expect(await post("plan", { plan: "Pro" })).toMatchObject({ status: 200, json: {} })
    expect((await get("plan")).json.pending).toMatchObject({ name: "Pro" })
    expect((await post("plan", { plan: "price_2" })).json.code).toBe("plan-not-offered")
    expect(changes.at(-1)).toEqual({ customerKey: "alice", plan: "Pro", name: "ann" })
  })

  it("says why requests were refused, without addresses", async () => {
    const store = MemoryStore.open()
    const start = () =>
      createTollgate({
        store,
        secret,
        tokens: [{ token: management, account: "acme" }],
        modules: [customerPortal()]
      })
    const gate = await start()
    const production = gate.account("acme").keyBucket("production")
    const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
    for (const scope of ["a", "b", "a"])
      await production.authorize(apiKeys[0]?.key, { scopes: [scope], ip: "203.0.113.7" })
    await production.keys.update("alice", apiKeys[0]?.id ?? "", { disabled: true })
    await production.authorize(apiKeys[0]?.key, { ip: "203.0.113.7" })
    await gate.close()
    const later = await start()
    onTestFinished(() => later.close())
    const { data } = await later.account("acme").portal.refusals("production", "alice")
    expect(data.map(({ reason, count }) => [reason, count]).sort()).toEqual([
      ["disabled-key", 1],
      ["missing-scope", 3]
    ])
    expect(JSON.stringify(data)).not.toContain("203.0.113")
  })
})

describe("hostile input", () => {
  it("is refused, or is only text", async () => {
    const { gate, acme, production } = await open()
    const create = (input: object) => acme.portalSessions.create("production", "alice", input as never)
    const bad = [
      { returnUrl: "javascript:alert(1)" },
      { returnUrl: "http://evil.example.com" },
      { returnUrl: "//evil.example.com" },
      { returnUrl: "/\\evil.example.com" },
      { returnUrl: "https://user:password@example.com" },
      { returnUrl: "data:text/html,x" },
      { returnUrl: "https:evil.example.com" },
      { returnUrl: "https:/\\evil.example.com" },
      { returnUrl: " https://example.com" },
      { returnUrl: "https://example.com\n" },
      { expiresIn: 0 },
      { expiresIn: 86_401 },
      { allow: ["*"] },
      { allow: ["keys:reveal"] },
      { scopes: ["*"] },
      { name: "" }
    ]
    for (const input of bad) await expect(create(input), JSON.stringify(input)).rejects.toMatchObject({ status: 400 })
    const { token, returnUrl } = await create({ returnUrl: "/settings", name: "<script>alert(1)</script>" })
    expect(returnUrl).toBe("/settings")
    const { data } = await production.keys.list("alice")
    const path = "alice/portal/keys"
    const own = `${path}/${data[0]?.id}`
    for (const field of [
      { key: "x".repeat(32) },
      { scopes: ["*"] },
      { disabled: false },
      { ipAllow: [] },
      { expiresOn: null }
    ]) {
      for (const [method, to] of [
        ["POST", path],
        ["PATCH", own]
      ] as const) {
        expect((await send(gate, token, method, to, { name: "x", ...field })).status).toBe(400)
      }
      expect((await send(gate, token, "POST", `${own}/roll`, field)).status).toBe(400)
    }
    for (const name of ["", "x".repeat(257), 1, null]) {
      expect((await send(gate, token, "POST", path, { name })).status).toBe(400)
    }
    const ofBob = (await production.keys.list("bob")).data[0]?.id
    expect((await send(gate, token, "DELETE", `${path}/${ofBob}`)).json.code).toBe("key-not-found")
    expect((await send(gate, token, "POST", `${path}/${ofBob}/roll`, {})).json.code).toBe("key-not-found")
    expect((await send(gate, token, "PATCH", `${path}/${ofBob}`, { name: "x" })).json.code).toBe("key-not-found")
    const evil = "<img src=x onerror=alert(1)>\u202e"
    expect((await send(gate, token, "POST", path, { name: evil })).json.name).toBe(evil)
    const encoded = await send(gate, token, "GET", "%61lice/portal/keys")
    expect(encoded.json.total).toBe(2)
    for (const to of ["alice%2f..%2fbob/portal", "Alice/portal", "alice/portal/nothing"]) {
      expect([400, 403, 404]).toContain((await send(gate, token, "GET", to)).status)
    }
  })

  it("in options is a mistake that is named", () => {
    const wrong: ReadonlyArray<[string, object]> = [
      ["name", { name: "" }],
      ["color", { color: "red" }],
      ["logo", { logo: "https://other.example.com/logo.svg" }],
      ["maxKeys", { maxKeys: 0 }],
      ["keyScopes", { keyScopes: ["a b"] }],
      ["plans[0].planExternalIds", { plans: [{ name: "x", planExternalIds: [] }] }],
      ["plans[1].name", { plans: [1, 2].map(() => ({ name: "x", planExternalIds: ["x"] })) }],
      ["plans[0].link", { plans: [{ name: "x", planExternalIds: ["x"], link: "javascript:alert(1)" }] }],
      ["texts", { texts: { keys: 1 } }],
      ["returnUrl", { returnUrl: "//evil.example.com" }],
      ["onPlanChange", { onPlanChange: "x" }]
    ]
    for (const [option, options] of wrong) {
      expect(() => customerPortal(options as never), option).toThrowError(expect.objectContaining({ option }))
    }
  })
})

describe("a customer with very many keys", () => {
  it("makes no more until it has deleted some, so that each new one reads few", async () => {
    const { gate, acme, production } = await open({ maxKeys: 3 })
    const expired = { expiresOn: "2020-01-01T00:00:00.000Z" }
    const { data } = await production.keys.createMany(
      "alice",
      Array.from({ length: 999 }, () => expired)
    )
    const { token } = await acme.portalSessions.create("production", "alice")
    const create = () => send(gate, token, "POST", "alice/portal/keys", { name: "one more" })
    expect(await create()).toMatchObject({ status: 409, json: { code: "key-limit-reached" } })
    expect((await send(gate, token, "DELETE", `alice/portal/keys/${data[0]?.id}`)).status).toBe(204)
    expect((await create()).status).toBe(200)
    expect((await create()).status).toBe(409)
  })
})

describe("a client", () => {
  it("opens sessions and uses them", async () => {
    const { gate } = await open({ maxKeys: 2 })
    const { url: baseUrl, close } = await serveGate(gate)
    onTestFinished(close)
    const client = (token: string) => createClient({ baseUrl, token, modules: [portalClient] }).account("acme")
    const { token } = await client(management).portalSessions.create("production", "alice")
    const { portal } = client(token)
    expect((await portal.createKey("production", "alice", { name: "one" })).key).toBeDefined()
    await expect(portal.createKey("production", "alice", { name: "two" })).rejects.toMatchObject({
      code: "key-limit-reached"
    })
    expect((await portal.listKeys("production", "alice")).total).toBe(2)
    expect(await portal.quotas("production", "alice")).toEqual({ data: [] })
    expect(await portal.plans("production", "alice")).toEqual({ data: [] })
    expect((await portal.refusals("production", "alice")).data).toEqual([])
  })
})

describe("a hostile customer", () => {
  it("cannot push what others did out of the log: it changes 30 things at once, and then one a minute", async () => {
    const { gate, acme, production } = await open()
    const { token } = await acme.portalSessions.create("production", "alice")
    const other = await acme.portalSessions.create("production", "bob")
    const [{ id = "" } = {}] = (await production.keys.list("alice")).data
    const rename = (as: string, consumer = "alice", keyId = id) =>
      send(gate, as, "PATCH", `${consumer}/portal/keys/${keyId}`, { name: "again" })
    for (let count = 0; count < 30; count++) expect((await rename(token)).status).toBe(200)
    const second = await acme.portalSessions.create("production", "alice")
    for (const refused of [await rename(token), await rename(second.token)]) {
      expect(refused).toMatchObject({ status: 429, json: { code: "rate-limited", limit: "portal-changes" } })
    }
    for (const [method, path, body] of [
      ["POST", "alice/portal/keys", { name: "another" }],
      ["POST", `alice/portal/keys/${id}/roll`, {}],
      ["DELETE", `alice/portal/keys/${id}`, undefined]
    ] as const) {
      expect((await send(gate, token, method, path, body)).status, path).toBe(429)
    }
    expect((await send(gate, token, "GET", "alice/portal/keys")).json.total).toBe(1)
    // Neither other customers nor the host are limited by it.
    expect((await send(gate, other.token, "POST", "bob/portal/keys", { name: "mine" })).status).toBe(200)
    expect((await rename(management)).status).toBe(200)
    await vi.waitFor(async () => {
      expect((await acme.events.list({ type: "key.updated" })).total).toBe(31)
    }, 5_000)
  })

  it("cannot take the turns in which its host's lists are read", async () => {
    const inner = MemoryStore.open()
    const { promise: unblocked, resolve: unblock } = Promise.withResolvers<void>()
    let isBlocked = false
    const blocked = Effect.suspend(() => (isBlocked ? Effect.promise(() => unblocked) : Effect.void))
    const store: StoreOperations = {
      ...inner,
      list: (...args) => Effect.andThen(args[0].startsWith("keys/") ? blocked : Effect.void, inner.list(...args))
    }
    const gate = await openOn(store, {})
    const acme = gate.account("acme")
    await acme.keyBucket("production").consumers.create({ name: "alice" }, { withApiKey: true })
    const { token } = await acme.portalSessions.create("production", "alice")
    isBlocked = true
    const lists = Array.from({ length: 300 }, () => send(gate, token, "GET", "alice/portal/keys"))
    // As many as may run and wait are there when others are refused.
    expect((await Promise.race(lists)).status).toBe(503)
    isBlocked = false
    expect((await send(gate, management, "GET", "")).status).toBe(200)
    unblock()
    const statuses = (await Promise.all(lists)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(260)
  })
})
