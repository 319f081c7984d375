/**
 * A management token that is created while the server runs.
 */
import {
  AccountName,
  clearableFields,
  Id,
  Permissions,
  PrincipalShape,
  ShortText,
  Timestamp
} from "@tollgate/core/module"
import { Schema } from "effect"

/** The id of a token. It begins with `tok_`. */
export const TokenId = Id("tok").pipe(Schema.brand("TokenId"))
export type TokenId = typeof TokenId.Type

/** At least one: a token without permissions is of no use. */
const TokenPermissions = Permissions.pipe(Schema.check(Schema.isMinLength(1)))

const fields = {
  id: TokenId,
  description: ShortText,
  permissions: Permissions,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  expiresOn: Schema.optionalKey(Timestamp),
  /** To the minute. Tollgate writes it up to 15 seconds later. */
  lastUsedOn: Schema.optionalKey(Timestamp)
}

/** A management token, without its value. */
export const Token = Schema.Struct(fields).annotate({ identifier: "Token" })
export type Token = typeof Token.Type
/** A management token, as plain JSON. */
export type TokenJson = typeof Token.Encoded

/** A management token with its value, which only its creation shows. */
export const TokenWithValue = Schema.Struct({ ...fields, token: Schema.String }).annotate({
  identifier: "TokenWithValue"
})
/** A management token with its value, as plain JSON. */
export type TokenWithValueJson = typeof TokenWithValue.Encoded

/** The input that creates a token. */
export const TokenCreate = Schema.Struct({
  description: ShortText,
  permissions: TokenPermissions,
  expiresOn: Schema.optionalKey(Timestamp)
}).annotate({ identifier: "TokenCreate" })

/** A missing field stays unchanged; `null` clears the expiry. */
export const TokenUpdate = Schema.Struct({
  description: Schema.optionalKey(ShortText),
  permissions: Schema.optionalKey(TokenPermissions),
  ...clearableFields({ expiresOn: Timestamp })
}).annotate({ identifier: "TokenUpdate" })

/** The id of a session. It begins with `ses_`. */
export const SessionId = Id("ses").pipe(Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type

const { access, permissions } = PrincipalShape.fields
/** What a person may do in a session: like a token of the options, with permissions or access. */
const grantFields = { access, permissions }

/** A session of a person in the console. */
export const Session = Schema.Struct({
  id: SessionId,
  name: Schema.optionalKey(ShortText),
  ...grantFields,
  createdOn: Timestamp,
  expiresOn: Timestamp,
  lastUsedOn: Schema.optionalKey(Timestamp)
}).annotate({ identifier: "Session" })
export type Session = typeof Session.Type
/** A session of a person, as plain JSON. */
export type SessionJson = typeof Session.Encoded

/** What is stored of every value: the hashes by which it is found, and its SHA-256, to hash it under another secret. */
const valueFields = {
  account: Schema.Union([Schema.Literal("*"), AccountName]),
  hashes: Schema.Array(Schema.String),
  encryptedHash: Schema.String
}

export const StoredToken = Schema.Struct({
  kind: Schema.Literal("token"),
  ...valueFields,
  id: TokenId,
  description: Schema.String,
  permissions: Permissions,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  expiresOn: Schema.optionalKey(Timestamp)
})
export type StoredToken = typeof StoredToken.Type

const personFields = {
  ...valueFields,
  id: SessionId,
  name: Schema.optionalKey(Schema.String),
  ...grantFields,
  createdOn: Timestamp,
  expiresOn: Timestamp
}
export const StoredSession = Schema.Struct({ kind: Schema.Literal("session"), ...personFields })
export type StoredSession = typeof StoredSession.Type

/** A link opens one session. */
export const StoredLink = Schema.Struct({ kind: Schema.Literal("link"), ...personFields, sessionMs: Schema.Int })
export type StoredLink = typeof StoredLink.Type

/** The id of a session of a customer. It begins with `pse_`. */
export const CustomerSessionId = Id("pse").pipe(Schema.brand("CustomerSessionId"))
export type CustomerSessionId = typeof CustomerSessionId.Type

/** A session of a customer in its portal: of one consumer, and without permissions. */
export const StoredCustomerSession = Schema.Struct({
  kind: Schema.Literal("customer"),
  ...valueFields,
  id: CustomerSessionId,
  keyBucketName: Schema.String,
  consumerName: Schema.String,
  /** A consumer that is created again under the same name is another customer. */
  consumerId: Schema.String,
  /** Who signs in. */
  name: Schema.optionalKey(Schema.String),
  allow: Schema.Array(Schema.String),
  returnUrl: Schema.optionalKey(Schema.String),
  meteringBucketId: Schema.optionalKey(Schema.String),
  createdOn: Timestamp,
  expiresOn: Timestamp
})
export type StoredCustomerSession = typeof StoredCustomerSession.Type

export const StoredCredential = Schema.Union([StoredToken, StoredSession, StoredLink, StoredCustomerSession])
export type StoredCredential = typeof StoredCredential.Type
