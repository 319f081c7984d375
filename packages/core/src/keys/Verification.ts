/**
 * The result of verifying a key. Unknown, expired, disabled and malformed keys give the same result, so that a caller
 * cannot tell which keys exist.
 */

import { Metadata, Tags, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { KeyId } from "../records/ApiKey.ts"
import { ConsumerId, ConsumerName } from "../records/Consumer.ts"

/** A valid key: its consumer, its id, its expiry and its scopes. */
export const Verified = Schema.Struct({
  valid: Schema.Literal(true),
  consumer: Schema.Struct({
    id: ConsumerId,
    name: ConsumerName,
    /** Whose subscriptions count, if it is not the name. */
    customerKey: Schema.optionalKey(Schema.String),
    tags: Tags,
    metadata: Metadata
  }),
  keyId: KeyId,
  expiresOn: Schema.optionalKey(Timestamp),
  scopes: Schema.optionalKey(Schema.Array(Schema.String))
}).annotate({ identifier: "Verified" })
export type Verified = typeof Verified.Type

/** Why a key does not pass. Outsiders do not see it. */
export const KeyRefusalReason = Schema.Literals([
  "malformed-key",
  "unknown-key",
  "expired-key",
  "disabled-key",
  "disabled-consumer"
])
export type KeyRefusalReason = typeof KeyRefusalReason.Type

/**
 * A key that does not pass. Why a key is not valid, and whose it is, is disclosed only to a caller of the HTTP API with the
 * permission `decisions:read`: others cannot find out which keys exist. `ip-not-allowed`: the key is valid, but not from
 * this address.
 */
export const NotVerified = Schema.Struct({
  valid: Schema.Literal(false),
  reason: Schema.Literals(["invalid", "ip-not-allowed"]),
  refusal: Schema.optionalKey(
    KeyRefusalReason.annotate({
      description: "Why the key is not valid. Only for a credential with the permission `decisions:read`."
    })
  ),
  keyId: Schema.optionalKey(KeyId),
  consumerName: Schema.optionalKey(ConsumerName),
  consumerId: Schema.optionalKey(ConsumerId)
}).annotate({ identifier: "NotVerified" })
export type NotVerified = typeof NotVerified.Type

/** The result of `verify`: whether the key is valid and, if so, whose it is. */
export const Verification = Schema.Union([Verified, NotVerified])
export type Verification = typeof Verification.Type
/** The result of `verify`, as plain JSON. */
export type VerificationJson = typeof Verification.Encoded

export const notVerified: NotVerified = { valid: false, reason: "invalid" }

export interface KeyRefusal {
  readonly valid: false
  readonly reason: KeyRefusalReason
}

/** Whose key it is. */
export type KeyOwner = Pick<Verified, "consumer" | "keyId">

/** A valid key that must not be used from the address of the request. */
export interface IpRefusal extends KeyOwner {
  readonly valid: false
  readonly reason: "ip-not-allowed"
}

/** A valid key as the store has it: with the addresses that it may be used from. */
export type FoundKey = Verified & { readonly ipAllow?: ReadonlyArray<string> | undefined }

/** The result of checking a key, with the reason of a refusal. */
export type KeyCheck = Verified | KeyRefusal | IpRefusal

/** Hides why a key is not valid. */
export const hideReason = ({ reason }: KeyRefusal | IpRefusal): NotVerified =>
  reason === "ip-not-allowed" ? { valid: false, reason } : notVerified

export const toVerification = (check: KeyCheck): Verification => (check.valid ? check : hideReason(check))

/** The same with the reason, and with the owner of a key that exists. */
export const toFullVerification = (check: KeyCheck, owner: KeyOwner | undefined): Verification => {
  if (check.valid) return check
  return {
    ...hideReason(check),
    ...(check.reason === "ip-not-allowed" ? {} : { refusal: check.reason }),
    ...(owner && { keyId: owner.keyId, consumerName: owner.consumer.name, consumerId: owner.consumer.id })
  }
}
