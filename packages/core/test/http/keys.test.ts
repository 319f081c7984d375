import { hash } from "node:crypto"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores, tokens } from "../stores.ts"
import { type Client, freshBucket, makeClient } from "./client.ts"

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const keyId = expect.stringMatching(/^key_[0-9A-Za-z]{24}$/)
const ofAlice = { consumerName: "alice", keyBucketName: expect.stringMatching(/^bucket-\d+$/) }
const keyValue = expect.stringMatching(/^tg_[0-9A-Za-z]{40}_[0-9A-Za-z]{6}$/)

describe.each(stores)("keys over HTTP, on %s", (_, store) => {
  let gate: Tollgate
  let call: Client
  beforeAll(async () => {
    gate = await createTollgate({ store, secret, tokens: grants })
    call = makeClient(gate.handler)
  })
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
      ...ofAlice,
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
        ...ofAlice,
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

  it("gets a key by its id alone", async () => {
    const { bucket, keys } = await makeConsumer()
    await makeConsumer("bob", bucket)
    const { id, key } = (await call("POST", keys, { body: { description: "mine" } })).body
    const path = `${bucket}/keys/${id}`
    const [found, ofConsumer] = [await call("GET", path), await call("GET", `${keys}/${id}`)]
    expect(found.status).toBe(200)
    expect(found.body).toEqual(ofConsumer.body)
    expect(found.body).toMatchObject({ id, consumerName: "alice", key: `****${key.slice(-4)}` })
    expect(found.headers.get("etag")).toBe(ofConsumer.headers.get("etag"))
    expect((await call("GET", `${path}?key-format=visible`)).body.key).toBe(key)
    expect((await call("GET", `${path}?key-format=none`)).body).not.toHaveProperty("key")
    expect((await call("GET", `${path}?key-format=all`)).status).toBe(400)
    expect((await call("GET", `${path}?key-format=visible`, { token: tokens.reader })).status).toBe(403)
    expect((await call("GET", `${path}?tag.team=blue`, { token: tokens.reader })).status).toBe(200)
    expect((await call("GET", `${path}?tag.team=red`)).body.code).toBe("key-not-found")
    expect((await call("GET", `${bucket}/keys/key_unknown`)).body.code).toBe("key-not-found")
    expect((await call("GET", `${freshBucket()}/keys/${id}`)).body.code).toBe("key-not-found")
    for (const method of ["POST", "PATCH", "DELETE"]) expect((await call(method, path, { body: {} })).status).toBe(405)
  })

  it("does not get a key of a consumer that was deleted", async () => {
    const { bucket, keys } = await makeConsumer()
    const { data } = (await call("POST", `${keys}/$bulk`, { body: Array.from({ length: 250 }, () => ({})) })).body
    expect((await call("DELETE", `${bucket}/consumers/alice`)).status).toBe(204)
    await makeConsumer("alice", bucket)
    expect((await call("GET", `${bucket}/keys/${data[249].id}`)).body.code).toBe("key-not-found")
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
      reason: "invalid",
      refusal: "unknown-key"
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

  const verify = async (bucket: string, key: string) =>
    (await call("POST", `${bucket}/$verify`, { body: { key }, token: tokens.reader })).body
  const invalid = { valid: false, reason: "invalid" }

  it("disables a key and enables it again, without telling outsiders", async () => {
    const { bucket, keys } = await makeConsumer()
    const created = (await call("POST", keys, { body: { disabled: true } })).body
    expect(created).toEqual({
      id: keyId,
      ...ofAlice,
      createdOn: timestamp,
      updatedOn: timestamp,
      disabled: true,
      key: keyValue
    })
    const path = `${keys}/${created.id}`
    expect(await verify(bucket, created.key)).toEqual(await verify(bucket, "unknown-but-well-formed"))
    expect(await verify(bucket, created.key)).toEqual(invalid)
    expect((await call("GET", keys)).body).toMatchObject({ total: 1, data: [{ disabled: true }] })
    for (const disabled of [false, null]) {
      const enabled = await call("PATCH", path, { body: { disabled } })
      expect([enabled.status, "disabled" in enabled.body]).toEqual([200, false])
      expect(await verify(bucket, created.key)).toMatchObject({ valid: true, keyId: created.id })
      expect((await call("PATCH", path, { body: { disabled: true } })).body.disabled).toBe(true)
      expect(await verify(bucket, created.key)).toEqual(invalid)
    }
    const enabled = (await call("POST", keys, { body: { disabled: false } })).body
    expect(enabled).not.toHaveProperty("disabled")
    for (const disabled of ["true", 1, null]) {
      expect((await call("POST", keys, { body: { disabled } })).status).toBe(400)
    }
    const { body } = await call("POST", `${bucket}/consumers`, {
      body: { name: "bob", apiKeys: [{ disabled: true, scopes: ["a"] }] }
    })
    expect(body.apiKeys).toMatchObject([{ disabled: true, scopes: ["a"] }])
    expect(await verify(bucket, body.apiKeys[0].key)).toEqual(invalid)
  })

  it("lets a key with ipAllow pass from its addresses only", async () => {
    const { bucket, keys } = await makeConsumer()
    const ipAllow = ["203.0.113.0/24", "2001:db8::/32", "198.51.100.7"]
    const created = (await call("POST", keys, { body: { ipAllow } })).body
    expect(created).toEqual({
      id: keyId,
      ...ofAlice,
      createdOn: timestamp,
      updatedOn: timestamp,
      ipAllow,
      key: keyValue
    })
    expect((await call("GET", `${keys}/${created.id}`)).body.ipAllow).toEqual(ipAllow)
    const check = async (ip?: unknown) => call("POST", `${bucket}/$verify`, { body: { key: created.key, ip } })
    for (const ip of ["203.0.113.7", "::ffff:203.0.113.7", "2001:db8::1", "198.51.100.7"]) {
      const { status, body } = await check(ip)
      expect([status, body.valid, "ipAllow" in body]).toEqual([200, true, false])
    }
    for (const ip of ["198.51.100.8", "anything", "", undefined]) {
      expect(await check(ip)).toMatchObject({ status: 200, body: { valid: false, reason: "ip-not-allowed" } })
    }
    expect(await check(5)).toMatchObject({ status: 400, body: { errors: [{ pointer: "/ip" }] } })
    const other = await call("POST", `${bucket}/$verify`, { body: { key: "unknown-but-well-formed", ip: "::1" } })
    expect(other.body).toEqual({ ...invalid, refusal: "unknown-key" })
    for (const none of [[], null]) {
      const lifted = await call("PATCH", `${keys}/${created.id}`, { body: { ipAllow: none } })
      expect([lifted.status, "ipAllow" in lifted.body]).toEqual([200, false])
      expect((await check()).body.valid).toBe(true)
      expect((await call("PATCH", `${keys}/${created.id}`, { body: { ipAllow } })).body.ipAllow).toEqual(ipAllow)
      expect((await check()).body.valid).toBe(false)
    }
  })

  it("says what is wrong with an entry of ipAllow", async () => {
    const { keys } = await makeConsumer()
    const notAnAddress =
      "must be an IPv4 or IPv6 address, alone or with a prefix length, such as 203.0.113.0/24 or 2001:db8::/32"
    const cases: ReadonlyArray<readonly [entry: string, detail: string]> = [
      ["203.0.113.0/33", "must have a prefix length of at most 32"],
      ["2001:db8::/129", "must have a prefix length of at most 128"],
      ...[
        "",
        "localhost",
        "203.0.113",
        "203.0.113.256",
        "203.0.113.07",
        "203.0.113.0/",
        "203.0.113.0/-1",
        "203.0.113.0/024",
        "203.0.113.0/24/24",
        "203.0.113.0/255.255.255.0",
        "203.0.113.0-203.0.113.9",
        "203.0.113.7:443",
        "[2001:db8::1]",
        "fe80::1%eth0",
        "2001:db8:::1",
        " 203.0.113.7"
      ].map((entry) => [entry, notAnAddress] as const)
    ]
    for (const [entry, detail] of cases) {
      const rejected = await call("POST", keys, { body: { ipAllow: ["::1", entry] } })
      expect(rejected, entry).toMatchObject({ status: 400, body: { errors: [{ pointer: "/ipAllow/1", detail }] } })
    }
    const many = Array.from({ length: 51 }, (_, index) => `10.0.0.${index}`)
    for (const ipAllow of [many, ["::1", "::1"], "::1", [1]]) {
      expect((await call("POST", keys, { body: { ipAllow } })).status).toBe(400)
    }
    expect((await call("POST", keys, { body: { ipAllow: many.slice(1) } })).body.ipAllow).toHaveLength(50)
    expect((await call("GET", keys)).body.total).toBe(1)
  })

  it("keeps the scopes of a key and returns them when it is verified", async () => {
    const { bucket, keys } = await makeConsumer()
    const scopes = ["orders:read", "users:*", "*", `a${":b".repeat(63)}c`, "A-Z_0.9", ":*"]
    const created = (await call("POST", keys, { body: { scopes } })).body
    expect(created.scopes).toEqual(scopes)
    const path = `${keys}/${created.id}`
    expect((await call("GET", path)).body.scopes).toEqual(scopes)
    expect(await verify(bucket, created.key)).toMatchObject({ valid: true, scopes })
    const fifty = Array.from({ length: 50 }, (_, index) => `scope-${index}`)
    expect((await call("PATCH", path, { body: { scopes: fifty } })).body.scopes).toEqual(fifty)
    expect((await verify(bucket, created.key)).scopes).toEqual(fifty)
    expect((await call("PATCH", path, { body: { description: "kept" } })).body.scopes).toEqual(fifty)
    for (const cleared of [[], null]) {
      expect((await call("PATCH", path, { body: { scopes: cleared } })).body).not.toHaveProperty("scopes")
      expect(await verify(bucket, created.key)).not.toHaveProperty("scopes")
      await call("PATCH", path, { body: { scopes: ["again"] } })
    }
    expect((await call("POST", keys, { body: { scopes: [] } })).body).not.toHaveProperty("scopes")
    const wrong: ReadonlyArray<unknown> = [
      "orders",
      [""],
      ["a b"],
      ["größe"],
      ["a:*:b"],
      ["**"],
      ["orders*"],
      ["*:read"],
      ["a\n"],
      ["x".repeat(129)],
      [`${"x".repeat(127)}:*`],
      ["same", "same"],
      [...fifty, "one-more"],
      [1],
      [null]
    ]
    for (const scopes of wrong) {
      for (const response of [
        await call("POST", keys, { body: { scopes } }),
        await call("PATCH", path, { body: { scopes } }),
        await call("POST", `${bucket}/consumers/alice/roll-key`, {
          body: { expiresOn: "2030-01-01T00:00:00Z", scopes }
        })
      ]) {
        expect(response.status).toBe(400)
        expect(response.body.errors[0].pointer).toMatch(/^\/scopes/)
      }
    }
    expect((await call("GET", keys)).body.total).toBe(2)
  })

  it("gives a rolled key the scopes of the newest enabled key without expiry, or the given ones", async () => {
    const { bucket, keys } = await makeConsumer()
    const roll = async (body: object = {}) => {
      const rolled = await call("POST", `${bucket}/consumers/alice/roll-key`, {
        body: { expiresOn: "2099-01-01T00:00:00Z", ...body }
      })
      const [id] = rolled.headers.get("location")?.split("/").slice(-1) ?? []
      return (await call("GET", `${keys}/${id}`)).body.scopes
    }
    expect(await roll()).toBeUndefined()
    expect(await roll({ scopes: ["given"] })).toEqual(["given"])
    expect(await roll()).toEqual(["given"])
    await call("POST", keys, { body: { scopes: ["newest"] } })
    await call("POST", keys, { body: { scopes: ["disabled"], disabled: true } })
    await call("POST", keys, { body: { scopes: ["expiring"], expiresOn: "2098-01-01T00:00:00Z" } })
    expect(await roll()).toEqual(["newest"])
    expect(await roll({ scopes: [] })).toBeUndefined()
    expect(await roll()).toBeUndefined()
  })

  describe("$import", () => {
    const sha256 = (value: string) => hash("sha256", value, "hex")
    const item = (value: string, fields: object = {}) => ({ hash: sha256(value), algorithm: "sha256", ...fields })
    const importKeys = (keys: string, body: unknown, options: object = {}) =>
      call("POST", `${keys}/$import`, { body, ...options })

    it("lets keys of another system keep their values", async () => {
      const { bucket, keys } = await makeConsumer()
      const imported = await importKeys(keys, {
        keys: [
          item("old-value-number-one", { suffix: "-one", description: "first", scopes: ["a"] }),
          item("old-value-number-two", { expiresOn: "2099-01-01T00:00:00Z" }),
          item("old-value-disabled", { disabled: true }),
          item("old-value-expired!", { expiresOn: "2001-01-01T00:00:00Z" })
        ]
      })
      expect(imported.status).toBe(200)
      expect(imported.body).toEqual({
        limit: 4,
        offset: 0,
        total: 4,
        data: [
          { id: keyId, ...ofAlice, createdOn: timestamp, updatedOn: timestamp, description: "first", scopes: ["a"] },
          { id: keyId, ...ofAlice, createdOn: timestamp, updatedOn: timestamp, expiresOn: "2099-01-01T00:00:00.000Z" },
          { id: keyId, ...ofAlice, createdOn: timestamp, updatedOn: timestamp, disabled: true },
          { id: keyId, ...ofAlice, createdOn: timestamp, updatedOn: timestamp, expiresOn: "2001-01-01T00:00:00.000Z" }
        ]
      })
      const [first] = imported.body.data
      expect(await verify(bucket, "old-value-number-one")).toMatchObject({
        valid: true,
        keyId: first.id,
        consumer: { name: "alice" },
        scopes: ["a"]
      })
      expect((await verify(bucket, "old-value-number-two")).valid).toBe(true)
      for (const key of [
        "old-value-disabled",
        "old-value-expired!",
        "old-value-number-six",
        sha256("old-value-number-one"),
        `sha256:${sha256("old-value-number-one")}`
      ]) {
        expect(await verify(bucket, key)).toEqual(invalid)
      }
      expect((await verify(freshBucket(), "old-value-number-one")).valid).toBe(false)
      const masked = (await call("GET", keys)).body.data.map(({ key }: { key: string }) => key)
      expect(masked).toEqual(["****-one", "****", "****", "****"])
      const visible = await call("GET", `${keys}/${first.id}?key-format=visible`)
      expect(visible).toMatchObject({ status: 409, body: { code: "key-not-retained" } })
      const { key } = (await call("POST", keys)).body
      const consumers = `${bucket}/consumers`
      const lists = [
        (await call("GET", `${keys}?key-format=visible`)).body.data,
        (await call("GET", `${consumers}/alice?include-api-keys=true&key-format=visible`)).body.apiKeys,
        (await call("GET", `${consumers}?include-api-keys=true&key-format=visible`)).body.data[0].apiKeys
      ]
      for (const list of lists) {
        expect(list.map((item: { key?: string }) => item.key)).toEqual([
          undefined,
          undefined,
          undefined,
          undefined,
          key
        ])
        expect(list[0]).not.toHaveProperty("key")
      }
      expect(
        (await call("POST", `${keys}/%24import`, { body: { keys: [item("through-an-encoded-path")] } })).status
      ).toBe(200)
    })

    it("refuses a value that exists in either form, and imports all keys or none", async () => {
      const { bucket, keys } = await makeConsumer()
      const other = await makeConsumer("bob", bucket)
      const taken = { status: 409, body: { code: "key-value-taken" } }
      await call("POST", keys, { body: { key: "a-supplied-value" } })
      await importKeys(keys, { keys: [item("an-imported-value")] })
      for (const path of [keys, other.keys]) {
        const second = { status: 409, body: { code: "key-value-taken", index: 1 } }
        expect(await importKeys(path, { keys: [item("a-fresh-value"), item("a-supplied-value")] })).toMatchObject(
          second
        )
        expect((await importKeys(path, { keys: [item("an-imported-value")] })).body).not.toHaveProperty("index")
        expect(await importKeys(path, { keys: [item("an-imported-value")] })).toMatchObject(taken)
        expect(await importKeys(path, { keys: [item("twice-in-one"), item("twice-in-one")] })).toMatchObject(second)
        expect(await call("POST", path, { body: { key: "an-imported-value" } })).toMatchObject(taken)
        expect(await call("POST", `${path}/$bulk`, { body: [{}, { key: "an-imported-value" }] })).toMatchObject(taken)
      }
      const { id } = (await call("POST", keys)).body
      expect(await call("PATCH", `${keys}/${id}`, { body: { key: "an-imported-value" } })).toMatchObject(taken)
      const create = { name: "carol", apiKeys: [{ key: "an-imported-value" }] }
      expect(await call("POST", `${bucket}/consumers`, { body: create })).toMatchObject(taken)
      expect([(await call("GET", keys)).body.total, (await call("GET", other.keys)).body.total]).toEqual([3, 0])
      expect((await verify(bucket, "a-fresh-value")).valid).toBe(false)
      const elsewhere = await makeConsumer()
      expect((await importKeys(elsewhere.keys, { keys: [item("a-supplied-value")] })).status).toBe(200)
    })

    it("refuses a value of this server's own format that exists in either form, in both orders", async () => {
      const { bucket, keys } = await makeConsumer()
      const generated = (await call("POST", keys)).body
      const removed = (await call("POST", keys)).body
      await call("DELETE", `${keys}/${removed.id}`)
      const taken = { status: 409, body: { code: "key-value-taken" } }
      expect(await importKeys(keys, { keys: [item(generated.key)] })).toMatchObject(taken)
      expect((await importKeys(keys, { keys: [item(removed.key)] })).status).toBe(200)
      expect(await call("POST", keys, { body: { key: removed.key } })).toMatchObject(taken)
      expect(await call("PATCH", `${keys}/${generated.id}`, { body: { key: removed.key } })).toMatchObject(taken)
      const create = { name: "bob", apiKeys: [{}, { key: removed.key }] }
      expect(await call("POST", `${bucket}/consumers`, { body: create })).toMatchObject({
        status: 409,
        body: { index: 1 }
      })
      expect((await verify(bucket, generated.key)).valid).toBe(true)
    })

    it("never lets a value with the prefix of this server pass by an imported hash", async () => {
      const { bucket, keys } = await makeConsumer()
      const { id, key } = (await call("POST", keys)).body
      await call("DELETE", `${keys}/${id}`)
      const imported = await importKeys(keys, { keys: [item(key), item("tg_wrong-checksum-of-a-key")] })
      expect(imported.status).toBe(200)
      expect(await verify(bucket, key)).toEqual(invalid)
      expect(await verify(bucket, "tg_wrong-checksum-of-a-key")).toEqual(invalid)
    })

    it("rejects malformed input, unknown consumers and read tokens", async () => {
      const { bucket, keys } = await makeConsumer()
      const good = item("a-value-to-import")
      const upper = { ...good, hash: good.hash.toUpperCase() }
      const rejected: ReadonlyArray<readonly [unknown, string]> = [
        [{}, "/keys"],
        [[], ""],
        [[good], ""],
        [{ keys: good }, "/keys"],
        [{ keys: [] }, "/keys"],
        [{ keys: Array.from({ length: 1001 }, (_, index) => item(`value number ${index}`)) }, "/keys"],
        [{ keys: [good, upper] }, "/keys/1/hash"],
        [{ keys: [{ ...good, hash: good.hash.slice(1) }] }, "/keys/0/hash"],
        [{ keys: [{ ...good, hash: `${good.hash}0` }] }, "/keys/0/hash"],
        [{ keys: [{ ...good, hash: `${good.hash}\n` }] }, "/keys/0/hash"],
        [{ keys: [{ ...good, hash: `${"A".repeat(42)}B` }] }, "/keys/0/hash"],
        [{ keys: [{ ...good, hash: "A".repeat(42) }] }, "/keys/0/hash"],
        [{ keys: [{ ...good, hash: `${"A".repeat(43)}==` }] }, "/keys/0/hash"],
        [{ keys: [{ ...good, algorithm: "sha512" }] }, "/keys/0/algorithm"],
        [{ keys: [{ hash: good.hash }] }, "/keys/0/algorithm"],
        [{ keys: [{ ...good, suffix: "" }] }, "/keys/0/suffix"],
        [{ keys: [{ ...good, suffix: "ninechars" }] }, "/keys/0/suffix"],
        [{ keys: [{ ...good, suffix: "ü" }] }, "/keys/0/suffix"],
        [{ keys: [{ ...good, key: "a-value-to-import" }] }, "/keys/0/key"],
        [{ keys: [{ ...good, expireOn: "2030-01-01T00:00:00Z" }] }, "/keys/0/expireOn"],
        [{ keys: [{ ...good, scopes: ["a:*:b"] }] }, "/keys/0/scopes/0"],
        [{ keys: [good], dryRun: true }, "/dryRun"]
      ]
      for (const [body, pointer] of rejected) {
        const response = await importKeys(keys, body)
        expect([response.status, response.body.errors[0].pointer]).toEqual([400, pointer])
        expect(JSON.stringify(response.body)).not.toContain(good.hash)
      }
      expect((await importKeys(keys, { keys: [good] }, { token: tokens.reader })).status).toBe(403)
      expect((await importKeys(keys, { keys: [good] }, { token: tokens.otherAccount })).status).toBe(403)
      expect((await importKeys(keys, { keys: [good] }, { token: null })).status).toBe(401)
      expect((await importKeys(`${bucket}/consumers/unknown/keys`, { keys: [good] })).status).toBe(404)
      expect((await call("GET", keys)).body.total).toBe(0)
      const thousand = { keys: Array.from({ length: 1000 }, (_, index) => item(`value number ${index}`)) }
      expect((await importKeys(keys, thousand)).body.total).toBe(1000)
    })

    it("happens once per Idempotency-Key", async () => {
      const { keys } = await makeConsumer()
      const headers = { "idempotency-key": "the-same" }
      const body = { keys: [item("imported-only-once")] }
      const first = await importKeys(keys, body, { headers })
      expect((await importKeys(keys, body, { headers })).body).toEqual(first.body)
      expect((await importKeys(keys, { keys: [item("another-value!!!")] }, { headers })).status).toBe(422)
      expect((await call("GET", keys)).body.total).toBe(1)
    })

    it("makes keys that can be updated, given a value, rolled and deleted", async () => {
      const { bucket, keys } = await makeConsumer()
      const value = "issued-by-another-system"
      const { id } = (await importKeys(keys, { keys: [item(value, { suffix: "stem" })] })).body.data[0]
      const path = `${keys}/${id}`
      const patch = { description: "d", scopes: ["x"], expiresOn: "2099-01-01T00:00:00Z", disabled: true }
      const patched = (await call("PATCH", path, { body: patch })).body
      expect(patched).toMatchObject({ ...patch, expiresOn: "2099-01-01T00:00:00.000Z", key: "****stem" })
      expect(await verify(bucket, value)).toEqual(invalid)
      await call("PATCH", path, { body: { disabled: null, expiresOn: null } })
      expect(await verify(bucket, value)).toMatchObject({ valid: true, scopes: ["x"] })
      const expiresOn = "2001-01-01T00:00:00Z"
      await call("POST", `${bucket}/consumers/alice/roll-key`, { body: { expiresOn } })
      expect(await verify(bucket, value)).toEqual(invalid)
      await call("PATCH", path, { body: { expiresOn: null } })
      expect((await verify(bucket, value)).valid).toBe(true)
      expect((await call("PATCH", path, { body: { key: "a-value-of-my-own" } })).body.key).toBe("a-value-of-my-own")
      expect([(await verify(bucket, value)).valid, (await verify(bucket, "a-value-of-my-own")).valid]).toEqual([
        false,
        true
      ])
      expect((await call("GET", `${path}?key-format=visible`)).body.key).toBe("a-value-of-my-own")
      expect((await importKeys(keys, { keys: [item(value)] })).status).toBe(200)
      expect((await importKeys(keys, { keys: [item("a-value-of-my-own")] })).status).toBe(409)
      expect((await call("DELETE", path)).status).toBe(204)
      expect((await importKeys(keys, { keys: [item("a-value-of-my-own")] })).status).toBe(200)
      expect((await verify(bucket, "a-value-of-my-own")).valid).toBe(true)
    })
  })
})
