/**
 * Makes examples of values from their schemas, for the generated pages.
 */
import { Schema } from "effect"
import { getRefName, isTimestamp, type JsonSchema } from "./jsonSchema.ts"

/** Texts that a schema does not choose, by the name of the property. */
const texts: Readonly<Record<string, string>> = {
  accountName: "acme",
  name: "alice",
  label: "Pro",
  consumer: "alice",
  planId: "plan_4fGh7jKl0mNp3qRs6tUv9wXy",
  planExternalId: "pro",
  planExternalIds: "pro",
  customerKey: "alice",
  customerExternalId: "customer-7",
  subscriptionExternalId: "order-42",
  meter: "requests",
  url: "https://example.com/hooks",
  events: "consumer.*",
  urlParameter: "web-main-x7k2m9q4t1bn",
  loggingId: "acme::web::main::web-main-x7k2m9q4t1bn",
  deployment: "web-main-x7k2m9q4t1bn",
  statusId: "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
  projectName: "web",
  branchName: "main",
  bucketId: "bckt_4fGh7jKl0mNp3qRs6tUv9wXy",
  meteringBucketId: "bckt_4fGh7jKl0mNp3qRs6tUv9wXy",
  meteringBucketName: "production",
  subscriptionId: "sbsc_4fGh7jKl0mNp3qRs6tUv9wXy",
  reservationId: "rsv_4fGh7jKl0mNp3qRs6tUv9wXy",
  webhookId: "whk_4fGh7jKl0mNp3qRs6tUv9wXy",
  deliveryId: "dlv_4fGh7jKl0mNp3qRs6tUv9wXy",
  periodStart: "2026-11-01T00:00:00.000Z",
  resetsOn: "2026-12-01T00:00:00.000Z",
  reason: "Failed job 17",
  message: ""
}
const numbers: Readonly<Record<string, number>> = {
  threshold: 0.8,
  amount: -20,
  used: 8_000,
  usedShare: 0.8,
  remaining: 2_000,
  overage: 0,
  max: 10_000,
  maxBytes: 1_048_576,
  retryAfterMs: 1_500
}

const makeExample = (schema: JsonSchema, definitions: Readonly<Record<string, JsonSchema>>, name = ""): unknown => {
  if (schema.$ref !== undefined) return makeExample(definitions[getRefName(schema)] ?? {}, definitions, name)
  const [, prefix] = /^\^([a-z]+)_\[/.exec(schema.pattern ?? "") ?? []
  if (prefix !== undefined) return `${prefix}_4fGh7jKl0mNp3qRs6tUv9wXy`
  if (isTimestamp(schema.pattern ?? "")) return texts[name] ?? "2026-11-16T09:30:00.000Z"
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf?.[0] !== undefined) return makeExample(schema.anyOf[0], definitions, name)
  if (schema.type === "array") return [makeExample(schema.items ?? {}, definitions, name)]
  if (schema.type === "boolean") return false
  if (schema.type === "number" || schema.type === "integer") return numbers[name] ?? schema.minimum ?? 1
  if (schema.type === "string") return texts[name] ?? name
  const all = Object.entries(schema.properties ?? {})
  const required = all.filter(([key]) => schema.required?.includes(key))
  const { minProperties = 0 } = schema
  const properties = required.length < minProperties ? all.slice(0, minProperties) : required
  const [pattern] = Object.values(schema.patternProperties ?? {})
  return Object.fromEntries([
    ...properties.map(([key, property]) => [key, makeExample(property, definitions, key)]),
    ...(pattern === undefined ? [] : [["requests", makeExample(pattern, definitions)]])
  ])
}

/** An example of what a schema of an object accepts, without its optional fields. */
export const makeExampleOf = (schema: Schema.Top): Record<string, unknown> => {
  const document = Schema.toJsonSchemaDocument(schema)
  return makeExample(
    document.schema as JsonSchema,
    document.definitions as Readonly<Record<string, JsonSchema>>
  ) as Record<string, unknown>
}
