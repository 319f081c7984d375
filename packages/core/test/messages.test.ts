/**
 * What errors for invalid input say: in words, and what to pass instead.
 */
import { afterAll, assert, describe, expect, it } from "@effect/vitest"
import { createTollgate, MeteringBucketNotFound } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import type { Schema, SchemaAST } from "effect"
import { getInProcessFields } from "../src/api/parameters.ts"
import { descriptions, memoryDeployments } from "./allModules.ts"
import { secret } from "./stores.ts"

/** The filters of a schema and of all that it contains, in process and on the wire. */
const collectFilters = (
  ast: SchemaAST.AST,
  seen = new Set<SchemaAST.AST>()
): ReadonlyArray<SchemaAST.Filter<unknown>> => {
  if (seen.has(ast)) return []
  seen.add(ast)
  const toFilters = (check: SchemaAST.Check<unknown>): ReadonlyArray<SchemaAST.Filter<unknown>> =>
    check._tag === "Filter" ? [check] : check.checks.flatMap(toFilters)
  const getChildren = (): ReadonlyArray<SchemaAST.AST> => {
    switch (ast._tag) {
      case "Objects":
        return [
          ...ast.propertySignatures.map(({ type }) => type),
          ...ast.indexSignatures.flatMap(({ parameter, type }) => [parameter, type])
        ]
      case "Arrays":
        return [...ast.elements, ...ast.rest]
      case "Union":
        return ast.types
      case "Declaration":
        return ast.typeParameters
      case "TemplateLiteral":
        return ast.parts
      case "Suspend":
        return [ast.thunk()]
      default:
        return []
    }
  }
  const encoded = (ast.encoding ?? []).map(({ to }) => to)
  return [
    ...(ast.checks ?? []).flatMap(toFilters),
    ...[...getChildren(), ...encoded].flatMap((child) => collectFilters(child, seen))
  ]
}

describe("the messages of all operations", () => {
  it("have no regular expressions", () => {
    const messages = descriptions.flatMap(({ id, params, query, headers, payload, response, errors }) => {
      const fields = { ...getInProcessFields(query), ...getInProcessFields(headers) } as Record<string, Schema.Top>
      const schemas = [params, query, headers, payload, response.body, ...errors, ...Object.values(fields)]
      return schemas
        .flatMap((schema) => (schema === undefined || schema === "stream" ? [] : collectFilters(schema.ast)))
        .map(({ annotations }) => `${id}: ${annotations?.["message"] ?? annotations?.["expected"]}`)
    })
    expect(messages).toContain("consumers.create: 1 to 128 lower-case letters, digits and hyphens (a-z 0-9 -)")
    expect(messages.filter((message) => /RegExp|\^|\]\{|\\/.test(message))).toEqual([])
  })
})

describe("an error for invalid input", async () => {
  const gate = await createTollgate({
    store: MemoryStore.open(),
    secret,
    publicUrl: "http://gate",
    modules: [memoryDeployments()]
  })
  afterAll(() => gate.close())
  const acme = gate.account("acme")
  const production = acme.keyBucket("production")
  const billing = await acme.meteringBuckets.ensure("default")

  const expectMessage = async (call: () => unknown, message: string) => {
    try {
      await call()
    } catch (error) {
      return assert.strictEqual((error as Error).message, message)
    }
    assert.fail("the call must fail")
  }
  const createPlan = (fields: object) => () =>
    billing.plans.create({ label: "Pro", planExternalId: "pro", meters: { requests: { max: 5 } }, ...fields })

  it("says in words what a name must be", async () => {
    const pathName = "Expected 1 to 128 of the characters A-Z a-z 0-9 _ . -, beginning with a letter or a digit"
    await expectMessage(() => gate.account("Acme Corp"), `accountName: ${pathName}`)
    await expectMessage(() => acme.keyBucket("a b"), `bucketName: ${pathName}`)
    await expectMessage(() => acme.project("a b"), `projectName: ${pathName}`)
    await expectMessage(() => acme.meteringBuckets.ensure("a b"), `name: ${pathName}`)
    await expectMessage(
      () => production.consumers.create({ name: "Alice" }),
      "/name: Expected 1 to 128 lower-case letters, digits and hyphens (a-z 0-9 -)"
    )
  })

  it("says of a key that it is not a name, and not that the field is unknown", async () => {
    const name = "Expected a name of 1 to 64 of the characters A-Z a-z 0-9 _ . -"
    await expectMessage(createPlan({ meters: { "a b": { max: 5 } } }), `/meters/a b: ${name}`)
    await expectMessage(createPlan({ rateLimits: { "a b": { limit: 1, per: "day" } } }), `/rateLimits/a b: ${name}`)
    await expectMessage(() => production.consumers.create({ name: "alice", tags: { "a b": 1 } }), `/tags/a b: ${name}`)
    await expectMessage(() => production.consumers.list({ tags: { "a b": "1" } }), `tags.a b: ${name}`)
    await expectMessage(() => billing.usage.consume("sbsc_1", { "a b": 1 }), `/meters/a b: ${name}`)
  })

  it("shows the object that a plan needs", async () => {
    const meter = 'must be an object such as { "max": 1000 }'
    const rateLimit = 'must be an object such as { "limit": 10, "per": "second" }'
    await expectMessage(createPlan({ meters: { requests: 5 } }), `/meters/requests: ${meter}`)
    await expectMessage(createPlan({ meters: 5 }), '/meters: must be an object such as { "requests": { "max": 1000 } }')
    await expectMessage(createPlan({ rateLimits: { requests: 5 } }), `/rateLimits/requests: ${rateLimit}`)
    await expectMessage(
      createPlan({ rateLimits: [{ name: "requests", limit: 10, per: "second" }] }),
      '/rateLimits: must be an object such as { "requests": { "limit": 10, "per": "second" } }'
    )
  })

  it("says which fields of a meter belong together", async () => {
    const create = (meter: object) => () =>
      billing.plans.create({ label: "pro", meters: { calls: { max: 1, ...meter } } })
    await expectMessage(create({ overageMax: 5 }), "/meters/calls/overageMax: needs isSoftLimit: true")
    await expectMessage(
      create({ period: "fortnight" }),
      '/meters/calls/period: must be "hour", "day", "week", "month", "year" or "none"'
    )
  })

  it("says of a name in the path of a metering bucket how to find its id", async () => {
    const { message } = new MeteringBucketNotFound({ bucketId: "default" })
    assert.include(
      message,
      'ids begin with "bckt_". In process, meteringBucket("default") finds a metering bucket by its name'
    )
    assert.include(message, "over HTTP, GET /v1/metering?name=default does")
    await expectMessage(
      () => acme.meteringBucket({ name: "default" } as never),
      "meteringBucketId: must be the name or the id of a metering bucket, a string"
    )
    await expectMessage(() => acme.meteringBucket("bckt_1").plans.list(), 'Metering bucket "bckt_1" does not exist')
  })

  it("says how to find the id of a subscription", async () => {
    const customer = { customerKey: "alice" } as never
    const message =
      "subscriptionId: must be the id of a subscription, a string; find it with subscriptions.list({ customerKey })"
    await expectMessage(() => billing.usage.consume(customer, { requests: 1 }), message)
    await expectMessage(() => billing.usage.quotas(customer), message)
    await expectMessage(() => billing.subscriptions.get(customer), message)
    await expectMessage(
      () => billing.usage.consume("alice", { requests: 1 }),
      'No subscription has the id "alice": ids begin with "sbsc_". List the subscriptions of a customer by ' +
        "`customerKey` to find the id."
    )
  })
})
