/**
 * A session of a customer in its portal: whose it is, what it allows, and when it ends.
 */
import { Permissions, ShortText, Timestamp } from "@tollgate/core/module"
import { CustomerSessionId } from "@tollgate/tokens"
import { Schema } from "effect"

/** What a session may allow. */
export const PortalAllow = Schema.Literals(["keys:read", "keys:write", "usage:read", "plan:change"])
export type PortalAllow = typeof PortalAllow.Type

export const defaultAllow: ReadonlyArray<PortalAllow> = ["keys:read", "keys:write", "usage:read"]

const maxSeconds = 24 * 60 * 60
/** How long a session lasts by default, in seconds. */
export const defaultSeconds = 60 * 60

/** The longest URL that the session carries. */
const maxUrl = 2_048
const Url = Schema.String.pipe(Schema.check(Schema.isMinLength(1), Schema.isMaxLength(maxUrl)))

/** The input that opens a session. All fields are optional. */
export const PortalSessionCreate = Schema.Struct({
  /** In seconds. Default: an hour. */
  expiresIn: Schema.optionalKey(
    Schema.Int.pipe(
      Schema.check(
        Schema.isBetween({ minimum: 1, maximum: maxSeconds }, { expected: "a number of seconds, at most 86400" })
      )
    )
  ),
  allow: Schema.optionalKey(Schema.Array(PortalAllow).pipe(Schema.check(Schema.isMaxLength(4)))),
  /** Where the page leads back to. */
  returnUrl: Schema.optionalKey(Url),
  /** Who signs in, for the events of what they do. */
  name: Schema.optionalKey(ShortText),
  /** The metering bucket of the customer, by its id or its name. Default: that of the module. */
  meteringBucket: Schema.optionalKey(ShortText)
}).annotate({ identifier: "PortalSessionCreate" })
export type PortalSessionCreate = typeof PortalSessionCreate.Type

const fields = {
  id: CustomerSessionId,
  keyBucketName: Schema.String,
  consumerName: Schema.String,
  name: Schema.optionalKey(Schema.String),
  allow: Permissions,
  returnUrl: Schema.optionalKey(Schema.String),
  meteringBucketId: Schema.optionalKey(Schema.String),
  createdOn: Timestamp,
  expiresOn: Timestamp
}

/** A session, without its token. */
export const PortalSession = Schema.Struct({
  ...fields,
  /** To the minute. Tollgate writes it up to 15 seconds later. */
  lastUsedOn: Schema.optionalKey(Timestamp)
}).annotate({ identifier: "PortalSession" })
export type PortalSession = typeof PortalSession.Type
/** A session, as plain JSON. */
export type PortalSessionJson = typeof PortalSession.Encoded

/** A session with its token, which only its creation shows. */
export const NewPortalSession = Schema.Struct({
  ...fields,
  /** The portal, with the token behind the `#`, which browsers do not send. */
  url: Schema.String,
  token: Schema.String
}).annotate({ identifier: "NewPortalSession" })
/** A session with its token, as plain JSON. */
export type NewPortalSessionJson = typeof NewPortalSession.Encoded
