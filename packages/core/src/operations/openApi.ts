/**
 * Completes the generated OpenAPI description with what the schemas cannot express: types, bounds and defaults of
 * parameters, the tag parameters and the response headers.
 */
import type { OperationDescription } from "../api/describeOperations.ts"
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
    description: "Maximum number of items to return. Larger values are reduced to the maximum."
  },
  offset: {
    schema: { type: "integer", format: "uint32", minimum: 0, default: 0 },
    description: "Number of items to skip. Items are sorted by creation date, oldest first."
  },
  "with-api-key": booleanFlag("Create an API key with the consumer, unless the body contains `apiKeys`."),
  "include-api-keys": booleanFlag(
    "Include the API keys: the first 1,000 of a single consumer; in a list, the first 100 of each consumer, up to 1,000 in total. " +
      "Consumers beyond that total have no `apiKeys`."
  ),
  "include-managers": booleanFlag("Include the managers."),
  "include-manager-invites": booleanFlag("Include the manager invites."),
  "key-format": {
    schema: { type: "string", enum: ["none", "visible", "masked"], default: "masked" },
    description: "How to return key values: not at all, in plain text, or masked."
  },
  "manager-email": {
    schema: { type: "string", format: "email" },
    description: "Return only consumers with a manager or an invite for this email address (case-insensitive)."
  },
  accountName: { description: "Return only the metering buckets of this account." },
  name: { description: "Return only the metering bucket with this name." },
  "idempotency-key": {
    name: "Idempotency-Key",
    schema: { type: "string", minLength: 1, maxLength: 255 },
    description:
      "Makes retries safe: a request with the same key and body within 24 hours returns the first response and is not applied again."
  },
  "if-match": {
    schema: { type: "string" },
    description: "Apply the change only if the resource still has one of these ETags."
  }
}

const pathParameterDocs: typeof parameterDocs = {
  accountName: { description: "Name of the account." }
}

const tagParameters: Parameter = {
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
  description:
    "Any number of `tag.<property>=<value>` parameters. A list returns only the items whose tags all match; " +
    "other operations respond with 404 unless all tags match."
}

const header = (description: string) => ({ schema: { type: "string" }, description })

/** The headers that every response with a status has. */
const getResponseHeaders = (status: string) => ({
  "X-Request-Id": header(
    "ID of the request: the one that the client sent, or a generated one. It is in every log line."
  ),
  ...(status === "401" ? { "WWW-Authenticate": header("Authentication scheme: `Bearer`.") } : {}),
  ...(status === "429" || status === "503" ? { "Retry-After": header("Seconds to wait before retrying.") } : {})
})

// biome-ignore lint/suspicious/noExplicitAny: the OpenAPI description is JSON in the shape of the OpenAPI specification
type Json = any

/** Adds `format: date-time` to every string schema with the timestamp pattern. */
const markTimestamps = (node: Json): void => {
  if (typeof node !== "object" || node === null) return
  const patterns = [node.pattern, ...(Array.isArray(node.allOf) ? node.allOf.map((part: Json) => part?.pattern) : [])]
  if (patterns.includes(timestampPattern)) node.format = "date-time"
  for (const child of Object.values(node)) markTimestamps(child)
}

/** Authentication schemes are case-insensitive in HTTP, but OpenAPI tools expect them in lower case. */
const lowercaseSchemes = (spec: Json): void => {
  for (const scheme of Object.values<Json>(spec.components.securitySchemes)) {
    if (scheme.type === "http") scheme.scheme = scheme.scheme.toLowerCase()
  }
}

const getParameterDocs = (parameter: Parameter) =>
  (parameter.in === "path" ? pathParameterDocs : parameterDocs)[parameter.name]

/** Completes the parameters, the response headers and the security schemes of the OpenAPI description. */
export const completeOpenApi = (spec: Json, descriptions: ReadonlyArray<OperationDescription>): Json => {
  markTimestamps(spec)
  lowercaseSchemes(spec)
  for (const path of Object.values<Json>(spec.paths)) {
    for (const operation of Object.values<Json>(path)) {
      const description = descriptions.find(({ id }) => id === operation.operationId)
      if (description?.isBodyOptional === true) operation.requestBody.required = false
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        response.headers = { ...getResponseHeaders(status), ...response.headers }
      }
      const parameters: ReadonlyArray<Parameter> = operation.parameters ?? []
      operation.parameters = [
        ...parameters.map((parameter) => ({ ...parameter, ...getParameterDocs(parameter) })),
        ...(description?.takesTags === true ? [tagParameters] : [])
      ]
    }
  }
  return spec
}
