/**
 * Generates docs/reference/errors.md from the declarations of the errors.
 */
import { STATUS_CODES } from "node:http"
import { encodeProblem } from "@tollgate/store/internal"
import { Schema, SchemaAST } from "effect"
import { type DocumentedError, documentedErrors } from "./errorClasses.ts"
import { getMembers, makeErrorExample } from "./errorExamples.ts"
import { listFields } from "./formatType.ts"
import type { JsonSchema } from "./jsonSchema.ts"
import { formatCode, formatJson, formatTable, formatText } from "./markdown.ts"

const intro = `Over HTTP, an error is a problem (RFC 9457) with the content type \`application/problem+json\`. In process and in the
client, it is an instance of a class with the same fields. \`@tollgate/core\` and \`@tollgate/core/client\` export the classes.

| Field             | Type    | Meaning                                                                                                                                                                                       |
| ----------------- | ------- | --------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------- |
| \`code\`            | string  | The kind of error. It does not change: match on it.                                                                                                                                           |
| \`type\`            | string  | \`urn:tollgate:problem:\`, followed by the code.                                                                                                                                                |
| \`status\`          | integer | The HTTP status. Several errors have the same.                                                                                                                                                |
| \`title\`, \`detail\` | string  | Text for people. It may change, so do not match on it.                                                                                                                                        |
| \`instance\`        | string  | Over HTTP: the ID of the request, which is also in the header \`X-Request-Id\`. The log has its lines under it: debug lines for refusals of protected routes. |
| \`expose\`          | boolean | Only on instances: whether clients may see the message. It is \`true\` if \`status\` is below 500.                                                                                                |

Some errors have more members, which are below. A class also has the name of the error in \`_tag\` and \`name\`.

\`isTollgateError(error)\`, or \`error instanceof TollgateError\`, is \`true\` for such an error. Then match on \`code\`, or on the class:

\`\`\`ts
import { ConsumerNotFound, createTollgate, isTollgateError } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"

const gate = await createTollgate({ store: MemoryStore.open(), secret: process.env.TOLLGATE_SECRET })
const production = gate.account("acme").keyBucket("production")
try {
  await production.consumers.get("bob")
} catch (error) {
  if (isTollgateError(error)) console.log(error.code, error.status) // consumer-not-found 404
  if (error instanceof ConsumerNotFound) console.log(error.consumer) // bob
}
await gate.close()
\`\`\`

Express, Koa and Fastify read \`status\` from an error that a route throws; Koa also reads \`expose\`. Responses with the status 429 or 503 have the
header \`Retry-After\`, those with 401 \`WWW-Authenticate\`, and those with 405 \`Allow\`.`

const notOverHttp =
  "Tollgate throws these errors in process or in the client. A server never responds with them. The examples are messages."

const getFirstSentence = (text: string): string => /^.*?\.(?= |$)/.exec(text)?.[0] ?? text

/** Read from the declared field: the JSON Schema has no description where the JSON differs from the value. */
const getDescription = (field: Schema.Struct.Fields[string] | undefined): string =>
  (field === undefined ? undefined : SchemaAST.resolveAt<string>("description")((field as Schema.Top).ast)) ?? ""

const formatMembers = ({ class: errorClass }: DocumentedError): ReadonlyArray<string> => {
  const members = getMembers(errorClass)
  const fields = listFields(Schema.toJsonSchemaDocument(Schema.Struct(members)).schema as JsonSchema)
  if (fields.length === 0) return []
  const rows = fields.map(({ name, type, description }) => [
    formatCode(name),
    type,
    description || getDescription(members[name.replace("?", "")])
  ])
  return [formatTable(["Member", "Type", "Meaning"], rows), ""]
}

const formatClass = ({ name, entryPoint }: DocumentedError): string => {
  if (entryPoint === undefined)
    return `${formatCode(name)}, only over HTTP; the client rejects with \`ServerUnreachable\``
  return entryPoint === "@tollgate/core" ? formatCode(name) : `${formatCode(name)} of ${formatCode(entryPoint)}`
}

const formatExample = ({ class: errorClass, isSentOverHttp }: DocumentedError): string => {
  const error = makeErrorExample(errorClass)
  return isSentOverHttp
    ? formatJson(encodeProblem(error, "a682c86745368af6c5866b"))
    : formatText(`${error.name}: ${error.message}`)
}

const formatError = (error: DocumentedError): ReadonlyArray<string> => [
  `Status ${error.status}, class ${formatClass(error)}.`,
  "",
  error.meaning,
  "",
  `**What to do:** ${error.remedy}`,
  "",
  ...formatMembers(error),
  formatExample(error),
  ""
]

/** Errors with the same code have one heading, which is also the anchor: `errors.md#quota-exceeded`. */
const formatSections = (errors: ReadonlyArray<DocumentedError>): ReadonlyArray<string> =>
  [...Map.groupBy(errors, ({ code }) => code)].flatMap(([code, sameCode]) => [
    `### ${code}`,
    "",
    ...sameCode.flatMap(formatError)
  ])

const formatOverview = (errors: ReadonlyArray<DocumentedError>): string =>
  formatTable(
    ["Code", "Status", "Class", "Meaning"],
    errors.map(({ code, status, name, meaning }) => [
      `[${code}](#${code})`,
      String(status),
      formatCode(name),
      getFirstSentence(meaning)
    ])
  )

export const generateErrorsPage = (): string => {
  const { http = [], local = [] } = Object.groupBy(documentedErrors, ({ isSentOverHttp }) =>
    isSentOverHttp ? "http" : "local"
  )
  return [
    "# Errors",
    "",
    "<!-- Generated by packages/tools from the declarations of the errors: run npm run build:docs. -->",
    "",
    intro,
    "",
    "## Overview",
    "",
    formatOverview(http),
    "",
    "Not sent over HTTP:",
    "",
    formatOverview(local),
    "",
    ...[...Map.groupBy(http, ({ status }) => status)].flatMap(([status, errors]) => [
      `## ${status} ${STATUS_CODES[status]}`,
      "",
      ...formatSections(errors)
    ]),
    "## Errors that are not sent over HTTP",
    "",
    notOverHttp,
    "",
    ...formatSections(local)
  ].join("\n")
}
