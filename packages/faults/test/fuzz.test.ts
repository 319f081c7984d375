/**
 * Random requests, made from the interface's own description: valid ones, nearly valid ones, and nonsense; on every
 * store. Never a 500, never a hang, and every answer is one that the description declares. A failure prints its seed.
 */
import { createTollgate, memorySourceStore, memoryTarget, type StoreOperations } from "@tollgate/core"
import { Ajv2020 } from "ajv/dist/2020.js"
import { describe, expect, it } from "vitest"
import { randomFrom, seedFrom } from "./random.ts"
import { openedFor, secret, stores } from "./stores.ts"

const token = "a-token-of-the-fuzzer-for-all"
const requests = Number(process.env["FUZZ_REQUESTS"] ?? 3000)
const seed = seedFrom("FUZZ_SEED")

// biome-ignore lint/suspicious/noExplicitAny: the description is JSON, of the OpenAPI specification's own shape
type Json = any

/** Sends the requests that a seed makes, one after the other, and counts the answers. */
const fuzz = async (store: StoreOperations) => {
  const gate = await createTollgate({
    store,
    secret,
    tokens: [{ token, account: "*" }],
    publicUrl: "http://gate",
    deployments: { sources: memorySourceStore(), target: memoryTarget() }
  })
  const description: Json = await (await gate.handler(new Request("http://gate/v1/openapi.json"))).json()
  const { random, chance, pick } = randomFrom(seed)
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(description, "description")

  /** Ids that were answered are used again, so that some requests find something. */
  const seen = ["alice", "acme", "b", "x"]
  const nasty: ReadonlyArray<unknown> = [
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
  const texts = () =>
    pick([...seen, "new", "pro", "2031-01-01T00:00:00Z", `n-${Math.floor(random() * 50)}`, "a@example.com"])

  const resolve = (schema: Json): Json =>
    schema?.$ref === undefined
      ? schema
      : schema.$ref
          .split("/")
          .slice(1)
          .reduce((node: Json, part: string) => node[part], description)

  const valueFor = (given: Json, depth = 0): unknown => {
    const schema = resolve(given) ?? {}
    if (chance(0.04) || depth > 6) return pick(nasty)
    const options = schema.anyOf ?? schema.oneOf
    if (options !== undefined) return valueFor(pick(options), depth + 1)
    if (schema.enum !== undefined) return pick(schema.enum)
    if (schema.const !== undefined) return schema.const
    const type = Array.isArray(schema.type) ? pick(schema.type) : schema.type
    if (type === "object" || schema.properties !== undefined) {
      const required: ReadonlyArray<string> = schema.required ?? []
      const entries = Object.entries<Json>(schema.properties ?? {})
        .filter(([name]) => (required.includes(name) ? !chance(0.05) : chance(0.4)))
        .map(([name, property]) => [name, valueFor(property, depth + 1)])
      if (entries.length === 0 || chance(0.03))
        entries.push([pick(["requests", "extra", "a b"]), pick([1, 2, { max: 5 }])])
      return Object.fromEntries(entries)
    }
    if (type === "array")
      return Array.from({ length: Math.floor(random() * 3) }, () => valueFor(schema.items, depth + 1))
    if (type === "integer" || type === "number") return pick([0, 1, 2, 10, 1000, 0.5, schema.minimum ?? 1])
    if (type === "boolean") return chance(0.5)
    if (type === "string" && schema.format === "date-time") return "2031-01-01T00:00:00.000Z"
    return texts()
  }

  const operations = Object.entries<Json>(description.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation }))
  )
  const remember = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return
    for (const [name, value] of Object.entries(node)) {
      if (typeof value === "string" && /^(id|name|key|planExternalId)$/.test(name) && value.length < 100)
        seen.push(value)
      else remember(value)
    }
    if (seen.length > 400) seen.splice(4, 100)
  }

  const statuses = new Map<number, number>()
  for (let count = 0; count < requests; count++) {
    const { path, method, operation } = pick(operations)
    const parameters: ReadonlyArray<Json> = operation.parameters ?? []
    const filled = path.replace(/\{(\w+)\}/g, (_, name) => {
      const known: Record<string, string> = { accountName: "acme", bucketName: "b", projectName: "p" }
      return encodeURIComponent(chance(0.9) && known[name] !== undefined ? known[name] : String(texts()))
    })
    const query = new URLSearchParams()
    for (const parameter of parameters.filter(({ in: place }) => place === "query")) {
      if (chance(0.3)) query.append(parameter.name, String(valueFor(parameter.schema)))
    }
    if (chance(0.05)) query.append(pick(["x", "limit", "tag.team", "tag."]), "1")
    const headers: Record<string, string> = { authorization: `Bearer ${chance(0.97) ? token : "nobody"}` }
    if (chance(0.2)) headers["if-match"] = pick(['"1"', "*", "x", '"5", "6"'])
    if (chance(0.1)) headers["idempotency-key"] = `k${Math.floor(random() * 5)}`
    const content = operation.requestBody?.content ?? {}
    const schema = content["application/json"]?.schema
    const body =
      method === "GET" || method === "DELETE"
        ? undefined
        : schema === undefined
          ? chance(0.5)
            ? "bytes"
            : undefined
          : JSON.stringify(valueFor(schema))
    const url = `http://gate${filled}${query.size > 0 ? `?${query}` : ""}`
    const told = `seed ${seed}, request ${count}: ${method} ${url} ${body?.slice(0, 300)}`

    const response = await gate.handler(new Request(url, { method, headers, ...(body === undefined ? {} : { body }) }))
    const text = await response.text()
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
    expect(response.status, told).not.toBe(500)
    const declared = operation.responses[response.status]
    // A name with a slash in it is another path, and may be nobody's.
    if (declared === undefined) {
      expect([404, 405], `${told}: ${response.status} is not declared`).toContain(response.status)
      continue
    }
    if (text === "") continue
    const type = response.headers.get("content-type") ?? ""
    const media = declared.content?.[type] ?? declared.content?.["application/json"]
    expect(media, `${told}: ${type} is not declared`).toBeDefined()
    const answer = JSON.parse(text)
    const pointer = `description#/paths/${path.replaceAll("~", "~0").replaceAll("/", "~1").replaceAll("{", "%7B").replaceAll("}", "%7D").replaceAll("$", "%24")}/${method.toLowerCase()}/responses/${response.status}/content/${(declared.content?.[type] === undefined ? "application/json" : type).replaceAll("/", "~1").replaceAll("+", "%2B")}/schema`
    const validate = ajv.getSchema(pointer) ?? ajv.compile({ $ref: pointer })
    expect(validate(answer), `${told}: ${JSON.stringify(validate.errors?.[0])} in ${text.slice(0, 300)}`).toBe(true)
    if (response.status === 200) remember(answer)
  }
  await gate.close()
  return statuses
}

describe.each(stores)("on %s", (name, layer) => {
  const emptyStore = openedFor(layer)

  it("no request is answered with what is not declared", async () => {
    const statuses = await fuzz(emptyStore())
    const told = [...statuses].sort(([left], [right]) => left - right).map(([status, count]) => `${status}: ${count}`)
    console.log(`fuzz, ${name}: seed ${seed}, ${requests} requests, answered with ${told.join(", ")}`)
    expect(statuses.get(200) ?? 0).toBeGreaterThan(requests / 20)
  }, 120_000)
})
