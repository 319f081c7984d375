import { createTollgate, type Tollgate } from "@tollgate/core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores, tokens } from "../stores.ts"
import { type Client, freshBucket, makeClient } from "./client.ts"

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const consumerId = expect.stringMatching(/^csmr_[0-9A-Za-z]{24}$/)
const keyId = expect.stringMatching(/^key_[0-9A-Za-z]{24}$/)
const owner = (consumerName: string) => ({ consumerName, keyBucketName: expect.stringMatching(/^bucket-\d+$/) })
const keyValue = expect.stringMatching(/^tg_[0-9A-Za-z]{40}_[0-9A-Za-z]{6}$/)

describe.each(stores)("consumers over HTTP, on %s", (_, store) => {
  let gate: Tollgate
  let call: Client
  beforeAll(async () => {
    gate = await createTollgate({ store, secret, tokens: grants })
    call = makeClient(gate.handler)
  })
  afterAll(() => gate.close())

  const makeConsumer = async (bucket: string, body: object, query = "") => {
    const created = await call("POST", `${bucket}/consumers${query}`, { body })
    expect(created.status).toBe(200)
    return created
  }

  it("creates a consumer with every field", async () => {
    const bucket = freshBucket()
    const { body, headers } = await makeConsumer(bucket, {
      name: "alice",
      description: "the first",
      tags: { team: "blue", size: 3, vip: true },
      metadata: { nested: { list: [1, null, "x"] }, constructor: "plain data", prototype: 1 },
      managers: ["boss@example.com"]
    })
    expect(body).toEqual({
      id: consumerId,
      name: "alice",
      createdOn: timestamp,
      updatedOn: timestamp,
      description: "the first",
      tags: { team: "blue", size: 3, vip: true },
      metadata: { nested: { list: [1, null, "x"] }, constructor: "plain data", prototype: 1 }
    })
    expect(body.createdOn).toBe(body.updatedOn)
    expect(headers.get("etag")).toMatch(/^"\d+"$/)
    expect((await call("GET", `${bucket}/consumers/alice`)).body).toEqual(body)
  })

  it("creates a consumer with only a name", async () => {
    const { body } = await makeConsumer(freshBucket(), { name: "0-9" })
    expect(body).toEqual({ id: consumerId, name: "0-9", createdOn: timestamp, updatedOn: timestamp })
  })

  it("says what is wrong with a body in words of JSON, not of schemas", async () => {
    for (const [body, errors] of [
      [null, [{ pointer: "", detail: "Expected an object" }]],
      [[], [{ pointer: "", detail: "Expected an object" }]],
      [{}, [{ pointer: "/name", detail: "is required" }]],
      [{ name: "alice", colour: "blue" }, [{ pointer: "/colour", detail: "unknown field" }]]
    ] as const) {
      const response = await call("POST", `${freshBucket()}/consumers`, { body })
      expect([response.status, response.body.errors]).toEqual([400, errors])
    }
  })

  it("creates one key with the consumer on with-api-key, and shows its value", async () => {
    const bucket = freshBucket()
    const { body } = await makeConsumer(bucket, { name: "alice" }, "?with-api-key=true")
    expect(body.apiKeys).toEqual([
      { id: keyId, ...owner("alice"), createdOn: timestamp, updatedOn: timestamp, key: keyValue }
    ])
    const withSuppliedKey = await makeConsumer(
      bucket,
      {
        name: "bob",
        apiKeys: [{ key: "supplied-key-of-bob", description: "own", expiresOn: "2031-01-01T01:00:00+01:00" }]
      },
      "?with-api-key=true"
    )
    expect(withSuppliedKey.body.apiKeys).toEqual([
      {
        id: keyId,
        ...owner("bob"),
        createdOn: timestamp,
        updatedOn: timestamp,
        key: "supplied-key-of-bob",
        description: "own",
        expiresOn: "2031-01-01T00:00:00.000Z"
      }
    ])
    expect((await makeConsumer(bucket, { name: "carol" }, "?with-api-key=false")).body.apiKeys).toBeUndefined()
  })

  it("rejects a name or a key value that is in use, and writes nothing", async () => {
    const bucket = freshBucket()
    await makeConsumer(bucket, { name: "alice", apiKeys: [{ key: "a-value-that-is-taken" }] })
    const name = await call("POST", `${bucket}/consumers`, { body: { name: "alice" } })
    expect(name).toMatchObject({ status: 409, body: { type: "urn:tollgate:problem:consumer-name-taken", status: 409 } })
    const value = await call("POST", `${bucket}/consumers`, {
      body: { name: "bob", apiKeys: [{}, { key: "a-value-that-is-taken" }] }
    })
    expect(value).toMatchObject({ status: 409, body: { type: "urn:tollgate:problem:key-value-taken", index: 1 } })
    expect(JSON.stringify(value.body)).not.toContain("a-value-that-is-taken")
    const twice = await call("POST", `${bucket}/consumers`, {
      body: { name: "bob", apiKeys: [{ key: "a-value-given-twice" }, { key: "a-value-given-twice" }] }
    })
    const detail = expect.stringMatching(/^Key 1 of the request, .* in this bucket or in the request has this value/)
    expect(twice).toMatchObject({ status: 409, body: { code: "key-value-taken", index: 1, detail } })
    const single = { name: "bob", apiKeys: [{ key: "a-value-that-is-taken" }] }
    expect((await call("POST", `${bucket}/consumers`, { body: single })).body).not.toHaveProperty("index")
    expect((await call("GET", `${bucket}/consumers`)).body).toMatchObject({ total: 1 })
  })

  it("stores managers and invites, and includes them on request", async () => {
    const bucket = freshBucket()
    await makeConsumer(bucket, { name: "invited", managers: ["One@Example.com", "two@example.com", "one@example.COM"] })
    await makeConsumer(bucket, {
      name: "managed",
      managers: [{ sub: "user|1", email: "one@example.COM" }, { sub: "user|2" }, { sub: "user|1" }]
    })
    const invited = await call("GET", `${bucket}/consumers/invited?include-managers=true&include-manager-invites=true`)
    expect(invited.body.managers).toEqual([])
    expect(invited.body.managerInvites).toEqual([
      { id: expect.stringMatching(/^inv_/), createdOn: timestamp, email: "One@Example.com" },
      { id: expect.stringMatching(/^inv_/), createdOn: timestamp, email: "two@example.com" }
    ])
    const managed = await call("GET", `${bucket}/consumers/managed?include-managers=true`)
    expect(managed.body.managers).toEqual([
      { id: expect.stringMatching(/^mgr_/), createdOn: timestamp, sub: "user|1", email: "one@example.COM" },
      { id: expect.stringMatching(/^mgr_/), createdOn: timestamp, sub: "user|2" }
    ])
    expect(managed.body.managerInvites).toBeUndefined()
    const filtered = await call("GET", `${bucket}/consumers?manager-email=ONE@example.com`)
    expect(filtered.body.data.map(({ name }: { name: string }) => name)).toEqual(["invited", "managed"])
    expect((await call("GET", `${bucket}/consumers?manager-email=none@example.com`)).body.total).toBe(0)
  })

  it("replaces managers and invites, and who stays keeps id and createdOn", async () => {
    const bucket = freshBucket()
    const path = `${bucket}/consumers/alice?include-managers=true&include-manager-invites=true`
    const patch = async (managers: unknown) => (await call("PATCH", path, { body: { managers } })).body
    const find = async (email: string) =>
      (await call("GET", `${bucket}/consumers?manager-email=${email}`)).body.total as number
    const { body } = await makeConsumer(
      bucket,
      { name: "alice", managers: ["one@example.com", "two@example.com"] },
      "?include-manager-invites=true"
    )
    const [one, two] = body.managerInvites
    expect(one.email).toBe("one@example.com")
    const invited = await patch(["new@example.com", "TWO@example.com"])
    const fresh = { id: expect.stringMatching(/^inv_/), createdOn: timestamp, email: "new@example.com" }
    expect([invited.managers, invited.managerInvites]).toEqual([[], [fresh, two]])
    expect([await find("one@example.com"), await find("new@example.com")]).toEqual([0, 1])

    const managed = await patch([{ sub: "user|1", email: "a@b.c" }, { sub: "user|2" }, { sub: "user|1" }])
    const [first, second] = managed.managers
    expect(managed.managerInvites).toEqual([])
    expect(first).toEqual({ id: expect.stringMatching(/^mgr_/), createdOn: timestamp, sub: "user|1", email: "a@b.c" })
    const changed = await patch([{ sub: "user|2", email: "d@b.c" }, { sub: "user|3" }, { sub: "user|1" }])
    const third = { id: expect.stringMatching(/^mgr_/), createdOn: timestamp, sub: "user|3" }
    const { email: _, ...withoutEmail } = first
    expect(changed.managers).toEqual([{ ...second, email: "d@b.c" }, third, withoutEmail])
    // The address is what identifies a manager whose `sub` is another now, or who is named by it alone.
    const [renamed] = (await patch([{ sub: "user|4", email: "D@b.c" }])).managers
    expect(renamed).toEqual({ ...second, sub: "user|4", email: "D@b.c" })
    const byEmail = await patch(["d@b.c", "e@b.c"])
    expect([byEmail.managers, byEmail.managerInvites]).toMatchObject([[renamed], [{ email: "e@b.c" }]])
    expect((await call("PATCH", path, { body: { description: "x" } })).body.managers).toEqual([renamed])
    expect(await patch([])).toMatchObject({ managers: [], managerInvites: [] })
    for (const managers of [
      null,
      ["no address"],
      ["a@b.c", { sub: "1" }],
      Array.from({ length: 101 }, () => "a@b.c")
    ]) {
      expect((await call("PATCH", path, { body: { managers } })).status).toBe(400)
    }
    expect((await call("PATCH", path, { body: { managers: [] }, token: tokens.reader })).status).toBe(403)
  })

  it("lists in pages, oldest first, filtered by tags", async () => {
    const bucket = freshBucket()
    for (const index of [3, 1, 2]) {
      await makeConsumer(bucket, { name: `c${index}`, tags: { odd: index % 2 === 1, team: "x" } }, "?with-api-key=true")
    }
    const names = async (query: string) => {
      const { status, body } = await call("GET", `${bucket}/consumers${query}`)
      expect(status).toBe(200)
      return [body.data.map(({ name }: { name: string }) => name), body.limit, body.offset, body.total]
    }
    expect(await names("")).toEqual([["c3", "c1", "c2"], 1000, 0, 3])
    expect(await names("?limit=2")).toEqual([["c3", "c1"], 2, 0, 3])
    expect(await names("?limit=2&offset=2")).toEqual([["c2"], 2, 2, 3])
    expect(await names("?limit=5000")).toEqual([["c3", "c1", "c2"], 1000, 0, 3])
    expect(await names(`?limit=${"9".repeat(30)}`)).toEqual([["c3", "c1", "c2"], 1000, 0, 3])
    expect(await names("?offset=99")).toEqual([[], 1000, 99, 3])
    expect(await names("?tag.odd=true")).toEqual([["c3", "c1"], 1000, 0, 2])
    expect(await names("?tag.odd=true&tag.team=x&limit=1&offset=1")).toEqual([["c1"], 1, 1, 2])
    expect(await names("?tag.team=y")).toEqual([[], 1000, 0, 0])
    expect(await names("?name=c1")).toEqual([["c1"], 1000, 0, 1])
    expect(await names("?name=c1&offset=1")).toEqual([[], 1000, 1, 1])
    expect(await names("?name=c1&tag.odd=true")).toEqual([["c1"], 1000, 0, 1])
    expect(await names("?name=c2&tag.odd=true")).toEqual([[], 1000, 0, 0])
    expect(await names("?name=c1&manager-email=one@example.com")).toEqual([[], 1000, 0, 0])
    expect(await names("?name=c")).toEqual([[], 1000, 0, 0])
    expect((await call("GET", `${bucket}/consumers?name=No%20name`)).status).toBe(400)
    const { body } = await call("GET", `${bucket}/consumers?include-api-keys=true&limit=2`)
    expect(body.data.map(({ apiKeys }: { apiKeys: unknown }) => apiKeys)).toEqual([
      [
        {
          id: keyId,
          ...owner("c3"),
          createdOn: timestamp,
          updatedOn: timestamp,
          key: expect.stringMatching(/^\*{4}.{4}$/)
        }
      ],
      [
        {
          id: keyId,
          ...owner("c1"),
          createdOn: timestamp,
          updatedOn: timestamp,
          key: expect.stringMatching(/^\*{4}.{4}$/)
        }
      ]
    ])
    expect((await call("GET", `${freshBucket()}/consumers`)).body).toEqual({
      data: [],
      limit: 1000,
      offset: 0,
      total: 0
    })
  })

  const everything = "include-api-keys=true&include-managers=true&include-manager-invites=true"

  it("creates and updates with the parameters that all operations on consumers take", async () => {
    const bucket = freshBucket()
    const body = { name: "alice", managers: ["a@b.c"], apiKeys: [{ key: "supplied-value-1234" }] }
    for (const [format, key] of [
      ["", "supplied-value-1234"],
      ["&key-format=visible", "supplied-value-1234"],
      ["&key-format=masked", "****1234"],
      ["&key-format=none", undefined]
    ]) {
      const created = await makeConsumer(bucket, body, `?${everything}${format}`)
      expect(created.body).toMatchObject({ managers: [], managerInvites: [{ email: "a@b.c" }] })
      expect(created.body.apiKeys.map((apiKey: { key?: string }) => apiKey.key)).toEqual([key])
      const one = `${bucket}/consumers/alice`
      const updated = await call("PATCH", `${one}?${everything}${format}`, { body: { description: "new" } })
      const { description: _, updatedOn: __, ...kept } = updated.body
      expect(updated.body.description).toBe("new")
      const shown = format === "" ? "****1234" : key
      const { description: ___, updatedOn: ____, ...read } = (await call("GET", `${one}?${everything}${format}`)).body
      expect([kept, kept.apiKeys[0].key]).toEqual([read, shown])
      expect((await call("PATCH", one, { body: {} })).body).not.toHaveProperty("apiKeys")
      expect((await call("DELETE", `${one}?${everything}${format}&tag.a=b`)).status).toBe(404)
      expect((await call("DELETE", `${one}?${everything}${format}`)).status).toBe(204)
    }
    expect((await makeConsumer(bucket, { name: "bob" }, `?${everything}`)).body).toMatchObject({ apiKeys: [] })
    expect((await makeConsumer(bucket, { name: "carol" })).body).not.toHaveProperty("apiKeys")
    expect((await call("POST", `${bucket}/consumers?key-format=all`, { body: { name: "dave" } })).status).toBe(400)
  })

  it("replays a create with the values that the first response had", async () => {
    const bucket = freshBucket()
    const create = () =>
      call("POST", `${bucket}/consumers?with-api-key=true&key-format=none&include-managers=true`, {
        body: { name: "alice" },
        headers: { "idempotency-key": "once" }
      })
    const first = await create()
    expect(first.body.apiKeys[0]).not.toHaveProperty("key")
    expect((await create()).body).toEqual(first.body)
  })

  it("returns keys without value, masked or visible", async () => {
    const bucket = freshBucket()
    await makeConsumer(bucket, { name: "alice", apiKeys: [{ key: "supplied-value-1234" }] })
    const getValue = async (format: string) =>
      (await call("GET", `${bucket}/consumers/alice?include-api-keys=true${format}`)).body.apiKeys[0].key
    expect(await getValue("")).toBe("****1234")
    expect(await getValue("&key-format=masked")).toBe("****1234")
    expect(await getValue("&key-format=visible")).toBe("supplied-value-1234")
    expect(await getValue("&key-format=none")).toBeUndefined()
    const forReader = await call("GET", `${bucket}/consumers/alice?include-api-keys=true&key-format=visible`, {
      token: tokens.reader
    })
    expect(forReader.status).toBe(403)
    expect(JSON.stringify(forReader.body)).not.toContain("supplied-value")
  })

  it("updates the given fields and keeps the others", async () => {
    const bucket = freshBucket()
    const created = await makeConsumer(bucket, {
      name: "alice",
      description: "d",
      tags: { a: "1", b: "2" },
      metadata: { m: 1 }
    })
    const path = `${bucket}/consumers/alice`
    const tagged = await call("PATCH", path, { body: { tags: { c: "3" }, name: "alice" } })
    expect(tagged.body).toMatchObject({ description: "d", tags: { c: "3" }, metadata: { m: 1 }, id: created.body.id })
    expect(tagged.body.tags).toEqual({ c: "3" })
    expect(Date.parse(tagged.body.updatedOn)).toBeGreaterThanOrEqual(Date.parse(created.body.updatedOn))
    expect(tagged.body.createdOn).toBe(created.body.createdOn)
    expect((await call("GET", `${bucket}/consumers?tag.a=1`)).body.total).toBe(0)
    expect((await call("GET", `${bucket}/consumers?tag.c=3`)).body.total).toBe(1)
    const cleared = await call("PATCH", path, { body: { description: null, metadata: {} } })
    expect(cleared.body).toEqual({ ...tagged.body, description: undefined, metadata: {}, updatedOn: timestamp })
    expect((await call("PATCH", path)).status).toBe(200)
    const renamed = await call("PATCH", path, { body: { name: "bob" } })
    expect(renamed).toMatchObject({ status: 400, body: { errors: [{ pointer: "/name" }] } })
    expect((await call("PATCH", `${bucket}/consumers/unknown`, { body: {} })).status).toBe(404)
  })

  it("disables a consumer and enables it again, without telling outsiders", async () => {
    const bucket = freshBucket()
    const { body } = await makeConsumer(bucket, { name: "alice", disabled: true }, "?with-api-key=true")
    expect(body.disabled).toBe(true)
    const verify = async (key: string) =>
      (await call("POST", `${bucket}/$verify`, { body: { key }, token: tokens.reader })).body
    const [{ key }] = body.apiKeys
    expect(await verify(key)).toEqual(await verify("unknown-but-well-formed"))
    const path = `${bucket}/consumers/alice`
    expect((await call("GET", path)).body.disabled).toBe(true)
    for (const disabled of [false, null]) {
      const enabled = await call("PATCH", path, { body: { disabled } })
      expect([enabled.status, "disabled" in enabled.body]).toEqual([200, false])
      expect(await verify(key)).toMatchObject({ valid: true })
      expect((await call("PATCH", path, { body: { disabled: true } })).body.disabled).toBe(true)
      expect(await verify(key)).toEqual({ valid: false, reason: "invalid" })
    }
    for (const disabled of ["true", 1]) {
      expect((await call("PATCH", path, { body: { disabled } })).status).toBe(400)
    }
    expect((await call("POST", `${bucket}/consumers`, { body: { name: "bob", disabled: null } })).status).toBe(400)
  })

  it("treats tags on a single consumer as a precondition", async () => {
    const bucket = freshBucket()
    await makeConsumer(bucket, { name: "alice", tags: { team: "blue" } }, "?with-api-key=true")
    const path = `${bucket}/consumers/alice`
    const before = (await call("GET", `${path}?include-api-keys=true`)).body
    const expiresOn = "2031-01-01T00:00:00Z"
    expect((await call("GET", `${path}?tag.team=red`)).status).toBe(404)
    expect((await call("PATCH", `${path}?tag.team=red`, { body: { description: "x" } })).status).toBe(404)
    expect((await call("POST", `${path}/roll-key?tag.team=red`, { body: { expiresOn } })).status).toBe(404)
    expect((await call("DELETE", `${path}?tag.team=red`)).status).toBe(404)
    expect((await call("GET", `${path}?tag.team=blue&include-api-keys=true`)).body).toEqual(before)
    for (const query of ["tag=x", "tag.=x", "tags.team=blue", "manager=x", "tag.team=blue&tag.team=red"]) {
      for (const method of ["PATCH", "DELETE"]) {
        expect((await call(method, `${path}?${query}`, { ...(method === "PATCH" ? { body: {} } : {}) })).status).toBe(
          400
        )
      }
      expect((await call("POST", `${path}/roll-key?${query}`, { body: { expiresOn } })).status).toBe(400)
      expect((await call("GET", `${bucket}/consumers?${query}`)).status).toBe(400)
    }
    expect((await call("GET", `${path}?include-api-keys=true`)).body).toEqual(before)
    expect((await call("DELETE", `${path}?tag.team=blue`)).status).toBe(204)
  })

  it("supports If-Match", async () => {
    const bucket = freshBucket()
    const { headers } = await makeConsumer(bucket, { name: "alice" })
    const path = `${bucket}/consumers/alice`
    const etag = headers.get("etag") ?? ""
    const changed = await call("PATCH", path, { body: { description: "1" }, headers: { "if-match": etag } })
    expect(changed.status).toBe(200)
    expect(changed.headers.get("etag")).not.toBe(etag)
    expect((await call("GET", path)).headers.get("etag")).toBe(changed.headers.get("etag"))
    for (const stale of [
      etag,
      `W/${changed.headers.get("etag")}`,
      '"nonsense"',
      '"a,b"',
      `"0${changed.headers.get("etag")?.slice(1)}`
    ]) {
      const rejected = await call("PATCH", path, { body: { description: "2" }, headers: { "if-match": stale } })
      expect(rejected).toMatchObject({ status: 412, body: { type: "urn:tollgate:problem:precondition-failed" } })
      expect((await call("DELETE", path, { headers: { "if-match": stale } })).status).toBe(412)
    }
    expect((await call("DELETE", path, { headers: { "if-match": "no quotes" } })).status).toBe(400)
    expect((await call("PATCH", path, { body: {}, headers: { "if-match": "*" } })).status).toBe(200)
    const current = (await call("GET", path)).headers.get("etag")
    expect((await call("DELETE", path, { headers: { "if-match": `"0", ${current}` } })).status).toBe(204)
  })

  it("rolls keys: sets an expiry on keys without one, keeps other expiries, and creates a new key", async () => {
    const bucket = freshBucket()
    await makeConsumer(bucket, {
      name: "alice",
      apiKeys: [
        { description: "open" },
        { description: "late", expiresOn: "2040-01-01T00:00:00Z" },
        { description: "early", expiresOn: "2030-01-01T00:00:00Z" }
      ]
    })
    const path = `${bucket}/consumers/alice`
    const rolled = await call("POST", `${path}/roll-key`, { body: { expiresOn: "2035-06-01T12:00:00+02:00" } })
    expect(rolled).toMatchObject({ status: 204, body: "" })
    const { data } = (await call("GET", `${path}/keys?key-format=none`)).body
    expect(data.map(({ description, expiresOn }: Record<string, string>) => [description, expiresOn])).toEqual([
      ["open", "2035-06-01T10:00:00.000Z"],
      ["late", "2040-01-01T00:00:00.000Z"],
      ["early", "2030-01-01T00:00:00.000Z"],
      [undefined, undefined]
    ])
    const location = rolled.headers.get("location") ?? ""
    expect((await call("GET", location)).body.id).toBe(data[3].id)
    expect((await call("GET", path)).headers.get("etag")).toBe('"1"')

    await makeConsumer(bucket, { name: "bare" })
    expect(
      (await call("POST", `${bucket}/consumers/bare/roll-key`, { body: { expiresOn: "2000-01-01T00:00:00Z" } })).status
    ).toBe(204)
    expect((await call("GET", `${bucket}/consumers/bare/keys`)).body.total).toBe(1)
    for (const body of [
      {},
      { expiresOn: null },
      { expiresOn: "soon" },
      { expiresOn: "2035-06-01T12:00:00Z", other: 1 }
    ]) {
      expect((await call("POST", `${path}/roll-key`, { body })).status).toBe(400)
    }
    expect(
      (await call("POST", `${bucket}/consumers/unknown/roll-key`, { body: { expiresOn: "2035-06-01T12:00:00Z" } }))
        .status
    ).toBe(404)
  })

  it("rolls one key: it ends after the grace period or earlier, and the new key may do the same", async () => {
    const bucket = freshBucket()
    const scopes = ["orders:read"]
    const { body } = await makeConsumer(bucket, {
      name: "alice",
      apiKeys: [
        { description: "app", scopes, ipAllow: ["203.0.113.7"] },
        { description: "other" },
        { description: "late", expiresOn: "2040-01-01T00:00:00Z" },
        { description: "early", expiresOn: "2030-01-01T00:00:00Z" },
        { description: "off", disabled: true },
        { description: "past", expiresOn: "2000-01-01T00:00:00Z" }
      ]
    })
    const ids: ReadonlyArray<string> = body.apiKeys.map(({ id }: { id: string }) => id)
    const path = `${bucket}/consumers/alice`
    const roll = (keyId: unknown, extra: object = {}) =>
      call("POST", `${path}/roll-key?key-format=visible`, {
        body: { keyId, expiresOn: "2035-06-01T10:00:00.000Z", ...extra }
      })
    const app = await roll(ids[0])
    expect(app).toMatchObject({ status: 200, body: { description: "app", scopes, ipAllow: ["203.0.113.7"] } })
    expect(app.body).not.toHaveProperty("expiresOn")
    expect((await roll(ids[2])).body).toMatchObject({ description: "late", expiresOn: "2040-01-01T00:00:00.000Z" })
    expect((await roll(ids[3], { scopes: [] })).body).toMatchObject({ expiresOn: "2030-01-01T00:00:00.000Z" })
    const { data } = (await call("GET", `${path}/keys?key-format=none`)).body
    expect(data.slice(0, 6).map(({ expiresOn }: Record<string, string>) => expiresOn)).toEqual([
      "2035-06-01T10:00:00.000Z",
      undefined,
      "2035-06-01T10:00:00.000Z",
      "2030-01-01T00:00:00.000Z",
      undefined,
      "2000-01-01T00:00:00.000Z"
    ])
    const verify = async (key: string) => (await call("POST", `${bucket}/$verify`, { body: { key } })).body.valid
    const late = body.apiKeys[2].key
    expect([await verify(late), await verify((await roll(ids[1])).body.key)]).toEqual([true, true])
    expect((await roll(ids[2], { expiresOn: "2000-01-01T00:00:00Z" })).status).toBe(200)
    expect(await verify(late)).toBe(false)
    for (const inactive of [ids[2], ids[4], ids[5]])
      expect(await roll(inactive)).toMatchObject({ status: 409, body: { code: "key-not-active" } })
    const { body: bob } = await makeConsumer(bucket, { name: "bob", apiKeys: [{}] })
    for (const foreign of [bob.apiKeys[0].id, "key_unknown", ""])
      expect(await roll(foreign)).toMatchObject({ status: 404, body: { code: "key-not-found" } })
    expect((await roll(null)).status).toBe(400)
    expect((await call("GET", `${path}/keys`)).body.total).toBe(11)
  })

  it("deletes a consumer with its keys, managers and invites", async () => {
    const bucket = freshBucket()
    const { body } = await makeConsumer(bucket, { name: "alice", managers: ["a@b.c"], apiKeys: [{}, {}] })
    const path = `${bucket}/consumers/alice`
    const verify = async () =>
      (await call("POST", `${bucket}/$verify`, { body: { key: body.apiKeys[1].key } })).body.valid
    expect(await verify()).toBe(true)
    expect(await call("DELETE", path)).toMatchObject({ status: 204, body: "" })
    expect(await verify()).toBe(false)
    expect((await call("GET", path)).status).toBe(404)
    expect((await call("DELETE", path)).status).toBe(404)
    expect((await call("GET", `${path}/keys`)).status).toBe(404)
    expect((await call("GET", `${bucket}/consumers?manager-email=a@b.c`)).body.total).toBe(0)
    const recreated = await makeConsumer(bucket, { name: "alice", apiKeys: [{ key: body.apiKeys[0].key }] })
    expect(recreated.body.id).not.toBe(body.id)
    expect((await call("GET", `${path}/keys`)).body.total).toBe(1)
  })

  it("creates a consumer once per Idempotency-Key", async () => {
    const bucket = freshBucket()
    const create = (body: object, key = "key-1", token = tokens.writer) =>
      call("POST", `${bucket}/consumers?with-api-key=true`, { body, token, headers: { "idempotency-key": key } })
    const first = await create({ name: "alice" })
    const repeated = await create({ name: "alice" })
    expect(repeated).toMatchObject({ status: 200, body: first.body })
    expect(repeated.headers.get("etag")).toBe(first.headers.get("etag"))
    expect(await create({ name: "bob" })).toMatchObject({
      status: 422,
      body: { type: "urn:tollgate:problem:idempotency-key-reused" }
    })
    expect((await create({ name: "alice" }, "key-1", tokens.admin)).status).toBe(409)
    expect((await create({ name: "alice" }, "key-2")).status).toBe(409)
    expect((await create({ name: "carol" }, "key-2")).status).toBe(200)
    expect((await create({ name: "dave" }, "white space")).status).toBe(400)
    const path = `${bucket}/consumers/alice`
    const createKey = () => call("POST", `${path}/keys`, { body: {}, headers: { "idempotency-key": "k" } })
    const created = await createKey()
    const roll = () =>
      call("POST", `${path}/roll-key`, {
        body: { expiresOn: "2035-06-01T12:00:00Z" },
        headers: { "idempotency-key": "r" }
      })
    expect((await roll()).headers.get("location")).toBe((await roll()).headers.get("location"))
    expect((await call("GET", `${path}/keys`)).body.total).toBe(3)
    const location = (await roll()).headers.get("location")
    // The replay still returns the first response after the consumer is deleted.
    expect((await call("DELETE", path)).status).toBe(204)
    expect((await createKey()).body).toEqual(created.body)
    expect((await roll()).headers.get("location")).toBe(location)
    expect((await call("POST", `${path}/keys`, { body: {}, headers: { "idempotency-key": "new" } })).status).toBe(404)
  })
})
