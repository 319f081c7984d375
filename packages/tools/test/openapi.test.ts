/**
 * The OpenAPI document as it is served: complete, with valid examples, and without a finding of an independent linter.
 */
import { describe, expect, it } from "@effect/vitest"
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Schema } from "effect"
import { descriptions } from "../../core/test/allModules.ts"
import { openGate } from "../src/docs/allModules.ts"

interface Content {
  readonly schema: object
  readonly example?: unknown
}

interface Body {
  readonly content?: Readonly<Record<string, Content>>
}

interface Described {
  readonly description?: string
}

interface Operation extends Described {
  readonly operationId: string
  readonly summary: string
  readonly parameters: ReadonlyArray<Described & { readonly name: string }>
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Body>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}

const gate = await openGate()
const source = await (await gate.handler(new Request("http://gate/v1/openapi.json"))).text()
await gate.close()
const document: Document = JSON.parse(source)

const operations = Object.values(document.paths).flatMap(Object.values<Operation>)

/** The bodies of a request and of successful responses. An archive is binary, and has no example. */
const listBodies = ({ requestBody, responses }: Operation): ReadonlyArray<readonly [type: string, Content]> =>
  [requestBody ?? {}, ...Object.entries(responses).flatMap(([status, body]) => (status < "300" ? [body] : []))]
    .flatMap(({ content = {} }) => Object.entries(content))
    .filter(([type]) => type !== "application/gzip")

const ajv = new Ajv2020({ strict: false, validateFormats: false })
const decodeStrictly = (schema: Schema.Top, value: unknown) =>
  Schema.decodeUnknownSync(schema as Schema.Codec<unknown>)(value, { onExcessProperty: "error" })

it("contains every operation", () => {
  expect(operations.map(({ operationId }) => operationId).sort()).toEqual(descriptions.map(({ id }) => id).sort())
})

it("says which lists refuse duplicates, and how long texts may be", () => {
  const accepts = (name: string, value: object) =>
    ajv.validate({ $ref: `#/components/schemas/${name}`, components: document.components }, value)
  for (const [list, isAccepted] of [
    [["a", "b"], true],
    [["a", "a"], false]
  ] as const) {
    expect(accepts("ApiKeyCreate", { scopes: list })).toBe(isAccepted)
    expect(accepts("ApiKeyUpdate", { scopes: list })).toBe(isAccepted)
    expect(accepts("ApiKeyImport", { hash: "0".repeat(64), algorithm: "sha256", scopes: list })).toBe(isAccepted)
    expect(accepts("SubscriptionUpdate", { planExternalIds: list })).toBe(isAccepted)
  }
  for (const [length, isAccepted] of [
    [256, true],
    [257, false]
  ] as const) {
    const text = "😀".repeat(length)
    expect(accepts("ConsumerCreate", { name: "alice", tags: { a: text } })).toBe(isAccepted)
    expect(accepts("PlanUpdate", { meters: { requests: { max: 1, label: text } } })).toBe(isAccepted)
  }
})

describe.each(operations.map((operation) => [operation.operationId, operation] as const))("%s", (id, operation) => {
  it("says more than its summary, and describes its parameters", () => {
    expect(operation.description).toMatch(/^[A-Z`].{30,}\.$/s)
    expect(operation.description).not.toBe(operation.summary)
    expect(operation.parameters.filter(({ description = "" }) => description === "")).toEqual([])
  })

  it("has an example of each body, which matches the schema in the document", () => {
    for (const [type, { schema, example }] of listBodies(operation)) {
      const isValid = ajv.compile({ ...schema, components: document.components })
      expect([type, example]).not.toEqual([type, undefined])
      expect([type, isValid(example), isValid.errors]).toEqual([type, true, null])
    }
  })

  it("has examples that its operation accepts and returns", () => {
    const described = descriptions.find((description) => description.id === id)
    const { status, body = Schema.Unknown } = described?.response ?? {}
    const request = operation.requestBody?.content?.["application/json"]
    const response = operation.responses[String(status)]?.content?.["application/json"]
    if (request !== undefined) decodeStrictly(described?.payload as Schema.Top, request.example)
    if (response === undefined) return
    const value = decodeStrictly(body, response.example)
    // As the server writes it, also with the same precision of dates.
    expect(Schema.encodeUnknownSync(body)(value)).toEqual(response.example)
  })
})

it("passes the strict rules of Redocly", async () => {
  const config = await createConfig({
    extends: ["recommended-strict"],
    rules: {
      "operation-description": "error",
      "parameter-description": "error",
      "operation-operationId-unique": "error",
      "operation-tag-defined": "error",
      "no-invalid-media-type-examples": "error",
      "no-invalid-schema-examples": "error",
      "no-required-schema-properties-undefined": "error",
      "no-schema-type-mismatch": "error"
    }
  })
  const findings = await lintFromString({ source, absoluteRef: "openapi.json", config })
  expect(findings.map(({ ruleId, message, location }) => [ruleId, location[0]?.pointer, message])).toEqual([])
})
