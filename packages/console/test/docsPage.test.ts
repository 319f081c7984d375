/**
 * Tests the parts of the documentation page that need no browser.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { createTollgate } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { MemoryStore } from "@tollgate/memory"
import { Ajv2020 } from "ajv/dist/2020.js"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { clientModules, withAllModules } from "../../core/test/allModules.ts"
import { secret } from "../../core/test/stores.ts"
import { generateDocsPage, generatedModule } from "../../tools/src/buildDocsPage.ts"
import { type Description, getRequestBody, listOperations, makeResolve } from "../docs-page/description.ts"
import { makeExample } from "../docs-page/example.ts"
import { type Input, prepareRequest, toCurl } from "../docs-page/request.ts"
import { toTypeScript } from "../docs-page/typescript.ts"

const gate = await createTollgate({ ...withAllModules(), store: MemoryStore.open(), secret })
const description: Description = JSON.parse(
  await (await gate.handler(new Request("http://gate/v1/openapi.json"))).text()
)
await gate.close()

it("the generated module matches the page's sources (otherwise run npm run build:docs)", async () => {
  expect(readFileSync(generatedModule, "utf8")).toBe(await generateDocsPage())
})

const jsonOperations = listOperations(description).filter(
  ({ operation }) => getRequestBody(operation)?.[0] === "application/json"
)

it.each(jsonOperations.map((entry) => [entry.operation.operationId, entry] as const))(
  "the examples of %s match its schema",
  (id, { operation }) => {
    const [, schema] = getRequestBody(operation) ?? ["", {}]
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    const isValid = ajv.compile({ ...schema, components: description.components })
    for (const fields of ["required", "all"] as const) {
      const example = makeExample(makeResolve(description), fields)(schema)
      expect([id, example, isValid(example), isValid.errors]).toEqual([id, example, true, null])
    }
  }
)

const findOperation = (id: string) => {
  const entry = listOperations(description).find(({ operation }) => operation.operationId === id)
  if (entry === undefined) throw new Error(`There is no operation ${id}`)
  return entry
}

const toInputs = (entry: ReturnType<typeof findOperation>, values: Readonly<Record<string, string>>) =>
  (entry.operation.parameters ?? []).map((parameter) => ({ parameter, value: values[parameter.name] ?? "" }))

it("encodes the path and query, splits name=value lines, and omits empty inputs", () => {
  const entry = findOperation("consumers.list")
  const values = { accountName: "a/b", bucketName: "b c", limit: "5", tags: "tag.team=blue & green\n\ntag.size=1=2" }
  expect(prepareRequest("http://host/api", entry, toInputs(entry, values), undefined)).toEqual({
    method: "GET",
    url: "http://host/api/v1/accounts/a%2Fb/key-buckets/b%20c/consumers?limit=5&tag.team=blue%20%26%20green&tag.size=1%3D2",
    headers: {},
    body: undefined
  })
})

it("quotes the curl command so that a shell passes every value unchanged", () => {
  const entry = findOperation("consumers.create")
  const inputs = toInputs(entry, { accountName: "acme", bucketName: "b", "Idempotency-Key": "it's $HOME" })
  const body = '{\n  "name": "o\'neil `id` \\\\ $(id)"\n}'
  const request = prepareRequest("http://host", entry, inputs, { type: "application/json", body })
  const shell = `curl() { printf '%s\\0' "$@"; }\n${toCurl(request, true)}`
  const words = execFileSync("sh", ["-c", shell], { encoding: "utf8", env: { TOLLGATE_TOKEN: "the-token" } })
  expect(words.split("\0")).toEqual([
    "-X",
    "POST",
    "http://host/v1/accounts/acme/key-buckets/b/consumers",
    "-H",
    "Authorization: Bearer the-token",
    "-H",
    "Idempotency-Key: it's $HOME",
    "-H",
    "Content-Type: application/json",
    "--data-binary",
    body,
    ""
  ])
})

describe("the TypeScript of an operation", () => {
  const received: Array<{ readonly method: string; readonly url: URL; readonly body: string }> = []
  // Remembers each request, and answers none, so that calls reject.
  const server = createServer(async (req, res) => {
    const body = await text(req)
    received.push({ method: req.method ?? "", url: new URL(req.url ?? "", "http://host"), body })
    res.writeHead(500).end()
  })
  let baseUrl = ""
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  const metered = { bucketId: "bckt_0123456789abcdefghijklmn", accountName: "acme", projectName: "website" }
  const getName = (name: string): string => (metered as Readonly<Record<string, string>>)[name] ?? ""
  const resolve = makeResolve(description)
  const typed: Readonly<Record<string, string>> = {
    consumerName: "alice",
    "manager-email": "owner@example.com",
    month: "2026-11",
    groupBy: "key",
    day: ""
  }

  /** With all timestamps in the form that the client sends. */
  const normalize = (json: unknown): object =>
    JSON.parse(JSON.stringify(json), (_, value) =>
      typeof value === "string" && /^\d{4}-.*Z$/.test(value) ? new Date(value).toISOString() : value
    )

  /** A valid value for each parameter, as a person would type it. */
  const toInput = (parameter: Input["parameter"]): Input => {
    const { name, in: place, schema = {} } = parameter
    if (place === "header") return { parameter, value: name.toLowerCase() === "idempotency-key" ? "key-1" : "" }
    if (Object.hasOwn(typed, name)) return { parameter, value: typed[name] ?? "" }
    if (["after", "before", "tags", "include", "accountName"].includes(name) && place === "query")
      return { parameter, value: name === "tags" ? "tag.team=red=1" : "" }
    const example = getName(name) || String(makeExample(resolve, "all")({ ...schema, title: name } as never))
    return { parameter, value: place === "path" && example === "example" ? `an-${name}` : example }
  }

  const called = listOperations(description).flatMap((entry) => {
    const [, schema] = getRequestBody(entry.operation) ?? []
    const example = schema === undefined ? undefined : makeExample(resolve, "required")(schema)
    const body = JSON.stringify(example, (name, value) => getName(name) || value)
    const inputs = (entry.operation.parameters ?? []).map(toInput)
    const make = () => toTypeScript(entry, inputs, body, getName, baseUrl)
    return make() === undefined ? [] : [[entry.operation.operationId, { entry, inputs, body, make }] as const]
  })

  it("is there for all but those that clients have no method for", () => {
    const ids = new Set(called.map(([id]) => id))
    const missing = listOperations(description).flatMap(({ operation: { operationId } }) =>
      ids.has(operationId) ? [] : [operationId]
    )
    expect(missing).toEqual([
      "uploads.receive",
      "allSessions.list",
      "allSessions.removeAll",
      "allSessions.remove",
      "system.alive",
      "system.ready"
    ])
  })

  it.each(called)("of %s sends what the form sends", async (_, { entry, inputs, body, make }) => {
    const [, call = ""] = (make() ?? "").split("const result = ")
    const client = createClient({ baseUrl, token: "a-management-token", modules: clientModules })
    received.length = 0
    const run = new Function("client", `return (async () => { ${call} })()`) as (from: unknown) => Promise<unknown>
    const error: unknown = await run(client).then(
      () => undefined,
      (error: unknown) => error
    )
    const content = body === undefined ? undefined : { type: "application/json", body }
    const expected = prepareRequest(baseUrl, entry, inputs, content)
    const [request] = received
    expect([call, (error as Error | undefined)?.name, request?.method], String((error as Error)?.message)).toEqual([
      call,
      "ServerUnreachable",
      expected.method
    ])
    const url = new URL(expected.url)
    expect(request?.url.pathname).toBe(url.pathname)
    expect(normalize(Object.fromEntries(request?.url.searchParams ?? []))).toMatchObject(
      normalize(Object.fromEntries(url.searchParams))
    )
    if (body !== undefined)
      expect(normalize(JSON.parse(request?.body ?? ""))).toMatchObject(normalize(JSON.parse(body)))
  })

  it("says so while the body is not JSON, and writes a long body over several lines", () => {
    const entry = findOperation("consumers.create")
    const inputs = toInputs(entry, { accountName: "a'c\"me", bucketName: "b" })
    expect(toTypeScript(entry, inputs, "{", getName, "http://host")).toBe("// The body is not JSON yet.")
    const long = JSON.stringify({ name: "alice", description: 'with "quotes": '.repeat(6) })
    expect(toTypeScript(entry, inputs, long, getName, "http://host")).toContain(
      `client\n  .account("a'c\\"me")\n  .keyBucket("b")\n  .consumers.create({\n    name: "alice",\n    description: "with \\"quotes\\": `
    )
  })
})
