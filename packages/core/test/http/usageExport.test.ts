/**
 * What all customers used in a month, as JSON, lines and CSV, and the customers that used most.
 */
import { createTollgate, type Tollgate } from "@tollgate/core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores, tokens } from "../stores.ts"
import { type Client, makeClient } from "./client.ts"

const month = new Date().toISOString().slice(0, 7)
const day = new Date().toISOString().slice(0, 10)

describe.each(stores)("usage of all customers, on %s", (_, store) => {
  let gate: Tollgate
  let call: Client
  beforeAll(async () => {
    gate = await createTollgate({ store, secret, tokens: grants })
    call = makeClient(gate.handler)
  })
  afterAll(() => gate.close())

  const read = async (path: string, accept: string) => {
    const headers = { accept, authorization: `Bearer ${tokens.reader}` }
    const response = await gate.handler(new Request(`http://gate${path}`, { headers }))
    return { type: response.headers.get("content-type"), text: await response.text() }
  }

  /** A metering bucket in which each of these customers has used so many tokens, and twice as many requests. */
  const setUp = async (customers: Readonly<Record<string, number>>) => {
    const account = gate.account("acme")
    const { id } = await account.meteringBuckets.create()
    const billing = account.meteringBucket(id)
    const meters = { tokens: { max: 1 }, requests: { max: 1 } }
    await billing.plans.create({ label: "Plan", planExternalId: "plan", meters })
    for (const [customerKey, amount] of Object.entries(customers)) {
      await billing.subscriptions.create({ customerKey, planExternalIds: ["plan"] } as never)
      if (amount > 0) await billing.usage.record({ customerKey, meters: { tokens: amount, requests: 2 * amount } })
    }
    return { billing, path: `/v1/metering/${id}/usage` }
  }

  it("lists what each subscription used in a month, page by page", async () => {
    const { billing, path } = await setUp({ alice: 3, bob: 0, carol: 5 })
    const first = await call("GET", `${path}/export?month=${month}&limit=1`)
    expect(first.body).toMatchObject({ data: [{ customerKey: "alice", meters: { tokens: 3, requests: 6 } }], total: 2 })
    const second = await call("GET", `${path}/export?month=${month}&after=${first.body.next}`)
    expect(second.body.data).toMatchObject([{ customerKey: "carol", meters: { tokens: 5, requests: 10 } }])
    expect(second.body).not.toHaveProperty("next")

    const { data } = await billing.subscriptions.list({ customerKey: "alice" })
    const rows = []
    for await (const row of billing.usage.export({ month, limit: 1 })) rows.push(row)
    expect(rows).toEqual([...first.body.data, ...second.body.data])
    expect(rows[0]?.subscriptionId).toBe(data[0]?.id)
    // The history of another month is empty.
    const other = await billing.usage.export({ month: "2020-02" })
    expect(other.data.map(({ meters }) => meters)).toEqual([{}, {}])
  })

  it("exports all as lines of JSON or CSV, whatever the limit is, in pages of their own", async () => {
    const customers = Object.fromEntries(Array.from({ length: 230 }, (_, index) => [`customer-${index}`, index + 1]))
    const { path } = await setUp({ ...customers, 'a "name", with\nline': 1 })
    const lines = await read(`${path}/export?month=${month}&limit=1`, "application/x-ndjson")
    expect(lines.type).toBe("application/x-ndjson")
    const rows = lines.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(rows).toHaveLength(231)
    expect(rows[229]).toMatchObject({ customerKey: "customer-229", meters: { tokens: 230, requests: 460 } })

    const csv = await read(`${path}/export?month=${month}&limit=1`, "text/csv")
    expect(csv.type).toBe("text/csv; charset=utf-8; header=present")
    const [header, ...records] = csv.text.trimEnd().split("\r\n")
    expect(header).toBe("customerKey,subscriptionId,meter,used")
    expect(records).toHaveLength(462)
    expect(records[0]).toMatch(/^customer-0,sbsc_\w+,(tokens,1|requests,2)$/)
    expect(records.at(-1)).toMatch(/^"a ""name"", with\nline",sbsc_\w+,(tokens,1|requests,2)$/)
    expect(records.filter((record) => record.startsWith("customerKey,"))).toEqual([])
  })

  it("lists the customers that used most, with all their subscriptions, at most 60 seconds old", async () => {
    const customers = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`customer-${index}`, index]))
    const { billing, path } = await setUp(customers)
    await billing.customer("customer-7").cancel({ at: "now" })
    await billing.subscriptions.create({ customerKey: "customer-7", planExternalIds: ["plan"] } as never)
    await billing.usage.record({ customerKey: "customer-7", meters: { tokens: 200 } })

    const top = await call("GET", `${path}/top?meter=tokens`)
    expect(top.body.data).toHaveLength(100)
    expect(top.body.data.slice(0, 3)).toEqual([
      { customerKey: "customer-7", used: 207 },
      { customerKey: "customer-119", used: 119 },
      { customerKey: "customer-118", used: 118 }
    ])
    expect(Date.now() - Date.parse(top.body.asOf)).toBeLessThan(60_000)
    expect((await call("GET", `${path}/top?meter=tokens&month=${month}`)).body).toEqual(top.body)
    const ofDay = await call("GET", `${path}/top?meter=tokens&day=${day}`)
    expect(ofDay.body.data[0]).toEqual({ customerKey: "customer-7", used: 207 })
    expect((await call("GET", `${path}/top?meter=tokens&day=2020-02-29`)).body.data).toEqual([])

    await billing.usage.record({ customerKey: "customer-0", meters: { tokens: 999 } })
    expect((await billing.usage.top({ meter: "tokens" })).asOf).toBe(top.body.asOf)
    const csv = await read(`${path}/top?meter=tokens`, "text/csv")
    expect(csv.text.split("\r\n").slice(0, 2)).toEqual(["customerKey,tokens", "customer-7,207"])
  })

  it("keeps the usage of a subscription that was removed after another has continued it", async () => {
    const { billing } = await setUp({ alice: 3 })
    const [first] = (await billing.subscriptions.list({ customerKey: "alice" })).data
    await billing.customer("alice").cancel({ at: "now" })
    const fields = { customerKey: "alice", planExternalIds: ["plan"], continueUsage: true }
    await billing.subscriptions.create(fields as never)
    await billing.subscriptions.remove(first?.id ?? "")
    await billing.usage.record({ customerKey: "alice", meters: { tokens: 4 } })
    const { data } = await billing.usage.export({ month })
    expect(data).toEqual([{ customerKey: "alice", subscriptionId: first?.id, meters: { tokens: 7, requests: 6 } }])
    expect((await billing.usage.top({ meter: "tokens" })).data).toEqual([{ customerKey: "alice", used: 7 }])
  })

  it.each([
    ["export", "", "month"],
    ["export", "?month=2026", "month"],
    ["export", "?month=2026-13", "month"],
    ["top", "", "meter"],
    ["top", "?meter=tokens&day=2026-02-29", "day"],
    ["top", "?meter=tokens&day=2026-02-28&month=2026-02", "day"],
    ["top", "?meter=tokens&week=2026-02", "week"]
  ])("refuses %s%s, and names the parameter", async (name, query, parameter) => {
    const { path } = await setUp({})
    const response = await call("GET", `${path}/${name}${query}`)
    expect(response.status).toBe(400)
    expect(JSON.stringify(response.body)).toContain(parameter)
  })

  it("has nothing for other accounts, and 404 for unknown meters and buckets", async () => {
    const { path } = await setUp({ alice: 1 })
    for (const target of [`${path}/top?meter=tokens`, `${path}/export?month=${month}`]) {
      expect((await call("GET", target, { token: tokens.otherAccount })).status).toBe(404)
      expect((await call("GET", target, { token: null })).status).toBe(401)
      expect((await call("GET", target, { token: tokens.reader })).status).toBe(200)
    }
    expect((await call("GET", `${path}/top?meter=other`)).body).toMatchObject({ code: "unknown-meter" })
    expect((await call("GET", `/v1/metering/bckt_x/usage/top?meter=other`)).body).toMatchObject({
      code: "bucket-not-found"
    })
    expect((await call("GET", `/v1/metering/bckt_x/usage/export?month=${month}`)).status).toBe(404)
  })
})
