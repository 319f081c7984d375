/**
 * Usage as batches of CloudEvents, over HTTP, in process and in a client.
 */

import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createTollgate, type Tollgate, type UsageEventJson } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { toNodeHandler } from "@tollgate/node"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores, tokens } from "../stores.ts"
import { type Client, makeClient } from "./client.ts"

const mediaType = "application/cloudevents-batch+json"
const headers = { "content-type": mediaType }

let count = 0

const makeEvent = (subject: string, requests = 1, fields: Partial<UsageEventJson> = {}): UsageEventJson => ({
  specversion: "1.0",
  id: `request-${++count}`,
  source: "/gateway",
  type: "request",
  subject,
  time: new Date().toISOString(),
  data: { meters: { requests } },
  ...fields
})

describe.each(stores)("batches of events, on %s", (_, store) => {
  let gate: Tollgate
  let call: Client
  beforeAll(async () => {
    gate = await createTollgate({ store, secret, tokens: grants })
    call = makeClient(gate.handler)
  })
  afterAll(() => gate.close())

  const setUp = async (customers: ReadonlyArray<string>) => {
    const billing = await gate.account("acme").meteringBuckets.ensure(`events-${++count}`)
    await billing.plans.create({ label: "Plan", planExternalId: "plan", meters: { requests: { max: 10 } } })
    const subscribe = (customerKey: string) => billing.subscriptions.create({ customerKey, planExternalIds: ["plan"] })
    await Promise.all(customers.map(subscribe))
    const getUsed = async (customerKey: string) => {
      const { data } = await billing.subscriptions.list({ customerKey })
      return (await billing.usage.quotas(data[0]?.id ?? "")).meters["requests"]?.used
    }
    return { billing, getUsed, path: `/v1/metering/${billing.id}/usage/events` }
  }

  it("counts each event once, over HTTP and in process", async () => {
    const { billing, getUsed, path } = await setUp(["alice"])
    const body = [makeEvent("alice", 3), makeEvent("alice", 20), makeEvent("nobody")]
    const first = await call("POST", path, { body, headers })
    expect(first.status).toBe(200)
    expect(first.body).toEqual({
      accepted: 2,
      duplicates: 0,
      rejected: [
        {
          index: 2,
          code: "subscription-not-found",
          detail: 'The customer "nobody" has no subscription in this metering bucket'
        }
      ]
    })
    const again = await call("POST", path, {
      body: body.slice(0, 2),
      headers: { "content-type": `${mediaType.toUpperCase()}; charset=utf-8` }
    })
    expect(again.body).toEqual({ accepted: 0, duplicates: 2, rejected: [] })
    expect(await billing.usage.recordEvents([...body.slice(1, 2), makeEvent("alice")])).toEqual({
      accepted: 1,
      duplicates: 1,
      rejected: []
    })
    expect(await getUsed("alice")).toBe(24)
  })

  it("refuses another media type, and a body that is no batch", async () => {
    const { getUsed, path } = await setUp(["alice"])
    const event = makeEvent("alice")
    for (const contentType of ["application/json", "application/cloudevents+json", "text/plain"]) {
      const { status, body } = await call("POST", path, { body: [event], headers: { "content-type": contentType } })
      expect([status, body.code, body.mediaType]).toEqual([415, "unsupported-media-type", mediaType])
      expect(body.detail).toBe(`Send the body with the header Content-Type: ${mediaType}`)
    }
    const send = async (raw: string) => {
      const { status, body } = await call("POST", path, { raw, headers })
      return [status, body.code, body.errors?.[0]]
    }
    const badRequest = (detail: string, pointer = "") => [400, "bad-request", { pointer, detail }]
    expect(await send("")).toEqual(badRequest("Expected array"))
    expect(await send(JSON.stringify(event))).toEqual(badRequest("Expected array"))
    expect(await send("[")).toEqual(badRequest("is not valid JSON"))
    const many = JSON.stringify(Array.from({ length: 1_001 }, () => event))
    expect(await send(many)).toEqual(badRequest("has more than 1000 entries"))
    const large = JSON.stringify([{ ...event, data: { ...event.data, text: "x".repeat(1_100_000) } }])
    expect((await send(large)).slice(0, 2)).toEqual([413, "payload-too-large"])
    const asReader = await call("POST", path, { body: [event], headers, token: tokens.reader })
    expect(asReader.status).toBe(403)
    expect(await getUsed("alice")).toBe(0)
  })

  it("counts a full batch", async () => {
    const { billing, getUsed, path } = await setUp(["alice", "bob"])
    const body = Array.from({ length: 1_000 }, (_, index) => makeEvent(index % 2 === 0 ? "alice" : "bob"))
    expect((await call("POST", path, { body, headers })).body).toEqual({ accepted: 1_000, duplicates: 0, rejected: [] })
    const key = { ...headers, "idempotency-key": "batch" }
    const repeated = { accepted: 0, duplicates: 1_000, rejected: [] }
    expect((await call("POST", path, { body, headers: key })).body).toEqual(repeated)
    expect((await call("POST", path, { body, headers: key })).body).toEqual(repeated)
    const reused = await call("POST", path, { body: [makeEvent("alice")], headers: key })
    expect([reused.status, reused.body.code]).toEqual([422, "idempotency-key-reused"])
    expect([await getUsed("alice"), await getUsed("bob")]).toEqual([500, 500])
    expect((await billing.usage.totals()).data.at(-1)?.meters).toEqual({ requests: 1_000 })
  })

  it("is sent by a client", async () => {
    const { billing, getUsed } = await setUp(["alice"])
    const server = createServer(toNodeHandler(gate)).listen(0)
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, token: tokens.writer })
    const { usage } = client.account("acme").meteringBucket(billing.id)
    const events = [makeEvent("alice", 4), makeEvent("alice", -1)]
    expect(await usage.recordEvents(events)).toEqual({
      accepted: 1,
      duplicates: 0,
      rejected: [{ index: 1, code: "bad-request", detail: "/data/meters/requests: Expected a positive integer" }]
    })
    expect(await getUsed("alice")).toBe(4)
    server.close()
    server.closeAllConnections()
  })

  it("gives other requests their turns", async () => {
    const customers = Array.from({ length: 300 }, (_, index) => `customer-${index}`)
    const { billing } = await setUp(customers)
    const events = customers.map((customer) => makeEvent(customer))
    let turns = 0
    let isOver = false
    const next = () => {
      turns++
      if (!isOver) setImmediate(next)
    }
    const start = process.cpuUsage()
    next()
    expect(await billing.usage.recordEvents(events)).toMatchObject({ accepted: 300 })
    isOver = true
    // A turn is to take 10 ms of work. What the process waits for the machine is none.
    const { user, system } = process.cpuUsage(start)
    expect(turns).toBeGreaterThan((user + system) / 1_000 / 60)
  })
})
