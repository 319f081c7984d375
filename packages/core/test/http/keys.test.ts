import { createTollgate, type Tollgate } from "@tollgate/core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores, tokens } from "../stores.ts"
import { type Client, freshBucket, makeClient } from "./client.ts"

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const keyId = expect.stringMatching(/^key_[0-9A-Za-z]{24}$/)
const keyValue = expect.stringMatching(/^tg_[0-9A-Za-z]{40}_[0-9A-Za-z]{6}$/)

describe.each(stores)("keys over HTTP, on %s", (_, store) => {
  let gate: Tollgate
  let call: Client
  beforeAll(async () => {
    gate = await createTollgate({ store, secret, tokens: grants })
    call = makeClient(gate.handler)
  }, 30_000)
  afterAll(() => gate.close())

  /** Creates a consumer in a bucket; returns the paths of the bucket and of the consumer's keys. */
  const makeConsumer = async (name = "alice", bucket = freshBucket()) => {
    expect((await call("POST", `${bucket}/consumers`, { body: { name, tags: { team: "blue" } } })).status).toBe(200)
    return { bucket, keys: `${bucket}/consumers/${name}/keys` }
  }

  it("creates a key with every field, and shows its value only in that response", async () => {
    const { keys } = await makeConsumer()
    const created = await call("POST", keys, {
      body: { expiresOn: "2030-05-05T05:05:05.5Z", description: "mine", key: "my-very-own-value" }
    })
    expect(created.status).toBe(200)
    expect(created.body).toEqual({
      id: keyId,
      createdOn: timestamp,
      updatedOn: timestamp,
      expiresOn: "2030-05-05T05:05:05.500Z",
      description: "mine",
      key: "my-very-own-value"
    })
    expect(created.headers.get("etag")).toMatch(/^"\d+"$/)
    const fetched = await call("GET", `${keys}/${created.body.id}`)
    expect(fetched.body).toEqual({ ...created.body, key: "****alue" })
    expect(fetched.headers.get("etag")).toBe(created.headers.get("etag"))
  })

  it("creates a key without any field, with or without a body", async () => {
    const { keys } = await makeConsumer()
    for (const options of [{}, { body: {} }, { raw: "", headers: { "content-type": "text/plain" } }]) {
      expect((await call("POST", keys, options)).body).toEqual({
        id: keyId,
        createdOn: timestamp,
        updatedOn: timestamp,
        key: keyValue
      })
    }
    expect((await call("GET", keys)).body.total).toBe(3)
  })

  it("rejects key values that are in use, malformed, or imitate generated ones", async () => {
    const { bucket, keys } = await makeConsumer()
    await makeConsumer("bob", bucket)
    const created = (await call("POST", keys)).body.key
    await call("POST", keys, { body: { key: "a-value-that-is-taken" } })
    for (const path of [keys, `${bucket}/consumers/bob/keys`]) {
      const taken = await call("POST", path, { body: { key: "a-value-that-is-taken" } })
      expect(taken).toMatchObject({ status: 409, body: { type: "urn:tollgate:problem:key-value-taken" } })
    }
    expect((await call("POST", keys, { body: { key: created } })).status).toBe(409)
    const wrong = `${created.slice(0, -1)}${created.endsWith("0") ? "1" : "0"}`
    for (const key of [
      "short",
      "x".repeat(257),
      "white space in the value",
      "ünïcode-in-the-value",
      wrong,
      "tg_not_generated_here"
    ]) {
      const rejected = await call("POST", keys, { body: { key } })
      expect(rejected).toMatchObject({ status: 400, body: { errors: [{ pointer: "/key" }] } })
      expect(JSON.stringify(rejected.body)).not.toContain(key)
    }
    expect((await call("GET", keys)).body.total).toBe(2)
    const elsewhere = await makeConsumer()
    expect((await call("POST", elsewhere.keys, { body: { key: "a-value-that-is-taken" } })).status).toBe(200)
  })

  it("creates several keys atomically", async () => {
    const { keys } = await makeConsumer()
    const many = await call("POST", `${keys}/$bulk`, { body: [{ description: "1" }, {}, { key: "the-third-of-many" }] })
    expect(many.status).toBe(200)
    expect(many.body).toMatchObject({ limit: 3, offset: 0, total: 3 })
    expect(many.body.data.map(({ key }: { key: string }) => key)).toEqual([keyValue, keyValue, "the-third-of-many"])
    expect(
      (await call("POST", `${keys}/%24bulk`, { body: { description: "a single object counts as an array" } })).body
        .total
    ).toBe(1)
    const invalid: ReadonlyArray<readonly [unknown, number]> = [
      [[], 400],
      [Array.from({ length: 1001 }, () => ({})), 400],
      [[{}, { expiresOn: "never" }], 400],
      [[{}, { expireOn: "2030-01-01T00:00:00Z" }], 400],
      [[{}, { key: "the-third-of-many" }], 409],
      [[{ key: "twice-in-one-call" }, { key: "twice-in-one-call" }], 409],
      [[{}, { key: "tg_not_generated_here" }], 400]
    ]
    for (const [body, status] of invalid) expect((await call("POST", `${keys}/$bulk`, { body })).status).toBe(status)
    const { body } = await call("POST", `${keys}/$bulk`, { body: [{}, { key: "tg_not_generated_here" }] })
    expect(body.errors).toEqual([expect.objectContaining({ pointer: "/1/key" })])
    expect((await call("GET", keys)).body.total).toBe(4)
    const largest = await call("POST", `${keys}/$bulk`, { body: Array.from({ length: 1000 }, () => ({})) })
    expect(largest.body.total).toBe(1000)
  })

  it("lists keys in pages, oldest first, in each format", async () => {
    const { bucket, keys } = await makeConsumer()
    for (const index of [1, 2, 3]) await call("POST", keys, { body: { key: `value-number-000${index}` } })
    const listValues = async (query: string) =>
      (await call("GET", `${keys}${query}`)).body.data.map(({ key }: { key: string }) => key)
    expect(await listValues("")).toEqual(["****0001", "****0002", "****0003"])
    expect(await listValues("?key-format=visible&limit=1&offset=1")).toEqual(["value-number-0002"])
    expect(await listValues("?key-format=none&offset=2")).toEqual([undefined])
    expect((await call("GET", `${keys}?limit=2`)).body).toMatchObject({ limit: 2, offset: 0, total: 3 })
    expect((await call("GET", `${keys}?key-format=visible`, { token: tokens.reader })).status).toBe(403)
    expect((await call("GET", `${keys}?key-format=all`)).status).toBe(400)
    expect((await call("GET", `${bucket}/consumers/unknown/keys`)).status).toBe(404)
  })

  it("gets a key of the consumer, but not through another consumer", async () => {
    const { bucket, keys } = await makeConsumer()
    const other = await makeConsumer("bob", bucket)
    const { id, key } = (await call("POST", keys)).body
    expect((await call("GET", `${keys}/${id}?key-format=visible`)).body.key).toBe(key)
    expect((await call("GET", `${keys}/${id}?key-format=none`)).body).not.toHaveProperty("key")
    expect((await call("GET", `${keys}/${id}?tag.team=blue`)).status).toBe(200)
    expect((await call("GET", `${keys}/${id}?tag.team=red`)).status).toBe(404)
    expect((await call("GET", `${other.keys}/${id}`)).body.type).toBe("urn:tollgate:problem:key-not-found")
    expect((await call("GET", `${keys}/key_unknown`)).status).toBe(404)
    expect((await call("GET", `${keys}/${id}?key-format=visible`, { token: tokens.reader })).status).toBe(403)
  })

  it("updates expiry, description and value", async () => {
    const { bucket, keys } = await makeConsumer()
    const created = (await call("POST", keys, { body: { description: "d" } })).body
    const path = `${keys}/${created.id}`
    const verify = async (key: string) => (await call("POST", `${bucket}/$verify`, { body: { key } })).body.valid
    const expiring = await call("PATCH", path, { body: { expiresOn: "2030-01-01T00:00:00Z" } })
    expect(expiring.body).toEqual({
      ...created,
      key: `****${created.key.slice(-4)}`,
      expiresOn: "2030-01-01T00:00:00.000Z",
      updatedOn: timestamp
    })
    const cleared = await call("PATCH", path, { body: { expiresOn: null, description: null } })
    expect(cleared.body).not.toHaveProperty("expiresOn")
    expect(cleared.body).not.toHaveProperty("description")
    const replaced = await call("PATCH", path, { body: { key: "a-value-of-my-own" } })
    expect(replaced.body.key).toBe("a-value-of-my-own")
    expect([await verify("a-value-of-my-own"), await verify(created.key)]).toEqual([true, false])
    expect((await call("GET", `${path}?key-format=visible`)).body.key).toBe("a-value-of-my-own")
    expect((await call("PATCH", path, { body: { key: "a-value-of-my-own" } })).status).toBe(200)
    const second = (await call("POST", keys)).body
    expect((await call("PATCH", `${keys}/${second.id}`, { body: { key: "a-value-of-my-own" } })).status).toBe(409)
    for (const body of [
      { id: "x" },
      { expiresOn: 1 },
      { key: null },
      { key: "short" },
      { updatedOn: created.updatedOn }
    ]) {
      expect((await call("PATCH", path, { body })).status).toBe(400)
    }
    expect((await call("PATCH", `${path}?tag.team=red`, { body: {} })).status).toBe(404)
    expect((await call("PATCH", path, { body: {}, headers: { "if-match": '"1"' } })).status).toBe(412)
  })

  it("deletes a key, which is then invalid", async () => {
    const { bucket, keys } = await makeConsumer()
    const { id, key } = (await call("POST", keys)).body
    expect((await call("DELETE", `${keys}/${id}?tag.team=red`)).status).toBe(404)
    expect((await call("DELETE", `${keys}/${id}`, { headers: { "if-match": '"1"' } })).status).toBe(412)
    expect(await call("DELETE", `${keys}/${id}`)).toMatchObject({ status: 204, body: "" })
    expect((await call("DELETE", `${keys}/${id}`)).status).toBe(404)
    expect((await call("POST", `${bucket}/$verify`, { body: { key } })).body).toEqual({
      valid: false,
      reason: "invalid"
    })
    expect((await call("POST", keys, { body: { key } })).status).toBe(200)
  })

  it("verifies a key with read access, and gives the same result for all invalid keys", async () => {
    const { bucket, keys } = await makeConsumer()
    const { id, key } = (await call("POST", keys, { body: { expiresOn: "2099-01-01T00:00:00Z" } })).body
    const expired = (await call("POST", keys, { body: { expiresOn: "2001-01-01T00:00:00Z" } })).body
    const verify = (body: object, token = tokens.reader) => call("POST", `${bucket}/$verify`, { body, token })
    const { body: consumerBody } = await call("GET", `${bucket}/consumers/alice`)
    expect((await verify({ key })).body).toEqual({
      valid: true,
      consumer: { id: consumerBody.id, name: "alice", tags: { team: "blue" }, metadata: {} },
      keyId: id,
      expiresOn: "2099-01-01T00:00:00.000Z"
    })
    for (const bad of [
      expired.key,
      "unknown-but-well-formed",
      "",
      "x",
      "tg_bad",
      key.slice(0, -1),
      `${key}x`,
      "ü".repeat(20)
    ]) {
      expect(await verify({ key: bad })).toMatchObject({ status: 200, body: { valid: false, reason: "invalid" } })
    }
    expect((await verify({})).status).toBe(400)
    expect((await verify({ key: 5 })).status).toBe(400)
    expect((await verify({ key }, tokens.otherAccount)).status).toBe(403)
    const elsewhere = await call("POST", `${freshBucket()}/$verify`, { body: { key } })
    expect(elsewhere.body.valid).toBe(false)
    expect((await call("GET", keys)).body.total).toBe(2)
  })

  it("creates keys once per Idempotency-Key", async () => {
    const { keys } = await makeConsumer()
    const create = (path: string, body: unknown) =>
      call("POST", path, { body, headers: { "idempotency-key": "the-same" } })
    const one = await create(keys, {})
    expect((await create(keys, {})).body).toEqual(one.body)
    const many = await create(`${keys}/$bulk`, [{}, {}])
    expect((await create(`${keys}/$bulk`, [{}, {}])).body).toEqual(many.body)
    expect((await create(`${keys}/$bulk`, [{}])).status).toBe(422)
    expect((await call("GET", keys)).body.total).toBe(3)
    const concurrent = await Promise.all(
      Array.from({ length: 5 }, () => call("POST", keys, { body: {}, headers: { "idempotency-key": "concurrent" } }))
    )
    expect(concurrent.every(({ status }) => status === 200 || status === 409)).toBe(true)
    expect((await call("GET", keys)).body.total).toBe(4)
  })
})
