/**
 * Tests the parts of the documentation page that need no browser.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Ajv2020 } from "ajv/dist/2020.js"
import { expect, it } from "vitest"
import { generateDocsPage, generatedModule } from "../../tools/src/buildDocsPage.ts"
import { type Description, getRequestBody, listOperations, makeResolve } from "../docs-page/description.ts"
import { makeExample } from "../docs-page/example.ts"
import { prepareRequest, toCurl } from "../docs-page/request.ts"
import { secret } from "./stores.ts"

const gate = await createTollgate({ store: MemoryStore.open(), secret })
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
