/**
 * The error for invalid input. Each issue names a JSON pointer into the body or a parameter. Issues never contain the
 * rejected value, which may be a key.
 */
import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"

export const InputIssue = Schema.Struct({
  pointer: Schema.optionalKey(
    Schema.String.annotate({ description: "A JSON pointer into the body. Empty for the body as a whole." })
  ),
  parameter: Schema.optionalKey(Schema.String.annotate({ description: "The name of a parameter or header." })),
  detail: Schema.String.annotate({ description: "What is wrong. Never contains the rejected value." })
})
export type InputIssue = typeof InputIssue.Type

const describeFirst = ([first]: ReadonlyArray<InputIssue>): string =>
  `${first?.pointer || first?.parameter || "The body"}: ${first?.detail ?? "is not valid"}`

export class InvalidInput extends defineError<InvalidInput>()(
  "InvalidInput",
  {
    code: "bad-request",
    status: 400,
    title: "Invalid request",
    meaning: "A parameter, a header or the body is malformed or does not match its schema.",
    remedy:
      "Correct what `errors` lists. A retry of the same request fails again. If an upload was incomplete, send the " +
      "source again.",
    detail: ({ errors }) => describeFirst(errors),
    schemaName: "BadRequestProblem"
  },
  {
    errors: Schema.Array(InputIssue).annotate({
      description:
        "What is wrong with the request, one entry for each place: first the path, the query and the headers, and the " +
        "body when these are right. At most 100 entries; for a body of more than 10,000 values, one."
    })
  }
) {}

const maxNameLength = 256

/** Names of fields and parameters come from the request: without a limit, a response could be larger than its request. */
export const shortenName = (name: string): string =>
  name.length <= maxNameLength ? name : `${name.slice(0, maxNameLength).toWellFormed()}…`

/** The error of a body, with the JSON pointer of the field. */
export const invalidBody = (pointer: string, detail: string): InvalidInput =>
  new InvalidInput({ errors: [{ pointer: shortenName(pointer), detail }] })

/** The error of a query parameter. */
export const invalidParameter = (parameter: string, detail: string): InvalidInput =>
  new InvalidInput({ errors: [{ parameter: shortenName(parameter), detail }] })

const maxIssues = 100

/** The error for the issues of a request, of which it lists the first 100. `isCut`: there may be more issues. */
export const makeInvalidInput = (issues: ReadonlyArray<InputIssue>, isCut = false): InvalidInput => {
  const errors = issues.slice(0, maxIssues)
  if (!isCut && issues.length <= maxIssues) return new InvalidInput({ errors })
  const listed = errors.length === 1 ? "mistake is" : `${errors.length} mistakes are`
  return new InvalidInput({ errors, detail: `${describeFirst(errors)}. Only the first ${listed} listed.` })
}
