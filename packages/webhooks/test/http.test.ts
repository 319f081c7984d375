/**
 * Webhooks over HTTP: fields, refusals, tokens, ETags and Idempotency-Keys.
 */
import { MemoryStore } from "@tollgate/memory"
import { eventually } from "@tollgate/testing"
import { describe, expect, it } from "vitest"
import { makeClient } from "../../core/test/http/client.ts"
import { tokens } from "../../core/test/stores.ts"
import { dumpStore, respondWith, startGate, startReceiver } from "./receivers.ts"

const path = "/v1/accounts/acme/webhooks"
const url = "http://127.0.0.1:9/hooks"

const start = async (...options: Parameters<typeof startGate>) => makeClient((await startGate(...options)).handler)

describe("POST /webhooks", () => {
  it("returns the webhook with its secret and an ETag", async () => {
    const call = await start()
    const body = { url, events: ["consumer.*", "key.created"], description: "orders" }
    const created = await call("POST", path, { body })
    expect(created).toMatchObject({ status: 200, body: { ...body, state: "enabled" } })
    expect(Object.keys(created.body)).toEqual([
      "id",
      "url",
      "events",
      "description",
      "state",
      "createdOn",
      "updatedOn",
      "secret"
    ])
    const { secret: _, ...rest } = created.body
    const read = await call("GET", `${path}/${rest.id}`)
    expect(read).toMatchObject({ status: 200, body: rest })
    expect(read.body).toEqual(rest)
    expect(read.headers.get("etag")).toBe(created.headers.get("etag"))
    expect((await call("GET", path)).body).toEqual({ data: [rest], limit: 1000, offset: 0, total: 1 })
  })

  it.each([
    {},
    { url: "" },
    { url: `${url}\r\nX-Injected: y` },
    { url: "http://127.0.0.1:9/ho\toks" },
    { url: ` ${url}` },
    { url: `${url}/a b` },
    { url: `${url}/\u0085` },
    { url, events: ["consumer.renamed"] },
    { url, events: ["webhook.test"] },
    { url, events: ["consumer*"] },
    { url, events: [] },
    { url, state: "disabled" },
    { url, secret: "whsec_mine" },
    { url, description: 1 }
  ])("rejects %j", async (body) => {
    const call = await start()
    expect(await call("POST", path, { body })).toMatchObject({ status: 400, body: { code: "bad-request" } })
    expect((await call("GET", path)).body.total).toBe(0)
  })

  it("returns the URL as it was sent, and refuses line breaks in a changed one", async () => {
    const call = await start()
    const { id } = (await call("POST", path, { body: { url: "http://127.0.0.1:9" } })).body
    const patch = { body: { url: "http://127.0.0.1:9/\r\nX-Injected: y" } }
    expect(await call("PATCH", `${path}/${id}`, patch)).toMatchObject({ status: 400, body: { code: "bad-request" } })
    expect((await call("GET", `${path}/${id}`)).body.url).toBe("http://127.0.0.1:9")
  })

  it.each([
    "http://example.com/",
    "ftp://example.com/",
    "not-a-URL",
    "https://user:password@example.com/",
    "https://localhost/",
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://10.1.2.3/",
    "https://172.16.0.1/",
    "https://192.168.1.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://100.64.0.1/",
    "https://0.0.0.0/",
    "https://224.0.0.1/",
    "https://[::1]/",
    "https://[fd00::1]/",
    "https://[fe80::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://metadata.google.internal/",
    "https://intranet/"
  ])("refuses %s where private networks are not allowed", async (url) => {
    const call = await start({}, {})
    expect(await call("POST", path, { body: { url } })).toMatchObject({
      status: 422,
      body: { code: "invalid-webhook-url" }
    })
    const created = await call("POST", path, { body: { url: "https://1.1.1.1/" } })
    const refused = await call("PATCH", `${path}/${created.body.id}`, { body: { url } })
    expect(refused).toMatchObject({ status: 422, body: { code: "invalid-webhook-url" } })
    expect((await call("GET", `${path}/${created.body.id}`)).body.url).toBe("https://1.1.1.1/")
  })

  it("allows 20 webhooks in an account, also when many are created at once", async () => {
    const call = await start()
    const attempts = Array.from({ length: 25 }, () => call("POST", path, { body: { url } }))
    const statuses = (await Promise.all(attempts)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(20)
    const refused = await call("POST", path, { body: { url } })
    expect(refused).toMatchObject({ status: 409, body: { code: "limit-reached" } })
    const other = { body: { url }, token: tokens.admin }
    expect((await call("POST", "/v1/accounts/other/webhooks", other)).status).toBe(200)
    const { data } = (await call("GET", path)).body
    expect((await call("DELETE", `${path}/${data[0].id}`)).status).toBe(204)
    expect((await call("POST", path, { body: { url } })).status).toBe(200)
  })
})

describe("PATCH and DELETE of a webhook", () => {
  it("change what they name, under If-Match", async () => {
    const call = await start()
    const { body, headers } = await call("POST", path, { body: { url, description: "orders" } })
    const one = `${path}/${body.id}`
    const etag = { "if-match": headers.get("etag") ?? "" }
    const { secret: _, updatedOn: __, ...rest } = body
    const patched = await call("PATCH", one, { body: { events: ["key.*"], description: null }, headers: etag })
    const { description: ___, ...kept } = rest
    expect(patched).toMatchObject({ status: 200, body: { ...kept, events: ["key.*"] } })
    expect(patched.body).not.toHaveProperty("description")
    expect(patched.body).not.toHaveProperty("secret")
    expect(patched.headers.get("etag")).not.toBe(headers.get("etag"))
    for (const method of ["PATCH", "DELETE"]) {
      const stale = await call(method, one, { ...(method === "PATCH" ? { body: {} } : {}), headers: etag })
      expect(stale).toMatchObject({ status: 412, body: { code: "precondition-failed" } })
    }
    for (const wrong of [{ state: "paused" }, { events: ["x"] }, { secret: "s" }, { id: "whk_1" }]) {
      expect((await call("PATCH", one, { body: wrong })).status).toBe(400)
    }
    const current = { "if-match": patched.headers.get("etag") ?? "" }
    expect((await call("DELETE", one, { headers: current })).status).toBe(204)
    for (const method of ["GET", "DELETE"]) {
      expect(await call(method, one)).toMatchObject({ status: 404, body: { code: "webhook-not-found" } })
    }
  })
})

describe("the ETag of a webhook", () => {
  it("stays when deliveries fail and succeed, and changes with each change by a caller", async () => {
    const store = MemoryStore.open()
    const gate = await startGate({ store })
    const call = makeClient(gate.handler)
    const receiver = await startReceiver(respondWith(500))
    const { id } = (await call("POST", path, { body: { url: receiver.url } })).body
    const one = `${path}/${id}`
    const readETag = async () => (await call("GET", one)).headers.get("etag") ?? ""
    const created = await readETag()
    const send = async () => {
      const sent = (await call("POST", `${one}/test`)).body
      await eventually(async () => {
        const { data } = (await call("GET", `${one}/deliveries`)).body
        expect(data.find((delivery: { id: string }) => delivery.id === sent.id).attempts).not.toEqual([])
      })
    }
    await send()
    expect(await dumpStore(store)).toContain("failingSince")
    expect(await readETag()).toBe(created)
    receiver.respond = respondWith(204)
    await send()
    expect(await dumpStore(store)).not.toContain("failingSince")
    expect(await readETag()).toBe(created)
    const patched = await call("PATCH", one, { body: { description: "mine" }, headers: { "if-match": created } })
    expect(patched.status).toBe(200)
    expect(patched.headers.get("etag")).not.toBe(created)
    expect(await readETag()).toBe(patched.headers.get("etag"))
    receiver.respond = respondWith(500)
    await send()
    for (const method of ["PATCH", "DELETE"]) {
      const stale = await call(method, one, {
        ...(method === "PATCH" ? { body: {} } : {}),
        headers: { "if-match": created }
      })
      expect(stale.status).toBe(412)
    }
    await call("POST", `${one}/rotate-secret`)
    expect(await readETag()).not.toBe(patched.headers.get("etag"))
    expect((await call("DELETE", one, { headers: { "if-match": await readETag() } })).status).toBe(204)
  })
})

describe("tokens", () => {
  const operations = (id: string, delivery: string) =>
    [
      ["POST", path, { body: { url } }],
      ["PATCH", `${path}/${id}`, { body: {} }],
      ["POST", `${path}/${id}/rotate-secret`, {}],
      ["POST", `${path}/${id}/test`, {}],
      ["POST", `${path}/${id}/deliveries/${delivery}/retry`, {}],
      ["DELETE", `${path}/${id}`, {}]
    ] as const
  const reads = (id: string) => [path, `${path}/${id}`, `${path}/${id}/deliveries`]

  it("that may read can read, and change nothing", async () => {
    const call = await start()
    const { id } = (await call("POST", path, { body: { url } })).body
    const delivery = (await call("POST", `${path}/${id}/test`)).body
    for (const [method, target, options] of operations(id, delivery.id)) {
      const refused = await call(method, target, { ...options, token: tokens.reader })
      expect([method, target, refused.status, refused.body.code]).toEqual([method, target, 403, "forbidden"])
    }
    for (const target of reads(id)) expect((await call("GET", target, { token: tokens.reader })).status).toBe(200)
  })

  it("of another account reach nothing", async () => {
    const call = await start()
    const { id } = (await call("POST", path, { body: { url } })).body
    const delivery = (await call("POST", `${path}/${id}/test`)).body
    const token = tokens.otherAccount
    for (const [method, target, options] of operations(id, delivery.id)) {
      expect((await call(method, target, { ...options, token })).status).toBe(403)
      const foreign = target.replace("acme", "other")
      if (foreign !== "/v1/accounts/other/webhooks") {
        expect((await call(method, foreign, { ...options, token })).status).toBe(404)
      }
    }
    for (const target of reads(id)) expect((await call("GET", target, { token })).status).toBe(403)
  })
})

describe("an Idempotency-Key", () => {
  const headers = { "idempotency-key": "once" }

  it("creates one webhook, and returns its secret again", async () => {
    const call = await start()
    const first = await call("POST", path, { body: { url }, headers })
    const second = await call("POST", path, { body: { url }, headers })
    expect(second.body).toEqual(first.body)
    expect(second.headers.get("etag")).toBe(first.headers.get("etag"))
    expect((await call("GET", path)).body.total).toBe(1)
    const other = await call("POST", path, { body: { url, description: "other" }, headers })
    expect(other).toMatchObject({ status: 422, body: { code: "idempotency-key-reused" } })
  })

  it("rotates once, sends one test and repeats a delivery once", async () => {
    const call = await start()
    const receiver = await startReceiver(respondWith(200))
    const { id } = (await call("POST", path, { body: { url: receiver.url } })).body
    const repeat = async (target: string) => {
      const first = await call("POST", target, { headers })
      expect(first.status).toBe(200)
      expect((await call("POST", target, { headers })).body).toEqual(first.body)
      return first.body
    }
    await repeat(`${path}/${id}/rotate-secret`)
    const delivery = await repeat(`${path}/${id}/test`)
    expect(delivery).toEqual({
      id: expect.stringMatching(/^dlv_/),
      eventId: expect.stringMatching(/^evt_/),
      type: "webhook.test",
      status: "pending",
      attempts: []
    })
    const readAttempts = async () => (await call("GET", `${path}/${id}/deliveries`)).body.data[0].attempts.length
    await eventually(async () => expect(await readAttempts()).toBe(1))
    await repeat(`${path}/${id}/deliveries/${delivery.id}/retry`)
    await eventually(async () => expect(await readAttempts()).toBe(2))
    // A marker, sent after everything before it.
    await call("POST", `${path}/${id}/test`)
    await eventually(() => expect(receiver.requests).toHaveLength(3))
    expect((await call("GET", `${path}/${id}/deliveries`)).body.total).toBe(2)
  })

  it("repeats the result also when the webhook is disabled or deleted meanwhile", async () => {
    const call = await start()
    const { id } = (await call("POST", path, { body: { url } })).body
    const targets = [`${path}/${id}/rotate-secret`, `${path}/${id}/test`]
    const delivery = (await call("POST", `${path}/${id}/test`)).body
    targets.push(`${path}/${id}/deliveries/${delivery.id}/retry`)
    const first = await Promise.all(targets.map((target) => call("POST", target, { headers })))
    expect(first.map(({ status }) => status)).toEqual([200, 200, 200])
    const repeat = async () => {
      const replies = await Promise.all(targets.map((target) => call("POST", target, { headers })))
      expect(replies.map(({ body }) => body)).toEqual(first.map(({ body }) => body))
    }
    await call("PATCH", `${path}/${id}`, { body: { state: "disabled" } })
    await repeat()
    await call("DELETE", `${path}/${id}`)
    await repeat()
  })
})

describe("deliveries over HTTP", () => {
  it("do not exist under another webhook", async () => {
    const call = await start()
    const [one, two] = [await call("POST", path, { body: { url } }), await call("POST", path, { body: { url } })]
    const delivery = (await call("POST", `${path}/${one.body.id}/test`)).body
    for (const target of [`${two.body.id}/deliveries/${delivery.id}`, `${one.body.id}/deliveries/dlv_1`]) {
      const refused = await call("POST", `${path}/${target}/retry`)
      expect(refused).toMatchObject({ status: 404, body: { code: "delivery-not-found" } })
    }
    expect((await call("GET", `${path}/whk_1/deliveries`)).body.code).toBe("webhook-not-found")
  })
})
