/**
 * What a schema cannot say of a query parameter: that its text is a number or a boolean, its bounds, its default, and
 * that tags are parameters of their own; and of the headers that answers have because of their status.
 */
import { maxLimit } from "../schema/Page.ts"
import { timestampPattern } from "../schema/Timestamp.ts"

interface Parameter {
  readonly name: string
  readonly in: string
  readonly [field: string]: unknown
}

const booleanFlag = (description: string) => ({ schema: { type: "boolean", default: false }, description })

const parameterDocs: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  limit: {
    schema: { type: "integer", format: "uint32", minimum: 1, maximum: maxLimit, default: maxLimit },
    description: "How many to answer; more than the maximum counts as the maximum."
  },
  offset: {
    schema: { type: "integer", format: "uint32", minimum: 0, default: 0 },
    description: "How many to leave out, from the oldest."
  },
  "with-api-key": booleanFlag("Make a key together with the consumer, if the body asks for none."),
  "include-api-keys": booleanFlag(
    "Include the keys: the first 1,000 of one consumer; in a list, the first 100 of each consumer, until there are 1,000 in all. " +
      "Consumers after that come without `apiKeys`."
  ),
  "include-managers": booleanFlag("Include the managers."),
  "include-manager-invites": booleanFlag("Include the invites that managers were sent."),
  "key-format": {
    schema: { type: "string", enum: ["none", "visible", "masked"], default: "masked" },
    description: "How much of a key's value to show."
  },
  "manager-email": {
    schema: { type: "string", format: "email" },
    description: "Only consumers with a manager or an invite of this address, without regard to case."
  },
  accountName: { description: "Only the metering buckets of this account." },
  "if-match": { description: "Only if the resource still has one of these ETags." }
}

const tags: Parameter = {
  name: "tags",
  in: "query",
  required: false,
  style: "form",
  explode: true,
  schema: {
    type: "object",
    additionalProperties: { type: "string" },
    propertyNames: { pattern: "^tag\\.[A-Za-z0-9_.-]{1,64}$" }
  },
  description: "`tag.<property>=<value>`, any number of them: on a list a filter, elsewhere a guard; all must match."
}

const idempotencyKey: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  schema: { type: "string", minLength: 1, maxLength: 255 },
  description: "The same key and body again within a day gives the first answer, and does nothing twice."
}

const header = (description: string) => ({ schema: { type: "string" }, description })

/** The headers that an answer has because of its status, whatever was asked. */
const headersFor = (status: string) => ({
  "X-Request-Id": header("The request's name, its caller's own if it had one; it is in every line of the log."),
  ...(status === "401" ? { "WWW-Authenticate": header("How to authenticate: `Bearer`.") } : {}),
  ...(status === "429" || status === "503" ? { "Retry-After": header("When to try again, in seconds.") } : {})
})

/** Operations that take tags. */
const takesTags = new Set([
  "consumers.list",
  "consumers.get",
  "consumers.update",
  "consumers.remove",
  "consumers.rollKey",
  "keys.get",
  "keys.update",
  "keys.remove"
])

/** Operations that make something. */
const idempotentOperations = new Set([
  "consumers.create",
  "consumers.rollKey",
  "keys.create",
  "keys.createMany",
  "buckets.create",
  "plans.create",
  "subscriptions.create",
  "subscriptions.consume",
  "deployments.createSource",
  "deployments.deploy"
])

/** Operations whose body may be left out, since every field of it may. */
const optionalBodyOperations = new Set([
  "consumers.update",
  "keys.create",
  "keys.createMany",
  "keys.update",
  "buckets.create",
  "plans.update",
  "subscriptions.update"
])

// biome-ignore lint/suspicious/noExplicitAny: the description is JSON, of the OpenAPI specification's own shape
type Json = any

/** Texts with a date's pattern are date-times, wherever they stand. */
const markTimestamps = (node: Json): void => {
  if (typeof node !== "object" || node === null) return
  const patterns = [node.pattern, ...(Array.isArray(node.allOf) ? node.allOf.map((part: Json) => part?.pattern) : [])]
  if (patterns.includes(timestampPattern)) node.format = "date-time"
  for (const child of Object.values(node)) markTimestamps(child)
}

/** Schemes are case-insensitive in HTTP, but tools compare them with the lower-case names of the OpenAPI specification. */
const lowerSchemes = (spec: Json): void => {
  for (const scheme of Object.values<Json>(spec.components.securitySchemes)) {
    if (scheme.type === "http") scheme.scheme = scheme.scheme.toLowerCase()
  }
}

/** Completes the parameters, the headers and the security schemes of the whole description. */
export const completeDescription = (spec: Json): Json => {
  markTimestamps(spec)
  lowerSchemes(spec)
  for (const path of Object.values<Json>(spec.paths)) {
    for (const operation of Object.values<Json>(path)) {
      if (optionalBodyOperations.has(operation.operationId)) operation.requestBody.required = false
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        response.headers = { ...headersFor(status), ...response.headers }
      }
      const parameters: ReadonlyArray<Parameter> = operation.parameters ?? []
      operation.parameters = [
        ...parameters.map((parameter) => ({ ...parameter, ...parameterDocs[parameter.name] })),
        ...(takesTags.has(operation.operationId) ? [tags] : []),
        ...(idempotentOperations.has(operation.operationId) ? [idempotencyKey] : [])
      ]
    }
  }
  return spec
}
