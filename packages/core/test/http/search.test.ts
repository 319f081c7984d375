/**
 * Consumers are found by a text, by their keys, and are sorted by name.
 */
import { createTollgate, type Tollgate } from "@tollgate/core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores } from "../stores.ts"
import { type Client, freshBucket, makeClient } from "./client.ts"

const limitedToken = "consumers-only-0123456789abcdef0123456789"

interface Named {
  readonly name: string
}

describe.each(stores)("searching consumers, on %s", (_, store) => {
  let gate: Tollgate
  let call: Client
  beforeAll(async () => {
    const limited = { token: limitedToken, account: "acme", permissions: ["consumers:read"] }
    gate = await createTollgate({ store, secret, tokens: [...grants, limited] })
    call = makeClient(gate.handler)
  })
  afterAll(() => gate.close())

  const create = async (bucket: string, body: object) => {
    const created = await call("POST", `${bucket}/consumers`, { body })
    expect(created.status, JSON.stringify(created.body)).toBe(200)
    return created.body
  }

  const list = async (bucket: string, query: string) => {
    const { status, body } = await call("GET", `${bucket}/consumers?${query}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }
  const find = async (bucket: string, text: string, more = ""): Promise<ReadonlyArray<string>> =>
    (await list(bucket, `search=${encodeURIComponent(text)}${more}`)).data.map(({ name }: Named) => name)

  it("finds names and their parts, ids, e-mail addresses, tags and descriptions by their beginnings", async () => {
    const bucket = freshBucket()
    const { id } = await create(bucket, {
      name: "acme-billing-eu",
      customerKey: "cus_Nb3xYz",
      description: "The (Frankfurt) branch, since 2019: pays yearly",
      tags: { team: "Blue Whales", size: 42, "customer-since": "2019" },
      managers: [{ sub: "auth0|1", email: "Jane.Doe@Example.com" }]
    })
    await create(bucket, { name: "other", managers: ["invited@example.org"] })
    for (const text of [
      "ac",
      "ACME",
      "acme-bill",
      "billing",
      "eu",
      "cus_nb3",
      id,
      id.slice(0, 12).toUpperCase(),
      "jane.doe@example.com",
      "JANE",
      "jane.doe@ex",
      "blue",
      "Blue Whales",
      "42",
      "2019",
      "frankf",
      "branch",
      "  pays  "
    ]) {
      expect(await find(bucket, text), text).toEqual(["acme-billing-eu"])
    }
    expect(await find(bucket, "invited@")).toEqual(["other"])
    for (const text of ["illing", "cme", "example.com", "whales", "auth", "no", "a%", "a*", "__", "(f", "ac\\"]) {
      expect(await find(bucket, text), text).toEqual([])
    }
    expect(await find(freshBucket(), "acme")).toEqual([])
  })

  it("finds texts in any script, in any case and form of characters", async () => {
    const bucket = freshBucket()
    await create(bucket, { name: "one", description: "Ｆｕｌｌ Straße École 東京タワー 🗝️key ﬁnance" })
    await create(bucket, { name: "two", description: "\u{1f528}hammer" })
    for (const text of ["full", "FULL", "straße", "STRAẞE", "école", "E\u0301cole", "東京", "finance", "key"]) {
      expect(await find(bucket, text), text).toEqual(["one"])
    }
    expect(await find(bucket, "hammer")).toEqual(["two"])
  })

  it("finds beginnings that end where another form of a letter would be", async () => {
    const bucket = freshBucket()
    await create(bucket, { name: "greek", tags: { city: "ΟΔΥΣΣΕΥΣ" } })
    await create(bucket, { name: "turkish", tags: { city: "İstanbul" } })
    for (const text of ["ΟΔΥΣ", "οδυσσ", "ΟΔΥΣΣΕΥΣ"]) expect(await find(bucket, text), text).toEqual(["greek"])
    for (const text of ["istan", "ISTAN", "İSTANBUL"]) expect(await find(bucket, text), text).toEqual(["turkish"])
  })

  it("returns what is the text before what begins with it, and then the newest first", async () => {
    const bucket = freshBucket()
    for (const name of ["acme-1", "acmex", "acme", "acme-2", "acmes"]) await create(bucket, { name })
    expect(await find(bucket, "acme")).toEqual(["acme-2", "acme", "acme-1", "acmes", "acmex"])
    expect(await find(bucket, "acme", "&limit=2")).toEqual(["acme-2", "acme"])
    const body = await list(bucket, "search=acme&limit=1000&include-managers=true")
    expect({ ...body, data: body.data.length }).toEqual({ data: 5, limit: 100, offset: 0 })
    expect(body.data[0]).toMatchObject({ name: "acme-2", managers: [] })
  })

  it("finds a name however many other texts begin alike", async () => {
    const bucket = freshBucket()
    const words = Array.from("abcdefghijklmnopqrst", (letter) => `aurora${letter}`)
    for (let index = 0; index < 40; index++) {
      await create(bucket, {
        name: `${words.slice(0, 6).join("-")}-${index}`,
        description: words.join(" "),
        tags: Object.fromEntries(words.slice(0, 10).map((word) => [word, word])),
        managers: words.slice(0, 10).map((word) => `${word}@example.com`)
      })
    }
    await create(bucket, { name: "aurora-z" })
    await create(bucket, { name: "x", description: "aurora-x" })
    const found = await find(bucket, "aurora")
    expect(found.slice(0, 2)).toEqual(["aurora-z", "x"])
    expect(found.length).toBe(42)
  })

  it("finds the consumer of a key by the key's id and its last 4 characters, exactly", async () => {
    const bucket = freshBucket()
    const key = "a-key-of-24-characters-Xy7Z"
    await create(bucket, { name: "long", apiKeys: [{ key }] })
    await create(bucket, { name: "short", apiKeys: [{ key: "a-key-of-23-chars--Qw3R" }] })
    const { apiKeys } = await create(bucket, { name: "generated", apiKeys: [{}] })
    const [{ id, key: value }] = apiKeys
    expect(await find(bucket, "Xy7Z")).toEqual(["long"])
    expect(await find(bucket, value.slice(-4))).toEqual(["generated"])
    expect(await find(bucket, id)).toEqual(["generated"])
    for (const text of [
      "xy7z",
      "y7Z",
      "-Xy7Z",
      "Qw3R",
      id.slice(0, -1),
      id.toLowerCase(),
      "key_000000000000000000000000"
    ]) {
      expect(await find(bucket, text), text).toEqual([])
    }
    const { body } = await call("GET", `${bucket}/consumers?search=Xy7Z&include-api-keys=true`)
    expect(body.data[0].apiKeys[0].key).toBe("****Xy7Z")
  })

  it("finds what is true after every write", async () => {
    const bucket = freshBucket()
    const path = `${bucket}/consumers/acme`
    const { apiKeys } = await create(bucket, { name: "acme", description: "first", tags: { a: "red" }, apiKeys: [{}] })
    const before = apiKeys[0].key.slice(-4)
    await call("PATCH", path, { body: { description: "second", tags: { a: "green" }, managers: ["new@example.com"] } })
    for (const text of ["first", "red"]) expect(await find(bucket, text)).toEqual([])
    for (const text of ["second", "green", "new@"]) expect(await find(bucket, text)).toEqual(["acme"])
    await call("PATCH", path, { body: { description: null, managers: [] } })
    for (const text of ["second", "new@"]) expect(await find(bucket, text)).toEqual([])
    expect(await find(bucket, "acme")).toEqual(["acme"])

    const expiresOn = new Date(Date.now() + 3_600_000).toISOString()
    const rolled = await call("POST", `${path}/roll-key?key-format=visible`, { body: { expiresOn } })
    expect(await find(bucket, rolled.body.key.slice(-4))).toEqual(["acme"])
    expect(await find(bucket, before)).toEqual(["acme"])
    const replaced = `${path}/keys/${apiKeys[0].id}`
    await call("PATCH", replaced, { body: { key: "another-key-of-24-characters-Ab1C" } })
    expect(await find(bucket, "Ab1C")).toEqual(["acme"])
    expect(await find(bucket, before)).toEqual([])
    await call("PATCH", replaced, { body: { key: "a-short-key-with-Ab1C" } })
    expect(await find(bucket, "Ab1C")).toEqual([])
    await call("PATCH", replaced, { body: { disabled: true, expiresOn: new Date(Date.now() + 60_000).toISOString() } })
    const [hash] = ["ab".repeat(32)]
    await call("POST", `${path}/keys/$import`, { body: { keys: [{ hash, algorithm: "sha256", suffix: "12345678" }] } })
    expect(await find(bucket, "5678")).toEqual(["acme"])
    expect(await find(bucket, "1234")).toEqual([])

    expect((await call("DELETE", path)).status).toBe(204)
    for (const text of ["acme", "5678", rolled.body.key.slice(-4), apiKeys[0].id]) {
      expect(await find(bucket, text), text).toEqual([])
    }
    await create(bucket, { name: "acme" })
    for (const text of ["5678", "green"]) expect(await find(bucket, text), text).toEqual([])
    expect(await find(bucket, "acme")).toEqual(["acme"])
  })

  it("shows no consumers by their keys to callers who may not see keys", async () => {
    const bucket = freshBucket()
    const { apiKeys } = await create(bucket, { name: "acme", apiKeys: [{ key: "a-key-of-24-characters-Pq9T" }] })
    const search = async (text: string) =>
      (await call("GET", `${bucket}/consumers?search=${text}`, { token: limitedToken })).body.data.length
    expect(await search("acme")).toBe(1)
    expect(await search("Pq9T")).toBe(0)
    expect(await search(apiKeys[0].id)).toBe(0)
  })

  it("refuses texts that are too short or too long, and what cannot be combined with a search", async () => {
    const bucket = freshBucket()
    const texts = ["", "a", " a ", "x".repeat(33), "x".repeat(10_000), "\u0000\u0000", "\u{1f5dd}"]
    for (const query of [
      ...texts.map((text) => `search=${encodeURIComponent(text)}`),
      "search=ab&search=cd",
      "search=ab&offset=0",
      "search=ab&offset=1",
      "search=ab&after=1",
      "search=ab&sort=name",
      "search=ab&name=ab",
      "search=ab&manager-email=a@example.com",
      "search=ab&tag.a=b",
      "search=ab&limit=0",
      "sort=createdOn",
      "sort=name&tag.a=b",
      "sort=name&name=ab",
      "sort=name&offset=1",
      "sort=name&after=1",
      "sort=-createdOn&after=~a",
      "after=~a",
      "sort=name&after=~A",
      "sort=name&after=~"
    ]) {
      const { status, body } = await call("GET", `${bucket}/consumers?${query}`)
      expect([status, body.code], query.slice(0, 100)).toEqual([400, "bad-request"])
    }
    for (const text of ["ab", "\u{1f5dd}\u{1f5dd}", "x".repeat(32), "\u{1f5dd}".repeat(32), "ﷺ"]) {
      expect(await find(bucket, text)).toEqual([])
    }
  })

  it("sorts by name and by age, page after page, while consumers come and go", async () => {
    const bucket = freshBucket()
    const names = ["m", "b", "z-1", "a", "-", "z", "007", "a-1", "zz"]
    for (const name of names) await create(bucket, { name })
    const sorted = names.toSorted()
    const read = async (query: string, limit: number, afterPage = async (_: ReadonlyArray<string>) => {}) => {
      const pages: Array<ReadonlyArray<string>> = []
      for (let after = ""; ; ) {
        const body = await list(bucket, `${query}&limit=${limit}${after}`)
        const page = body.data.map(({ name }: Named) => name)
        pages.push(page)
        await afterPage(page)
        if (body.next === undefined) return pages
        after = `&after=${body.next}`
      }
    }
    for (const limit of [1, 2, 4, 9, 1_000]) {
      const pages = await read("sort=name", limit)
      expect(pages.flat()).toEqual(sorted)
      expect(pages.length).toBe(Math.ceil(names.length / limit))
      expect((await read("sort=-createdOn", limit)).flat()).toEqual(names.toReversed())
    }
    expect(await list(bucket, "sort=name&limit=2")).toMatchObject({ limit: 2, offset: 0, total: 9, next: "~007" })
    expect((await list(bucket, "sort=-createdOn&name=m")).total).toBe(1)

    const all: Array<string> = []
    for await (const { name } of gate
      .account("acme")
      .keyBucket(bucket.split("/").at(-1) ?? "")
      .consumers.list({
        sort: "name",
        limit: 4
      })) {
      all.push(name)
    }
    expect(all).toEqual(sorted)
    const seen = await read("sort=name", 2, async (page) => {
      for (const name of page) await call("DELETE", `${bucket}/consumers/${name}`)
    })
    expect(seen.flat()).toEqual(sorted)
  })
})
