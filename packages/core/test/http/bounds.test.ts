/**
 * Responses are bounded and do not block the event loop, however much data a tenant stores.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { withAllModules } from "../allModules.ts"
import { grants, secret } from "../stores.ts"
import { type Client, makeClient } from "./client.ts"

let gate: Tollgate
let call: Client
beforeAll(async () => {
  gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants, ...withAllModules() })
  call = makeClient(gate.handler)
})
afterAll(() => gate.close())

const consumers = "/v1/accounts/acme/key-buckets/bounds/consumers"

describe("string lengths", () => {
  it("rejects strings over the maximum number of characters in every field, and counts an emoji once", async () => {
    const bucket = `/v1/metering/${(await call("POST", "/v1/metering")).body.id}`
    await call("POST", consumers, { body: { name: "alice" } })
    const key = (await call("POST", `${consumers}/alice/keys`, { body: {} })).body.id
    const meters = { requests: { max: 1 } }
    const plan = { label: "P", planExternalId: "p", meters }
    const { id: planId } = (await call("POST", `${bucket}/plans`, { body: plan })).body
    const subscription = {
      planIds: [planId],
      planExternalIds: ["p"],
      status: "active",
      type: "periodic",
      renewalStrategy: "monthly",
      region: "us-east1",
      customerKey: "alice",
      subscriptionExternalId: "s",
      customerExternalId: "c"
    }
    let count = 0
    const nameOf = (text: string) => `c-${text.length}-${count++}`
    const fill = (start: string, text: string) => start + [...text].slice(start.length).join("")
    const fields: ReadonlyArray<readonly [number, string, string, (text: string) => object, string, number?]> = [
      [4_096, "POST", consumers, (text) => ({ name: nameOf(text), description: text }), "/description"],
      [4_096, "PATCH", `${consumers}/alice`, (text) => ({ description: text }), "/description"],
      [4_096, "POST", `${consumers}/alice/keys`, (text) => ({ description: text }), "/description"],
      [4_096, "POST", `${consumers}/alice/keys/$bulk`, (text) => [{ description: text }] as object, "/0/description"],
      [4_096, "PATCH", `${consumers}/alice/keys/${key}`, (text) => ({ description: text }), "/description"],
      [256, "POST", `${bucket}/plans`, (text) => ({ ...plan, planExternalId: nameOf(text), label: text }), "/label"],
      [256, "POST", `${bucket}/plans`, (text) => ({ ...plan, planExternalId: text }), "/planExternalId"],
      [
        256,
        "PATCH",
        `${bucket}/plans/${planId}`,
        (text) => ({ meters: { requests: { max: 1, label: text } } }),
        "/meters/requests/label"
      ],
      ...(["customerKey", "customerExternalId", "subscriptionExternalId"] as const).map(
        (field) =>
          [
            256,
            "POST",
            `${bucket}/subscriptions`,
            (text: string) => ({ ...subscription, subscriptionExternalId: nameOf(text), [field]: text }),
            `/${field}`
          ] as const
      ),
      [320, "POST", consumers, (text) => ({ name: nameOf(text), managers: [fill("a@b.c", text)] }), "/managers/0"],
      [256, "POST", consumers, (text) => ({ name: nameOf(text), managers: [{ sub: text }] }), "/managers/0/sub"],
      [256, "POST", `${bucket}/usage`, (text) => ({ customerKey: text, meters: { requests: 1 } }), "/customerKey"],
      [2_048, "POST", "/v1/accounts/acme/webhooks", (text) => ({ url: fill("http://[::1]/", text) }), "/url", 422],
      ...(["trialEndStatus", "productKey"] as const).map(
        (field) =>
          [
            4_096,
            "POST",
            `${bucket}/subscriptions`,
            (text: string) => ({ ...subscription, subscriptionExternalId: nameOf(text), [field]: text }),
            `/${field}`
          ] as const
      )
    ]
    for (const [length, method, path, body, pointer, accepted = 200] of fields) {
      for (const character of ["a", "😀"]) {
        const what = `${method} ${pointer} ${character}`
        for (const size of [length + 1, 250_000]) {
          const rejected = await call(method, path, { body: body(character.repeat(size)) })
          expect(rejected.status, what).toBe(400)
          expect(rejected.body.errors, what).toContainEqual(expect.objectContaining({ pointer }))
          expect(JSON.stringify(rejected.body).length).toBeLessThan(2_000)
        }
        expect((await call(method, path, { body: body(character.repeat(length)) })).status, what).toBe(accepted)
      }
    }
  })

  it("verifies a very long string as an invalid key", async () => {
    const verify = "/v1/accounts/acme/key-buckets/bounds/$verify"
    expect((await call("POST", verify, { body: { key: "k".repeat(4_000) } })).body).toMatchObject({ valid: false })
    expect((await call("POST", verify, { body: { key: "k".repeat(900_000) } })).status).toBe(413)
  })
})

describe("a large page", () => {
  const many = "/v1/accounts/acme/key-buckets/large/consumers"
  const count = 50
  const metadata = Object.fromEntries(Array.from({ length: 2_500 }, (_, index) => [`field-${index}`, `value ${index}`]))

  beforeAll(async () => {
    const { consumers } = gate.account("acme").keyBucket("large")
    const names = Array.from({ length: count }, (_, index) => `c-${index}`)
    await Promise.all(names.map((name) => consumers.create({ name, metadata })))
  })

  it("is streamed in chunks with the same content as a small page, without blocking the event loop", async () => {
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const response = await gate.handler(
      new Request(`http://gate${many}`, { headers: { authorization: `Bearer ${grants[0].token}` } })
    )
    expect(response.headers.get("content-length")).toBeNull()
    expect(response.headers.get("content-type")).toBe("application/json")
    const chunks: Array<Uint8Array> = []
    let largest = 0
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk)
      largest = Math.max(largest, chunk.byteLength)
    }
    delay.disable()
    console.log(
      `page of ${Math.round(Buffer.concat(chunks).byteLength / 1e6)} MB: ${chunks.length} chunks, largest ${Math.round(largest / 1e3)} kB, ` +
        `event loop blocked for at most ${Math.round(delay.max / 1e6)} ms`
    )
    expect(largest).toBeLessThan(1024 * 1024)
    const page = JSON.parse(Buffer.concat(chunks).toString())
    expect({ ...page, data: page.data.length }).toEqual({ data: count, limit: 1_000, offset: 0, total: count })
    const small = await call("GET", `${many}?limit=1&offset=${count - 1}`)
    expect(small.headers.get("content-length")).not.toBeNull()
    expect(page.data.at(-1)).toEqual(small.body.data[0])
  })

  it("can be canceled while it is read, and requested with HEAD", async () => {
    const headers = { authorization: `Bearer ${grants[0].token}` }
    const response = await gate.handler(new Request(`http://gate${many}`, { headers }))
    await response.body?.cancel()
    const head = await gate.handler(new Request(`http://gate${many}`, { method: "HEAD", headers }))
    expect([head.status, await head.text()]).toEqual([200, ""])
  })

  it("has the same shape when it is empty", async () => {
    expect((await call("GET", "/v1/accounts/acme/key-buckets/empty/consumers")).body).toEqual({
      data: [],
      limit: 1_000,
      offset: 0,
      total: 0
    })
  })
})

describe("limits", () => {
  it("hold for consumers, key buckets and metering buckets, also under concurrent requests", async () => {
    const limits = { consumersPerKeyBucket: 3, keyBucketsPerAccount: 2, meteringBucketsPerAccount: 2 }
    const limited = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants, limits })
    const callLimited = makeClient(limited.handler)
    const countCreated = async (calls: ReadonlyArray<Promise<{ status: number; body: unknown }>>, limit: string) => {
      const responses = await Promise.all(calls)
      const rejected = responses.filter(({ status }) => status === 409)
      for (const { body } of rejected) {
        expect(body).toMatchObject({ type: "urn:tollgate:problem:limit-reached", limit, max: expect.any(Number) })
      }
      expect(rejected.length + responses.filter(({ status }) => status === 200).length).toBe(responses.length)
      return responses.length - rejected.length
    }
    const createConsumer = (bucket: string, name: string) =>
      callLimited("POST", `/v1/accounts/acme/key-buckets/${bucket}/consumers`, { body: { name } })
    const names = Array.from({ length: 8 }, (_, index) => `c-${index}`)
    expect(
      await countCreated(
        names.map((name) => createConsumer("one", name)),
        "consumersPerKeyBucket"
      )
    ).toBe(3)
    expect(
      await countCreated(
        names.map((name) => createConsumer(name, "alice")),
        "keyBucketsPerAccount"
      )
    ).toBe(1)
    expect((await createConsumer("c-0", "bob")).status).toBe(200)
    expect(
      await countCreated(
        names.map(() => callLimited("POST", "/v1/metering")),
        "meteringBucketsPerAccount"
      )
    ).toBe(2)
    const [first] = (await callLimited("GET", "/v1/metering")).body.data
    await callLimited("DELETE", `/v1/metering/${first.id}`)
    expect((await callLimited("POST", "/v1/metering")).status).toBe(200)
    await limited.close()
  })
})
