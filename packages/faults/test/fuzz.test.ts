/**
 * Sends random requests, generated from the OpenAPI document: valid, nearly valid and malformed ones, on every store.
 * No request hangs or gets a 500, and the document declares every response. A failure prints its seed; set `FUZZ_SEED`
 * to repeat it.
 */
import { createTollgate } from "@tollgate/core"
import { deployments, memorySourceStore, memoryTarget } from "@tollgate/deployments"
import type { StoreOperations } from "@tollgate/store"
import { Ajv2020 } from "ajv/dist/2020.js"
import { describe, expect, it } from "vitest"
import { makeRandom, readSeed } from "./random.ts"
import { getShare, isComplete } from "./sample.ts"
import { secret, setUpStore, stores } from "./stores.ts"

const token = "a-token-of-the-fuzzer-for-all"
const requestsInAll = Number(process.env["FUZZ_REQUESTS"] ?? 3000)
const seed = readSeed("FUZZ_SEED")

// biome-ignore lint/suspicious/noExplicitAny: the OpenAPI document is read without a schema
type Json = any

/** Sends the requests one after the other, and counts the responses by status. */
const sendRequests = async (store: StoreOperations, requests: number) => {
  const gate = await createTollgate({
    store,
    secret,
    tokens: [{ token, account: "*" }],
    publicUrl: "http://gate",
    modules: [deployments({ sources: memorySourceStore(), target: memoryTarget() })]
  })
  const openApi: Json = await (await gate.handler(new Request("http://gate/v1/openapi.json"))).json()
  const { random, chance, pick } = makeRandom(seed)
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(openApi, "openApi")

  /** Values from earlier responses are reused, so that some requests refer to existing records. */
  const seenValues = ["alice", "acme", "b", "x"]
  const malformedValues: ReadonlyArray<unknown> = [
    "",
    "a\u0000b",
    "\ud800",
    "ü".repeat(40),
    "x".repeat(5000),
    -1,
    0,
    1e308,
    2 ** 53,
    null,
    true,
    [],
    {},
    [[[]]],
    { __proto__x: 1 },
    "2026-02-30T00:00:00Z",
    "constructor"
  ]
  const makeString = () =>
    pick([...seenValues, "new", "pro", "2031-01-01T00:00:00Z", `n-${Math.floor(random() * 50)}`, "a@example.com"])

  const resolve = (schema: Json): Json =>
    schema?.$ref === undefined
      ? schema
      : schema.$ref
          .split("/")
          .slice(1)
          .reduce((node: Json, part: string) => node[part], openApi)

  const makeValue = (schemaOrRef: Json, depth = 0): unknown => {
    const schema = resolve(schemaOrRef) ?? {}
    if (chance(0.04) || depth > 6) return pick(malformedValues)
    const options = schema.anyOf ?? schema.oneOf
    if (options !== undefined) return makeValue(pick(options), depth + 1)
    if (schema.enum !== undefined) return pick(schema.enum)
    if (schema.const !== undefined) return schema.const
    const type = Array.isArray(schema.type) ? pick(schema.type) : schema.type
    if (type === "object" || schema.properties !== undefined) {
      const required: ReadonlyArray<string> = schema.required ?? []
      const entries = Object.entries<Json>(schema.properties ?? {})
        .filter(([name]) => (required.includes(name) ? !chance(0.05) : chance(0.4)))
        .map(([name, property]) => [name, makeValue(property, depth + 1)])
      if (entries.length === 0 || chance(0.03))
        entries.push([pick(["requests", "extra", "a b"]), pick([1, 2, { max: 5 }])])
      return Object.fromEntries(entries)
    }
    if (type === "array")
      return Array.from({ length: Math.floor(random() * 3) }, () => makeValue(schema.items, depth + 1))
    if (type === "integer" || type === "number") return pick([0, 1, 2, 10, 1000, 0.5, schema.minimum ?? 1])
    if (type === "boolean") return chance(0.5)
    if (type === "string" && schema.format === "date-time") return "2031-01-01T00:00:00.000Z"
    return makeString()
  }

  const operations = Object.entries<Json>(openApi.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation }))
  )
  const collectValues = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return
    for (const [name, value] of Object.entries(node)) {
      if (typeof value === "string" && /^(id|name|key|planExternalId)$/.test(name) && value.length < 100)
        seenValues.push(value)
      else collectValues(value)
    }
    if (seenValues.length > 400) seenValues.splice(4, 100)
  }

  const statuses = new Map<number, number>()
  for (let count = 0; count < requests; count++) {
    const { path, method, operation } = pick(operations)
    const parameters: ReadonlyArray<Json> = operation.parameters ?? []
    const pathname = path.replace(/\{(\w+)\}/g, (_, name) => {
      const fixedNames: Record<string, string> = { accountName: "acme", bucketName: "b", projectName: "p" }
      return encodeURIComponent(chance(0.9) && fixedNames[name] !== undefined ? fixedNames[name] : String(makeString()))
    })
    const query = new URLSearchParams()
    for (const parameter of parameters.filter(({ in: location }) => location === "query")) {
      if (chance(0.3)) query.append(parameter.name, String(makeValue(parameter.schema)))
    }
    if (chance(0.05)) query.append(pick(["x", "limit", "tag.team", "tag."]), "1")
    const headers: Record<string, string> = { authorization: `Bearer ${chance(0.97) ? token : "unknown-token"}` }
    if (chance(0.2)) headers["if-match"] = pick(['"1"', "*", "x", '"5", "6"'])
    if (chance(0.1)) headers["idempotency-key"] = `k${Math.floor(random() * 5)}`
    const content = operation.requestBody?.content ?? {}
    const schema = content["application/json"]?.schema
    const makeBody = (): string | undefined => {
      if (method === "GET" || method === "DELETE") return undefined
      if (schema === undefined) return chance(0.5) ? "bytes" : undefined
      return JSON.stringify(makeValue(schema))
    }
    const body = makeBody()
    const url = `http://gate${pathname}${query.size > 0 ? `?${query}` : ""}`
    const label = `seed ${seed}, request ${count}: ${method} ${url} ${body?.slice(0, 300)}`

    const response = await gate.handler(new Request(url, { method, headers, ...(body === undefined ? {} : { body }) }))
    const text = await response.text()
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
    expect(response.status, label).not.toBe(500)
    const declared = operation.responses[response.status]
    // A name that contains a slash leads to another path, which may not exist.
    if (declared === undefined) {
      expect([404, 405], `${label}: ${response.status} is not declared`).toContain(response.status)
      continue
    }
    if (text === "") continue
    const type = response.headers.get("content-type") ?? ""
    const media = declared.content?.[type] ?? declared.content?.["application/json"]
    expect(media, `${label}: ${type} is not declared`).toBeDefined()
    const json = JSON.parse(text)
    const pointer = `openApi#/paths/${path.replaceAll("~", "~0").replaceAll("/", "~1").replaceAll("{", "%7B").replaceAll("}", "%7D").replaceAll("$", "%24")}/${method.toLowerCase()}/responses/${response.status}/content/${(declared.content?.[type] === undefined ? "application/json" : type).replaceAll("/", "~1").replaceAll("+", "%2B")}/schema`
    const validate = ajv.getSchema(pointer) ?? ajv.compile({ $ref: pointer })
    expect(validate(json), `${label}: ${JSON.stringify(validate.errors?.[0])} in ${text.slice(0, 300)}`).toBe(true)
    if (response.status === 200) collectValues(json)
  }
  await gate.close()
  return statuses
}

describe.each(stores)("on %s", (name, layer) => {
  const makeEmptyStore = setUpStore(layer)

  it("every response is declared in the OpenAPI document", async () => {
    const requests = Math.round(requestsInAll * (isComplete ? 1 : getShare(name)))
    const statuses = await sendRequests(makeEmptyStore(), requests)
    const counts = [...statuses].sort(([left], [right]) => left - right).map(([status, count]) => `${status}: ${count}`)
    console.log(`fuzz, ${name}: seed ${seed}, ${requests} requests; responses by status: ${counts.join(", ")}`)
    expect(statuses.get(200) ?? 0).toBeGreaterThan(requests / 20)
  }, 120_000)
})
