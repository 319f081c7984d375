/**
 * Names that the caller chooses. They are used in URL paths.
 */
import { Schema } from "effect"

/** The schema of a name that is part of a path. */
export const pathName = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/u, {
      expected: "1 to 128 of the characters A-Z a-z 0-9 _ . -, beginning with a letter or a digit"
    })
  )
)

const shortNameForm = "1 to 64 of the characters A-Z a-z 0-9 _ . -"

/** The name of a meter, a rate limit, a feature or a tag. */
export const shortName = Schema.String.pipe(
  Schema.check(Schema.isPattern(/^[A-Za-z0-9_.-]{1,64}$/u, { expected: shortNameForm }))
)

/** Values by short names. Without the message, a key that is no such name would be an unknown field. */
export const recordByShortName = <S extends Schema.Constraint>(value: S) =>
  Schema.Record(shortName, value).annotate({ messageUnexpectedKey: `Expected a name of ${shortNameForm}` })

export const MeterName = shortName

/** Rate limits and meters appear in the same headers, so their names have the same form. */
export const RateLimitName = MeterName

/** The name of an account: 1 to 128 letters, digits, `_`, `.` and `-`, with a letter or a digit first. */
export const AccountName = pathName.pipe(Schema.brand("AccountName"))
export type AccountName = typeof AccountName.Type

/** The name of a key bucket, unique in its account. */
export const KeyBucketName = pathName.pipe(Schema.brand("KeyBucketName"))
export type KeyBucketName = typeof KeyBucketName.Type
