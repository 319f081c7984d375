/**
 * Lists of large items: what one response, one account and a client that does not read may cost.
 */
import { expect, it } from "@effect/vitest"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import type { StoreOperations } from "@tollgate/store"
import { eventually } from "@tollgate/testing"
import { beforeAll, describe } from "vitest"
import { grants, secret, tokens } from "../stores.ts"

const memory = MemoryStore.open()
const limit = 990
let lists = 0
const store: StoreOperations = {
  ...memory,
  list: (partition, queries) => {
    // Background work reads smaller pages.
    if (queries[0]?.limit === limit) lists++
    return memory.list(partition, queries)
  }
}
const gate = await createTollgate({ store, secret, tokens: grants })
const path = "http://localhost/v1/accounts/acme/key-buckets/large/consumers"
const get = (search = "", token: string = tokens.writer) =>
  gate.handler(new Request(`${path}${search}`, { headers: { authorization: `Bearer ${token}` } }))

const count = 150
const mebibyte = 1024 * 1024

beforeAll(async () => {
  const bucket = gate.account("acme").keyBucket("large")
  for (let index = 0; index < count; index++) {
    await bucket.consumers.create({ name: `c${index}`, metadata: { numbers: Array.from({ length: 32_000 }, () => 1) } })
  }
})

describe("a list of large items", () => {
  it("has pages of about 4 MiB, with the total, and next leads through all", async () => {
    const names: Array<string> = []
    const sizes: Array<number> = []
    for (let next: string | undefined = ""; next !== undefined; ) {
      const text: string = await (await get(`?limit=1000${next === "" ? "" : `&after=${next}`}`)).text()
      const page = JSON.parse(text)
      expect(page).toMatchObject({ limit: 1000, offset: 0, total: count })
      names.push(...page.data.map(({ name }: { readonly name: string }) => name))
      sizes.push(text.length)
      next = page.next
    }
    expect(names).toEqual(Array.from({ length: count }, (_, index) => `c${index}`))
    expect(sizes.length).toBe(3)
    expect(Math.max(...sizes)).toBeLessThan(4.2 * mebibyte)
  })

  it("is iterated whole in process", async () => {
    let found = 0
    for await (const _ of gate.account("acme").keyBucket("large").consumers.list()) found++
    expect(found).toBe(count)
  })

  it("is read by four requests of an account at once, until they have got it", async () => {
    lists = 0
    const responses = Array.from({ length: 20 }, () => get(`?limit=${limit}`))
    const begun = await Promise.all(responses.slice(0, 4))
    // Nobody reads, so the others wait. The operator does not.
    expect((await get("?limit=1", tokens.admin)).status).toBe(200)
    expect(lists).toBe(4)
    await begun[0]?.body?.cancel()
    await eventually(async () => expect(lists).toBe(5))
    for (const response of responses) await (await response).body?.cancel()
    expect(lists).toBe(20)
  })

  it("is refused when many requests of its account wait", async () => {
    const unread = await Promise.all(Array.from({ length: 4 }, () => get()))
    const responses = Array.from({ length: 300 }, () => get("?limit=1"))
    const busy = await Promise.all(responses.slice(256))
    for (const response of busy) {
      expect(response.status).toBe(503)
      expect(response.headers.get("retry-after")).toBe("1")
      expect(await response.json()).toMatchObject({ code: "server-busy" })
    }
    for (const { body } of unread) await body?.cancel()
    for (const response of responses.slice(0, 256)) expect((await response).status).toBe(200)
  })
})
