/**
 * Completes the generated OpenAPI description with what the schemas cannot express: types, bounds and defaults of
 * parameters, the tag parameters and the response headers.
 */

import { timestampPattern } from "@tollgate/store/internal"
import type { OperationDescription } from "./describeOperations.ts"
import { linesType } from "./withLines.ts"

interface Parameter {
  readonly name: string
  readonly in: string
  readonly [field: string]: unknown
}

/** What a parameter in a path is, by its name: `consumerName` is the name of the consumer. */
const describePathParameter = (name: string): string => {
  if (name === "bucketName") return "Name of the key bucket."
  if (name === "bucketId") return "Id of the metering bucket."
  const [, words = name, what = ""] = /^(\w+?)(Id|Name)$/.exec(name) ?? []
  const resource = words.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return `${what} of the ${resource}.`
}

/** HTTP headers are not case-sensitive. This one is usually written so. */
const headerNames: Readonly<Record<string, object>> = { "idempotency-key": { name: "Idempotency-Key" } }

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
  ...(status === "429" || status === "503" ? { "Retry-After": header("Seconds to wait before retrying.") } : {}),
  ...(status === "429"
    ? {
        "RateLimit-Policy": header("The rate limit or quota that refused the request."),
        RateLimit: header("What is left of it, and the seconds until the request can be repeated.")
      }
    : {})
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

/** Generators of clients take an object without properties to be empty unless it says that it may have any. */
const markOpenObjects = (node: Json): void => {
  if (typeof node !== "object" || node === null) return
  const hasShape = ["properties", "patternProperties", "additionalProperties"].some((name) => name in node)
  if (node.type === "object" && !hasShape) node.additionalProperties = true
  for (const child of Object.values(node)) markOpenObjects(child)
}

/** Authentication schemes are case-insensitive in HTTP, but OpenAPI tools expect them in lower case. */
const lowercaseSchemes = (spec: Json): void => {
  for (const scheme of Object.values<Json>(spec.components.securitySchemes)) {
    if (scheme.type === "http") scheme.scheme = scheme.scheme.toLowerCase()
  }
}

const getParameterDocs = ({ name, in: location }: Parameter, description: OperationDescription | undefined) =>
  location === "path"
    ? { description: description?.pathParameters[name] ?? describePathParameter(name) }
    : { ...description?.parameterDocs[name], ...headerNames[name] }

/** Completes the parameters, the response headers and the security schemes of the OpenAPI description. */
export const completeOpenApi = (spec: Json, descriptions: ReadonlyArray<OperationDescription>): Json => {
  markTimestamps(spec)
  markOpenObjects(spec)
  lowercaseSchemes(spec)
  spec.info.contact = { name: "The operator of this server" }
  for (const path of Object.values<Json>(spec.paths)) {
    for (const operation of Object.values<Json>(path)) {
      const description = descriptions.find(({ id }) => id === operation.operationId)
      if (description?.permission !== undefined) operation["x-permission"] = description.permission
      const narrow = Object.keys(description?.narrowPermissions ?? {})
      if (narrow.length > 0) operation["x-narrow-permissions"] = narrow
      if (description?.isBodyOptional === true) operation.requestBody.required = false
      if (description?.response.toCsv !== undefined) {
        operation.responses[description.response.status].content["text/csv"] = { schema: { type: "string" } }
      }
      if (description?.response.eventStream !== undefined) {
        operation.responses[description.response.status].content["text/event-stream"] = { schema: { type: "string" } }
      }
      if (description?.response.hasLines === true) {
        operation.responses[description.response.status].content[linesType] = { schema: { type: "string" } }
      }
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        response.headers = { ...getResponseHeaders(status), ...response.headers }
      }
      const parameters: ReadonlyArray<Parameter> = operation.parameters ?? []
      operation.parameters = [
        ...parameters.map((parameter) => ({ ...parameter, ...getParameterDocs(parameter, description) })),
        ...(description?.takesTags === true ? [tagParameters] : [])
      ]
    }
  }
  return spec
}
