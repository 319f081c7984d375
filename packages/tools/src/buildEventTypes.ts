/**
 * Generates docs/reference/event-types.md: each type of event with an example, from the schemas of the events. A test fails when the
 * page does not match the schemas.
 */
import { writeFileSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { Event, eventCatalog } from "@tollgate/core/effect"
import { Schema } from "effect"

export const eventTypesPage = new URL("../../../docs/reference/event-types.md", import.meta.url)

/** The parts of JSON Schema that the schemas of events use. */
interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<string>
  readonly pattern?: string
  readonly minimum?: number
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly items?: JsonSchema
  readonly anyOf?: ReadonlyArray<JsonSchema>
}

/** Texts that a schema does not choose, by the name of the property. */
const texts: Readonly<Record<string, string>> = {
  accountName: "acme",
  name: "alice",
  label: "Pro",
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
  projectName: "web",
  branchName: "main",
  meteringBucketId: "bckt_4fGh7jKl0mNp3qRs6tUv9wXy",
  subscriptionId: "sbsc_4fGh7jKl0mNp3qRs6tUv9wXy",
  periodStart: "2026-11-01T00:00:00.000Z",
  resetsOn: "2026-12-01T00:00:00.000Z",
  message: ""
}
const numbers: Readonly<Record<string, number>> = { threshold: 0.8, used: 8_000, max: 10_000 }

const makeExample = (schema: JsonSchema, definitions: Readonly<Record<string, JsonSchema>>, name = ""): unknown => {
  if (schema.$ref !== undefined) {
    return makeExample(definitions[schema.$ref.split("/").at(-1) ?? ""] ?? {}, definitions, name)
  }
  const [, prefix] = /^\^([a-z]+)_\[/.exec(schema.pattern ?? "") ?? []
  if (prefix !== undefined) return `${prefix}_4fGh7jKl0mNp3qRs6tUv9wXy`
  if (schema.pattern?.startsWith("^(\\d{4})-") === true) return "2026-11-16T09:30:00.000Z"
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf?.[0] !== undefined) return makeExample(schema.anyOf[0], definitions, name)
  if (schema.type === "array") return [makeExample(schema.items ?? {}, definitions, name)]
  if (schema.type === "boolean") return false
  if (schema.type === "number" || schema.type === "integer") return numbers[name] ?? schema.minimum ?? 1
  if (schema.type === "string") return texts[name] ?? name
  const properties = Object.entries(schema.properties ?? {}).filter(([key]) => schema.required?.includes(key))
  const [pattern] = Object.values(schema.patternProperties ?? {})
  return Object.fromEntries([
    ...properties.map(([key, property]) => [key, makeExample(property, definitions, key)]),
    ...(pattern === undefined ? [] : [["requests", makeExample(pattern, definitions)]])
  ])
}

const makeExampleOf = (schema: Schema.Top): Record<string, unknown> => {
  const document = Schema.toJsonSchemaDocument(schema)
  return makeExample(
    document.schema as JsonSchema,
    document.definitions as Readonly<Record<string, JsonSchema>>
  ) as Record<string, unknown>
}

/** What makes the example of an event differ from that of its group. */
const differences: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "subscription.status_changed": { status: "canceled", previousStatus: "active" },
  "deployment.created": { state: "PENDING" },
  "deployment.succeeded": { state: "STARTED" },
  "deployment.failed": { state: "ERRORED", message: "build-failed" },
  "deployment.deleted": { state: "STARTED" },
  "webhook.disabled": { state: "disabled", disabledReason: "Every attempt failed for 5 days" }
}
const deploymentName = {
  name: "web-main-x7k2m9q4t1bn",
  label: "main",
  url: "https://sites.example/web-main-x7k2m9q4t1bn/"
}

const subjectTypes: Readonly<Record<string, string>> = { quota: "subscription" }
const systemEvents = ["quota.threshold_reached", "deployment.succeeded", "deployment.failed", "webhook.disabled"]

/** An example of an event, which its schema accepts. */
const makeEventExample = (type: string, data: Record<string, unknown>) => {
  const [group = ""] = type.split(".")
  const id = data["id"] ?? data["subscriptionId"] ?? data["name"]
  const subject = { type: subjectTypes[group] ?? group, id, ...("name" in data ? { name: data["name"] } : {}) }
  const actor = systemEvents.includes(type) ? { type: "system" } : { type: "token", id: "backend" }
  const event = { ...makeExampleOf(Event), type, actor, subject, data }
  Schema.decodeUnknownSync(Event)(event)
  return event
}

/** As the formatter of this repository writes it: a list of one text on one line. */
const formatJson = (value: unknown): string => JSON.stringify(value, null, 2).replace(/\[\s+("[^"]*")\s+\]/g, "[$1]")

export const generateEventTypes = (): string => {
  const sections = Object.entries(eventCatalog).map(([type, { description, data }]) => {
    const example = {
      ...makeExampleOf(data),
      ...(type.startsWith("deployment.") ? deploymentName : {}),
      ...differences[type]
    }
    Schema.decodeUnknownSync(data)(example)
    return `## ${type}\n\n${description}\n\n\`\`\`json\n${formatJson(makeEventExample(type, example))}\n\`\`\`\n`
  })
  return [
    "# Types of events",
    "",
    "<!-- Generated by packages/tools from the schemas of the events: run npm run build:docs. -->",
    "",
    "[Events and webhooks](../guides/events.md) explains them. `data` is the resource as a read shows it, after its deletion as it was last. Optional",
    "fields are left out of the examples.",
    "",
    ...sections
  ].join("\n")
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) writeFileSync(eventTypesPage, generateEventTypes())
