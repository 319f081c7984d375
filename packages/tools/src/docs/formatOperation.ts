/** Writes one operation of the HTTP API for the generated page. */
import { commonErrors, formatErrorLinks } from "./commonErrors.ts"
import { formatType, listFields } from "./formatType.ts"
import type { JsonSchema } from "./jsonSchema.ts"
import { formatCode, formatJson, formatTable, formatText } from "./markdown.ts"
import { getErrorCodes, type MediaType, type OperationAtPath, type Parameter } from "./openApiDocument.ts"
import { formatCalls } from "./operationCalls.ts"

/** A table of fields, without the column of meanings if no field has one. */
export const formatFields = (schema: JsonSchema): ReadonlyArray<string> => {
  const fields = listFields(schema)
  if (fields.length === 0) return []
  const hasMeanings = fields.some(({ description }) => description !== "")
  const rows = fields.map(({ name, type, description }) => [
    formatCode(name),
    type,
    ...(hasMeanings ? [description] : [])
  ])
  return [formatTable(["Field", "Type", ...(hasMeanings ? ["Meaning"] : [])], rows), ""]
}

const formatDefault = (schema: JsonSchema): string =>
  schema.default === undefined ? "" : ` Default: ${formatCode(schema.default)}.`

/** As it is usually written: `If-Match`, `ETag`, `RateLimit`. */
const formatHeaderName = (name: string): string =>
  name
    .replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
    .replace("Etag", "ETag")
    .replace("Ratelimit", "RateLimit")

const formatParameters = (parameters: ReadonlyArray<Parameter>): ReadonlyArray<string> => {
  if (parameters.length === 0) return []
  const rows = parameters.map(({ name, in: location, required, schema, description = "" }) => [
    formatCode(`${location === "header" ? formatHeaderName(name) : name}${required ? "" : "?"}`),
    location,
    formatType(schema),
    `${description}${formatDefault(schema)}`.trim()
  ])
  return [formatTable(["Parameter", "In", "Type", "Meaning"], rows), ""]
}

/** The items of a page, if the schema is that of a page of a list. */
const getPageItems = ({ properties = {} }: JsonSchema): JsonSchema | undefined =>
  ["limit", "offset", "total"].every((name) => name in properties) ? properties["data"]?.items : undefined

const formatBodyType = (schema: JsonSchema): string => {
  const items = getPageItems(schema)
  return items === undefined ? formatType(schema) : `a page of ${formatType(items)}`
}

/** Text, such as CSV, is shown as it is. */
const formatExample = (value: unknown): ReadonlyArray<string> => [
  typeof value === "string" ? formatText(value) : formatJson(value),
  ""
]

const formatExamples = ({ schema, example, examples = {} }: MediaType): ReadonlyArray<string> => [
  ...(example === undefined ? [] : formatExample(example)),
  ...Object.values(examples).flatMap(({ summary, value }) => [
    ...(summary === undefined ? [] : [`${summary}:`, ""]),
    ...formatExample(value)
  ]),
  ...(schema.examples ?? []).flatMap(formatExample)
]

/** The types of a body by content type, then the fields of objects without a name, then examples. */
const formatContent = (title: string, content: Readonly<Record<string, MediaType>>): ReadonlyArray<string> => {
  const types = Object.entries(content).map(([contentType, { schema }]) =>
    contentType === "application/json" ? formatBodyType(schema) : formatCode(contentType)
  )
  const media = Object.values(content)
  return [
    `${title} ${types.join(" or ")}`,
    "",
    ...media.flatMap(({ schema }) => (getPageItems(schema) === undefined ? formatFields(schema) : [])),
    ...media.flatMap(formatExamples)
  ]
}

/** Headers of every response are described once, at the top of the page. */
const formatHeaders = (headers: Readonly<Record<string, unknown>> = {}): string => {
  const names = Object.keys(headers).filter((name) => name.toLowerCase() !== "x-request-id")
  return names.length === 0 ? "" : `, with ${names.map((name) => formatCode(formatHeaderName(name))).join(", ")}`
}

const formatResponses = ({ responses }: OperationAtPath): ReadonlyArray<string> =>
  Object.entries(responses)
    .filter(([status]) => status < "300")
    .flatMap(([status, { content, headers }]) => {
      const title = `**Response ${status}**${formatHeaders(headers)}`
      return content === undefined ? [`${title}: no body`, ""] : formatContent(`${title}:`, content)
    })

export const formatOperation = (operation: OperationAtPath): string => {
  const { operationId, method, path, summary, description, parameters, requestBody, security } = operation
  const common = commonErrors.filter(({ includes }) => includes(operation)).flatMap(({ codes }) => codes)
  const errors = getErrorCodes(operation).filter((code) => !common.includes(code))
  return [
    `### ${operationId}`,
    "",
    `\`${method} ${path}\``,
    "",
    `${summary}.${security.length === 0 ? " Needs no token." : ""}`,
    "",
    ...(description === undefined ? [] : [description, ""]),
    ...formatCalls(operation),
    ...formatParameters(parameters),
    ...(requestBody === undefined
      ? []
      : formatContent(requestBody.required ? "**Body**:" : "**Body**, optional:", requestBody.content)),
    ...formatResponses(operation),
    ...(errors.length === 0 ? [] : [`**Errors**: ${formatErrorLinks(errors)}`, ""])
  ].join("\n")
}
