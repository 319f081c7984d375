/**
 * The error for invalid input. Each issue names a JSON pointer into the body or a parameter. Issues never contain the
 * rejected value, which may be a key.
 */
import { Schema, SchemaIssue } from "effect"
import { defineError } from "../errors/defineError.ts"

export const InputIssue = Schema.Struct({
  pointer: Schema.optionalKey(
    Schema.String.annotate({ description: "A JSON pointer into the body. Empty for the body as a whole." })
  ),
  parameter: Schema.optionalKey(Schema.String.annotate({ description: "The name of a parameter or header." })),
  detail: Schema.String.annotate({ description: "What is wrong. Never contains the rejected value." })
})
export type InputIssue = typeof InputIssue.Type

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
    detail: ({ errors: [first] }) =>
      `${first?.pointer || first?.parameter || "The body"}: ${first?.detail ?? "is not valid"}`,
    schemaName: "BadRequestProblem"
  },
  {
    errors: Schema.Array(InputIssue).annotate({
      description: "What is wrong with the request, one entry for each place."
    })
  }
) {}

const maxNameLength = 256

/** Names of fields and parameters come from the request: without a limit, a response could be larger than its request. */
const shortenName = (name: string): string =>
  name.length <= maxNameLength ? name : `${name.slice(0, maxNameLength).toWellFormed()}…`

export const invalidBody = (pointer: string, detail: string): InvalidInput =>
  new InvalidInput({ errors: [{ pointer: shortenName(pointer), detail }] })

export const invalidParameter = (parameter: string, detail: string): InvalidInput =>
  new InvalidInput({ errors: [{ parameter: shortenName(parameter), detail }] })

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

const toSegment = (segment: PropertyKey | { readonly key: PropertyKey }): string =>
  String(typeof segment === "object" ? segment.key : segment)

const toPointer = (segments: ReadonlyArray<string>): string =>
  segments.map((segment) => `/${segment.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")

/** Replaces messages that speak of schemas. All schemas with an identifier, such as `ConsumerCreate`, are objects. */
const issueMessage = (message: string, kind: string): string => {
  if (message === "Expected no excess property" || message === "Expected never") return `unknown ${kind}`
  if (message === "Missing key") return "is required"
  return /^Expected [A-Z]\w+$/.test(message) ? "Expected an object" : message
}

/** The issues of a body that does not match its schema. */
export const bodyIssues = ({ issue }: Schema.SchemaError): ReadonlyArray<InputIssue> =>
  formatIssues(issue).issues.map(({ path = [], message }) => ({
    pointer: shortenName(toPointer(path.map(toSegment))),
    detail: issueMessage(message, "field")
  }))

/** The issues of parameters that do not match their schema. */
export const parameterIssues = ({ issue }: Schema.SchemaError): ReadonlyArray<InputIssue> =>
  formatIssues(issue).issues.map(({ path = [], message }) => ({
    parameter: shortenName(path.map(toSegment).join(".")),
    detail: issueMessage(message, "parameter")
  }))

/** The error for parameters that do not match their schema. */
export const invalidParameters = (error: Schema.SchemaError): InvalidInput =>
  new InvalidInput({ errors: parameterIssues(error) })

/** The issues of request headers, named as they are usually written: `If-Match`. */
export const headerIssues = (error: Schema.SchemaError): ReadonlyArray<InputIssue> =>
  parameterIssues(error).map(({ parameter = "", detail }) => ({
    parameter: parameter.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()),
    detail
  }))
