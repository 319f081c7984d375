/**
 * What usage was for, in the words of the application: `{ model: "small" }`. It is labelled when it is counted.
 */
import { isMaxCharacters, recordByShortName } from "@tollgate/store/internal"
import { Schema } from "effect"

export const maxLabels = 3
export const maxLabelCharacters = 64

const message = {
  message: `must be a text of 1 to ${maxLabelCharacters} characters; shorten it, or leave the label out`
}
const LabelValue = Schema.String.annotate(message)
  .pipe(Schema.check(Schema.isMinLength(1, message), isMaxCharacters(maxLabelCharacters)))
  .annotate(message)

export const Labels = recordByShortName(LabelValue)
  .annotate({ message: 'must be an object such as { "model": "small" }' })
  .pipe(
    Schema.check(
      Schema.isMaxProperties(maxLabels, { message: `must have at most ${maxLabels} labels; leave out the others` })
    )
  )
  .annotate({ identifier: "Labels" })
export type Labels = typeof Labels.Type

const labelName = /^[A-Za-z0-9_.-]{1,64}$/

/**
 * Validates and copies labels without a schema, for speed. Returns `undefined` for invalid input; the caller then decodes it
 * with the schema to get an error message.
 */
export const parseLabels = (input: unknown): Labels | undefined => {
  if (typeof input !== "object" || input === null || Object.getPrototypeOf(input) !== Object.prototype) return undefined
  const names = Reflect.ownKeys(input)
  if (names.length > maxLabels) return undefined
  const labels: Record<string, string> = {}
  for (const name of names) {
    if (typeof name !== "string" || name === "__proto__" || !labelName.test(name)) return undefined
    const value: unknown = (input as Readonly<Record<string, unknown>>)[name]
    // One that is longer may have few characters: the schema counts them.
    if (typeof value !== "string" || value.length < 1 || value.length > maxLabelCharacters) return undefined
    labels[name] = value
  }
  return labels
}

/** Whose key used something, and what for. */
export const UsedBy = Schema.Struct({
  keyBucketName: Schema.optional(Schema.String),
  keyId: Schema.optional(Schema.String),
  labels: Schema.optional(Schema.Record(Schema.String, Schema.String))
})
export type UsedBy = typeof UsedBy.Type
