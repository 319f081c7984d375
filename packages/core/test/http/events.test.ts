/**
 * The event log over HTTP: who may read it, who acted, and which requests are refused.
 */
import { createTollgate, type Tollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { eventually } from "@tollgate/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openGate } from "../eventGates.ts"
import { secret, tokens } from "../stores.ts"
import { type Client, freshBucket, makeClient } from "./client.ts"

const path = "/v1/accounts/acme/events"
let gate: Tollgate
let call: Client
beforeAll(async () => {
  gate = await openGate(MemoryStore.open())
  call = makeClient(gate.handler)
})
afterAll(() => gate.close())

/** Reads the log as soon as it has an event about the subject. */
const findEvent = (subject: string, client = call) =>
  eventually(async () => {
    const { status, body } = await client("GET", `${path}?subject=${subject}`)
    expect(status).toBe(200)
    expect(body.total).toBeGreaterThan(0)
    return body.data[0]
  })

describe("GET /v1/accounts/{accountName}/events", () => {
  it("shows each change with the credential that made it", async () => {
    const { body: me } = await call("GET", "/v1/me")
    const bucket = freshBucket()
    const { body: consumer } = await call("POST", `${bucket}/consumers`, { body: { name: "alice" } })
    const event = await findEvent(consumer.id)
    expect(event).toEqual({
      id: expect.stringMatching(/^evt_[0-9A-Za-z]{24}$/),
      type: "consumer.created",
      occurredOn: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
      accountName: "acme",
      actor: { type: "token", id: me.id },
      subject: { type: "consumer", id: consumer.id, name: "alice" },
      data: { ...consumer, consumerName: "alice", keyBucketName: bucket.slice(bucket.lastIndexOf("/") + 1) }
    })
  })

  it("shows the id that a function for authentication returned", async () => {
    const custom = await createTollgate({
      store: MemoryStore.open(),
      secret,
      authenticate: () => ({ account: "acme", access: "write", id: "user-7" })
    })
    const client = makeClient(custom.handler)
    const { body } = await client("POST", `${freshBucket()}/consumers`, { body: { name: "alice" } })
    expect((await findEvent(body.id, client)).actor).toEqual({ type: "token", id: "user-7" })
    await custom.close()
  })

  it("shows an upload with the credential that asked for its URL", async () => {
    const { body: me } = await call("GET", "/v1/me")
    const body = { accountName: "acme", projectName: "web", branchName: "main" }
    const { uploadUrl } = (await call("POST", "/v1/deployments/sources", { body })).body
    const url = new URL(uploadUrl)
    const headers = { "content-type": "application/gzip" }
    const uploaded = await call("PUT", `${url.pathname}${url.search}`, { raw: new Uint8Array(5), headers, token: null })
    expect(uploaded.status).toBe(200)
    const { data } = await eventually(async () => {
      const page = (await call("GET", `${path}?type=deployment.*&order=asc`)).body
      expect(page.total).toBe(2)
      return page
    })
    expect(data.map(({ type, actor }: { type: string; actor: object }) => [type, actor])).toEqual([
      ["deployment.created", { type: "token", id: me.id }],
      ["deployment.succeeded", { type: "system" }]
    ])
  })

  it("is readable with a token that may only read, and not with one of another account", async () => {
    expect((await call("GET", path, { token: tokens.reader })).status).toBe(200)
    expect((await call("GET", path, { token: tokens.admin })).status).toBe(200)
    const refused = await call("GET", path, { token: tokens.otherAccount })
    expect([refused.status, refused.body.code]).toEqual([403, "forbidden"])
    expect((await call("GET", path, { token: null })).status).toBe(401)
    const unknown = await call("GET", "/v1/accounts/unknown/events", { token: tokens.admin })
    expect([unknown.status, unknown.body]).toEqual([200, { data: [], limit: 1000, offset: 0, total: 0 }])
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) expect((await call(method, path)).status).toBe(405)
  })

  it.each([
    ["type=unknown.created", "type"],
    ["type=consumer", "type"],
    ["type=", "type"],
    ["before=evt_1", "before"],
    ["before=", "before"],
    ["order=ascending", "order"],
    ["subject=", "subject"],
    [`subject=${"a".repeat(257)}`, "subject"],
    ["limit=-1", "limit"],
    ["offset=a", "offset"],
    ["after=evt_000000000000000000000000", "after"],
    ["actor=user-1", "actor"]
  ])("refuses ?%s with 400", async (query, parameter) => {
    const { status, body } = await call("GET", `${path}?${query}`)
    expect(status).toBe(400)
    expect(body.errors).toEqual([expect.objectContaining({ parameter })])
  })

  it("takes every parameter", async () => {
    const before = "evt_000000000000000000000000"
    const query = `order=asc&limit=5&offset=1&before=${before}&type=consumer.*&subject=csmr_1`
    expect((await call("GET", `${path}?${query}`)).body).toEqual({ data: [], limit: 5, offset: 1, total: 0 })
  })
})
