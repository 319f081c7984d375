/**
 * What a caller sent does not fit. Each place that is wrong is named, by a JSON pointer into the body or by the
 * parameter's name; what was sent is never repeated.
 */
import { Schema, SchemaIssue } from "effect"

export const InputIssue = Schema.Struct({
  pointer: Schema.optionalKey(Schema.String),
  parameter: Schema.optionalKey(Schema.String),
  detail: Schema.String
})
export type InputIssue = typeof InputIssue.Type

export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", {
  errors: Schema.Array(InputIssue)
}) {
  override get message(): string {
    const [first] = this.errors
    return `${first?.pointer || first?.parameter || "The body"}: ${first?.detail ?? "it is not valid"}`
  }
}

export const invalidBody = (pointer: string, detail: string): InvalidInput =>
  new InvalidInput({ errors: [{ pointer, detail }] })

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

const segmentOf = (segment: PropertyKey | { readonly key: PropertyKey }): string =>
  String(typeof segment === "object" ? segment.key : segment)

const pointerTo = (segments: ReadonlyArray<string>): string =>
  segments.map((segment) => `/${segment.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")

const issueMessage = (message: string, what: string): string =>
  message === "Expected no excess property" || message === "Expected never" ? `there is no such ${what}` : message

/** Where a body did not fit its schema. */
export const bodyIssues = ({ issue }: Schema.SchemaError): ReadonlyArray<InputIssue> =>
  formatIssues(issue).issues.map(({ path = [], message }) => ({
    pointer: pointerTo(path.map(segmentOf)),
    detail: issueMessage(message, "field")
  }))

/** Which parameters did not fit their schema. */
export const parameterIssues = ({ issue }: Schema.SchemaError): ReadonlyArray<InputIssue> =>
  formatIssues(issue).issues.map(({ path = [], message }) => ({
    parameter: path.map(segmentOf).join("."),
    detail: issueMessage(message, "parameter")
  }))
