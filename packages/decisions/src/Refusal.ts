/**
 * A refusal in the log: refusals of one minute with the same key, reason, limit or meter, and route are one entry.
 */
import { Id, RefusalReason as Reason, Timestamp } from "@tollgate/core/module"
import { Schema } from "effect"

/** Why a request is refused. */
export const RefusalReason = Reason
export type RefusalReason = typeof Reason.Type

const fields = {
  /** The first of these refusals. */
  on: Timestamp,
  // Generators of clients name the type of the parameter `reason` as they would name that of this field.
  reason: RefusalReason.annotate({ identifier: "RefusalReason" }),
  count: Schema.Int,
  /** The first five and the last five. */
  requestIds: Schema.Array(Schema.String),
  keyId: Schema.optionalKey(Schema.String),
  consumerName: Schema.optionalKey(Schema.String),
  route: Schema.optionalKey(Schema.String),
  /** The rate limit that refused. */
  limit: Schema.optionalKey(Schema.String),
  /** The meter whose quota is used up. */
  meter: Schema.optionalKey(Schema.String),
  ip: Schema.optionalKey(Schema.String),
  /** Of a key that does not exist: a keyed digest, and the last four characters if the key has the prefix of ours. */
  keyHint: Schema.optionalKey(Schema.String)
}

/** Refusals of one minute that are alike. */
export const Refusal = Schema.Struct(fields).annotate({ identifier: "Refusal" })
export type Refusal = typeof Refusal.Type
/** Refusals of one minute that are alike, as plain JSON. */
export type RefusalJson = typeof Refusal.Encoded

export const StoredRefusal = Schema.Struct({
  ...fields,
  id: Id("rfs"),
  consumerId: Schema.optionalKey(Schema.String),
  /** The network of the client, of which entries without a consumer have a limited number. */
  peer: Schema.optionalKey(Schema.String)
})
export type StoredRefusal = typeof StoredRefusal.Type

const firstIds = 5
const lastIds = 5

/** The ids of an earlier and a later entry that are alike. */
const mergeIds = (earlier: ReadonlyArray<string>, later: ReadonlyArray<string>): ReadonlyArray<string> => {
  const ids = [...new Set([...earlier, ...later])]
  return ids.length <= firstIds + lastIds ? ids : [...ids.slice(0, firstIds), ...ids.slice(-lastIds)]
}

/** Adds refusals to those of an entry that is alike. */
export const mergeRefusals = (earlier: StoredRefusal, later: StoredRefusal): StoredRefusal => ({
  ...earlier,
  count: earlier.count + later.count,
  requestIds: mergeIds(earlier.requestIds, later.requestIds)
})
