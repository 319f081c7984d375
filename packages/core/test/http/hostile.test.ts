/**
 * Requests that try to turn a condition off, and errors of the application that clients must not see.
 */
import { describe, expect, it } from "@effect/vitest"
import { ConfigurationError, ConsumerNotFound, createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { measureTurns } from "@tollgate/testing"
import { grants, secret } from "../stores.ts"
import { makeClient } from "./client.ts"

const gate = await createTollgate({ store: MemoryStore.open(), secret, tokens: grants })
const call = makeClient(gate.handler)
const consumers = "/v1/accounts/acme/key-buckets/hostile/consumers"

describe("a tag condition", () => {
  it("holds for every name, also __proto__ and constructor", async () => {
    await call("POST", consumers, { body: { name: "alice", tags: { team: "red" } } })
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const query = `?tag.${name}=x`
      expect((await call("GET", `${consumers}${query}`)).body.total).toBe(0)
      expect((await call("GET", `${consumers}/alice${query}`)).status).toBe(404)
      expect((await call("PATCH", `${consumers}/alice${query}`, { body: {} })).status).toBe(404)
      expect((await call("DELETE", `${consumers}/alice${query}`)).status).toBe(404)
      const roll = { body: { expiresOn: "2999-01-01T00:00:00Z" } }
      expect((await call("POST", `${consumers}/alice/roll-key${query}`, roll)).status).toBe(404)
    }
    expect((await call("GET", `${consumers}/alice?tag.team=red`)).status).toBe(200)
  })

  it("of a version that is too large does not match", async () => {
    const headers = { "if-match": '"99999999999999999999"' }
    expect((await call("PATCH", `${consumers}/alice`, { body: {}, headers })).status).toBe(412)
  })
})

describe("an invalid name", () => {
  it("of any length gets a short response", async () => {
    const long = "x".repeat(500_000)
    const bodies = [
      { name: "a", tags: { [long]: "t" } },
      { name: "a", [long]: 1 },
      { name: "a", metadata: { [long]: "\ud800" } }
    ]
    for (const body of bodies) {
      const response = await call("POST", consumers, { body })
      expect(response).toMatchObject({ status: 400, body: { code: "bad-request" } })
      expect(JSON.stringify(response.body).length).toBeLessThan(2_000)
    }
    const query = await call("GET", `${consumers}?${"y".repeat(10_000)}=1`)
    expect(query.status).toBe(400)
    expect(JSON.stringify(query.body).length).toBeLessThan(2_000)
  })
})

describe("a body of a megabyte", () => {
  const many = 349_000
  /** Each has its fault near the beginning, or is refused for its number of values. */
  const bodies: ReadonlyArray<readonly [string, string, string]> = [
    ["empty lists in metadata", `{"name":"a","metadata":[${"[],".repeat(many)}[]]}`, "has more than 100000 values"],
    ["numbers in a field that begins like metadata", `{"metadatafoo":[${"1,".repeat(99_000)}1]}`, "1000 entries"],
    ["numbers below metadata elsewhere", `{"a":{"metadata":[${"1,".repeat(99_000)}1]}}`, "1000 entries"],
    ["lists in depth", `{"a":${"[".repeat(500_000)}`, "nested deeper than 64 levels"],
    ["quotes and brackets in a text", `{"name":"${'[{,\\"'.repeat(100_000)}"}`, "lower-case"]
  ]
  it.each(bodies)("with %s is refused before it costs much", async (_, raw, detail) => {
    const { status, body } = await call("POST", consumers, { raw })
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain(detail)
  })

  it("of one invalid text costs about as much as one that is refused without looking at the text", async () => {
    const text = "A".repeat(1_000_000)
    const measure = async (body: unknown): Promise<number> => {
      const raw = JSON.stringify(body)
      const started = performance.now()
      expect((await call("POST", consumers, { raw })).status).toBe(400)
      return performance.now() - started
    }
    let [unread, invalid] = [0, 0]
    for (let count = 0; count < 10; count++) {
      unread += await measure({ name: [text] })
      invalid += await measure({ name: text })
    }
    // Usually as much. It was 30 times as much when the characters of the text were listed and sorted.
    expect(invalid).toBeLessThan(unread * 8)
  })

  it("is parsed in a turn of its own, however many arrive at once", async () => {
    const raw = `{${Array.from({ length: 30_000 }, (_, index) => `"k${index}":1`).join()}}`
    const shares: Array<number> = []
    for (let count = 0; count < 2; count++) {
      const { longestCpu, totalCpu, result } = await measureTurns(() =>
        Promise.all(Array.from({ length: 6 }, () => call("POST", consumers, { raw })))
      )
      expect(result.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 400))
      shares.push(longestCpu / totalCpu)
    }
    // All six were parsed in one turn. A collection of garbage may fall into any.
    expect(Math.min(...shares)).toBeLessThan(0.5)
  }, 60_000)

  it("is too large where a body is always short, also without a credential", async () => {
    const raw = JSON.stringify({ key: "x".repeat(5_000) })
    const verify = consumers.replace("consumers", "$verify")
    expect(await call("POST", verify, { raw })).toMatchObject({ status: 413, body: { maxBytes: 4_096 } })
    expect((await call("POST", consumers, { raw })).status).toBe(400)
  })

  it("may have metadata with as many values as fit into 64 KiB", async () => {
    const metadata = { list: Array.from({ length: 32_000 }, () => 1) }
    expect((await call("POST", consumers, { body: { name: "many", metadata } })).status).toBe(200)
  })
})

describe("an error that authenticate throws", () => {
  it.each([
    ["of Tollgate", new ConsumerNotFound({ consumer: "internal-name" })],
    ["of the configuration", new ConfigurationError({ option: "secret", problem: "internal-name" })],
    ["of the application", new Error("internal-name")]
  ])("%s is a 500 that says nothing", async (_, error) => {
    const failing = await createTollgate({
      store: MemoryStore.open(),
      secret,
      authenticate: () => Promise.reject(error)
    })
    const response = await failing.handler(new Request(`http://gate${consumers}`))
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain("internal-name")
    await failing.close()
  })
})
