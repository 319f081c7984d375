/**
 * A key as its customer sees it.
 */
import { ShortText, Timestamp } from "@tollgate/core/module"
import { Schema } from "effect"

const maxGraceSeconds = 30 * 24 * 60 * 60
/** How long a rolled key stays valid by default, in seconds. */
export const defaultGraceSeconds = 24 * 60 * 60

export const PortalKey = Schema.Struct({
  id: Schema.String,
  name: Schema.optionalKey(Schema.String),
  /** Masked, unless the key is new. */
  key: Schema.optionalKey(Schema.String),
  createdOn: Timestamp,
  expiresOn: Schema.optionalKey(Timestamp),
  /** To the minute. Tollgate writes it up to 15 seconds later. */
  lastUsedOn: Schema.optionalKey(Timestamp),
  disabled: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "PortalKey" })
export type PortalKey = typeof PortalKey.Type
/** A key as its customer sees it, as plain JSON. */
export type PortalKeyJson = typeof PortalKey.Encoded

/** The input that creates a key, or gives it another name. */
export const PortalKeyName = Schema.Struct({ name: ShortText }).annotate({ identifier: "PortalKeyName" })

/** The input that rolls a key. */
export const PortalKeyRoll = Schema.Struct({
  /** How long the old key stays valid, in seconds: 0 ends it at once. Default: a day. */
  expiresIn: Schema.optionalKey(
    Schema.Int.pipe(
      Schema.check(
        Schema.isBetween({ minimum: 0, maximum: maxGraceSeconds }, { expected: "a number of seconds, at most 30 days" })
      )
    )
  )
}).annotate({ identifier: "PortalKeyRoll" })
