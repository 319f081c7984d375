/**
 * However much a tenant stores, answers are bounded, and the event loop is not held up by them.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret } from "../stores.ts"
import { type Client, clientOf } from "./client.ts"

let gate: Tollgate
let call: Client
beforeAll(async () => {
  gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants })
  call = clientOf(gate.handler)
})
afterAll(() => gate.close())

const consumers = "/v1/accounts/acme/key-buckets/bounds/consumers"

describe("texts", () => {
  it("have a maximum length, in every field of every operation", async () => {
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
    const fields: ReadonlyArray<readonly [number, string, string, (text: string) => object, string]> = [
      [4_096, "POST", consumers, (text) => ({ name: `c-${text.length}`, description: text }), "/description"],
      [4_096, "PATCH", `${consumers}/alice`, (text) => ({ description: text }), "/description"],
      [4_096, "POST", `${consumers}/alice/keys`, (text) => ({ description: text }), "/description"],
      [4_096, "POST", `${consumers}/alice/keys/$bulk`, (text) => [{ description: text }] as object, "/0/description"],
      [4_096, "PATCH", `${consumers}/alice/keys/${key}`, (text) => ({ description: text }), "/description"],
      [256, "POST", `${bucket}/plans`, (text) => ({ ...plan, planExternalId: "x", label: text }), "/label"],
      [256, "POST", `${bucket}/plans`, (text) => ({ ...plan, planExternalId: text }), "/planExternalId"],
      [
        4_096,
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
            (text: string) => ({ ...subscription, subscriptionExternalId: `${field} s`, [field]: text }),
            `/${field}`
          ] as const
      ),
      ...(["trialEndStatus", "productKey"] as const).map(
        (field) =>
          [
            4_096,
            "POST",
            `${bucket}/subscriptions`,
            (text: string) => ({ ...subscription, subscriptionExternalId: `${field} s`, [field]: text }),
            `/${field}`
          ] as const
      )
    ]
    for (const [length, method, path, body, pointer] of fields) {
      for (const size of [length + 1, 900_000]) {
        const refused = await call(method, path, { body: body("a".repeat(size)) })
        expect(refused, `${method} ${pointer}`).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
        expect(JSON.stringify(refused.body).length).toBeLessThan(2_000)
      }
      expect((await call(method, path, { body: body("a".repeat(length)) })).status, `${method} ${pointer}`).toBe(200)
    }
  })

  it("that are no key are answered at once, however long they are", async () => {
    const verify = "/v1/accounts/acme/key-buckets/bounds/$verify"
    expect((await call("POST", verify, { body: { key: "k".repeat(900_000) } })).body).toMatchObject({ valid: false })
  })
})

describe("a large page", () => {
  const many = "/v1/accounts/acme/key-buckets/large/consumers"
  const count = 600
  const metadata = Object.fromEntries(Array.from({ length: 2_500 }, (_, index) => [`field-${index}`, `value ${index}`]))

  beforeAll(async () => {
    for (let first = 0; first < count; first += 50) {
      const names = Array.from({ length: 50 }, (_, index) => `c-${first + index}`)
      await Promise.all(names.map((name) => gate.consumers.create("acme", "large", { name, metadata })))
    }
  }, 120_000)

  it("is written in pieces, is the same as a small one, and does not hold up the event loop", async () => {
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const response = await gate.handler(
      new Request(`http://gate${many}`, { headers: { authorization: `Bearer ${grants[0].token}` } })
    )
    expect(response.headers.get("content-length")).toBeNull()
    expect(response.headers.get("content-type")).toBe("application/json")
    const pieces: Array<Uint8Array> = []
    let largest = 0
    for await (const piece of response.body ?? []) {
      pieces.push(piece)
      largest = Math.max(largest, piece.byteLength)
    }
    delay.disable()
    console.log(
      `a page of ${Math.round(Buffer.concat(pieces).byteLength / 1e6)} MB: ${pieces.length} pieces, the largest of ${Math.round(largest / 1e3)} kB, ` +
        `event loop held up for at most ${Math.round(delay.max / 1e6)} ms`
    )
    expect(largest).toBeLessThan(1024 * 1024)
    const page = JSON.parse(Buffer.concat(pieces).toString())
    expect({ ...page, data: page.data.length }).toEqual({ data: count, limit: 1_000, offset: 0, total: count })
    const small = await call("GET", `${many}?limit=1&offset=${count - 1}`)
    expect(small.headers.get("content-length")).not.toBeNull()
    expect(page.data.at(-1)).toEqual(small.body.data[0])
  }, 60_000)

  it("is left half read without a trace, and asked for its head alone", async () => {
    const headers = { authorization: `Bearer ${grants[0].token}` }
    const response = await gate.handler(new Request(`http://gate${many}`, { headers }))
    await response.body?.cancel()
    const head = await gate.handler(new Request(`http://gate${many}`, { method: "HEAD", headers }))
    expect([head.status, await head.text()]).toEqual([200, ""])
  }, 60_000)

  it("that is empty is the same as ever", async () => {
    expect((await call("GET", "/v1/accounts/acme/key-buckets/empty/consumers")).body).toEqual({
      data: [],
      limit: 1_000,
      offset: 0,
      total: 0
    })
  })
})

describe("limits", () => {
  it("hold for consumers, key buckets and metering buckets, also when many come at once", async () => {
    const limits = { consumersPerKeyBucket: 3, keyBucketsPerAccount: 2, meteringBucketsPerAccount: 2 }
    const limited = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants, limits })
    const ask = clientOf(limited.handler)
    const countOf = async (calls: ReadonlyArray<Promise<{ status: number; body: unknown }>>, limit: string) => {
      const answers = await Promise.all(calls)
      const refused = answers.filter(({ status }) => status === 409)
      for (const { body } of refused) {
        expect(body).toMatchObject({ type: "urn:tollgate:problem:limit-reached", limit, max: expect.any(Number) })
      }
      expect(refused.length + answers.filter(({ status }) => status === 200).length).toBe(answers.length)
      return answers.length - refused.length
    }
    const inBucket = (bucket: string, name: string) =>
      ask("POST", `/v1/accounts/acme/key-buckets/${bucket}/consumers`, { body: { name } })
    const names = Array.from({ length: 8 }, (_, index) => `c-${index}`)
    expect(
      await countOf(
        names.map((name) => inBucket("one", name)),
        "consumersPerKeyBucket"
      )
    ).toBe(3)
    expect(
      await countOf(
        names.map((name) => inBucket(name, "alice")),
        "keyBucketsPerAccount"
      )
    ).toBe(1)
    expect((await inBucket("c-0", "bob")).status).toBe(200)
    expect(
      await countOf(
        names.map(() => ask("POST", "/v1/metering")),
        "meteringBucketsPerAccount"
      )
    ).toBe(2)
    const [first] = (await ask("GET", "/v1/metering")).body.data
    await ask("DELETE", `/v1/metering/${first.id}`)
    expect((await ask("POST", "/v1/metering")).status).toBe(200)
    await limited.close()
  })
})
