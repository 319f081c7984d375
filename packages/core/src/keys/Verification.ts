/**
 * The result of verifying a key. Unknown, expired and malformed keys give the same result, so that a caller cannot tell
 * which keys exist.
 */
import { Schema } from "effect"
import { KeyId } from "../records/ApiKey.ts"
import { ConsumerId, ConsumerName } from "../records/Consumer.ts"
import { Metadata } from "../schema/Metadata.ts"
import { Tags } from "../schema/Tags.ts"
import { Timestamp } from "../schema/Timestamp.ts"

/** A valid key: its consumer, its id, its expiry and its scopes. */
export const Verified = Schema.Struct({
  valid: Schema.Literal(true),
  consumer: Schema.Struct({ id: ConsumerId, name: ConsumerName, tags: Tags, metadata: Metadata }),
  keyId: KeyId,
  expiresOn: Schema.optionalKey(Timestamp),
  scopes: Schema.optionalKey(Schema.Array(Schema.String))
}).annotate({ identifier: "Verified" })
export type Verified = typeof Verified.Type

/** A key that does not pass. The reason is not disclosed, so that a caller cannot find out which keys exist. */
export const NotVerified = Schema.Struct({
  valid: Schema.Literal(false),
  reason: Schema.Literal("invalid")
}).annotate({ identifier: "NotVerified" })
export type NotVerified = typeof NotVerified.Type

/** The result of `verify`: whether the key is valid and, if so, whose it is. */
export const Verification = Schema.Union([Verified, NotVerified])
export type Verification = typeof Verification.Type
/** The result of `verify`, as plain JSON. */
export type VerificationJson = typeof Verification.Encoded

export const notVerified: NotVerified = { valid: false, reason: "invalid" }

/** Why a key does not pass. For the server itself only: outsiders see `NotVerified`. */
export type KeyRefusalReason = "malformed-key" | "unknown-key" | "expired-key" | "disabled-key"

export interface KeyRefusal {
  readonly valid: false
  readonly reason: KeyRefusalReason
}

/** The result of checking a key, with the reason of a refusal. */
export type KeyCheck = Verified | KeyRefusal

/** Hides why a key does not pass. */
export const toVerification = (check: KeyCheck): Verification => (check.valid ? check : notVerified)
