/**
 * Reads tokens and sessions of an account, without what only Tollgate needs of them.
 */
import { type Entry, type KeyUse, type PageRequest, type Partition, toPage } from "@tollgate/core/module"
import type { DateTime } from "effect"
import { Effect, Option, Schema } from "effect"
import { credentialRecords, ofKind } from "./credentialRecords.ts"
import { toPartition } from "./credentialValues.ts"
import {
  CustomerSessionId,
  SessionId,
  type StoredCredential,
  type StoredCustomerSession,
  type StoredSession,
  type StoredToken,
  TokenId
} from "./Token.ts"

interface Stored {
  readonly customer: StoredCustomerSession
  readonly token: StoredToken
  readonly session: StoredSession
}

const isOfKind = <K extends keyof Stored>(credential: StoredCredential, kind: K): credential is Stored[K] =>
  credential.kind === kind

const isId = Schema.is(Schema.Union([TokenId, SessionId, CustomerSessionId]))

/** A credential as callers see it. */
export const toVisible = <A extends StoredCredential>(
  { kind: _, account: __, hashes: ___, encryptedHash: ____, ...visible }: A,
  lastUsedOn?: DateTime.Utc
) => ({ ...visible, ...(lastUsedOn === undefined ? {} : { lastUsedOn }) })

/** The credential of an account with this id; `undefined` if there is none of this kind. */
export const findCredential = Effect.fnUntraced(function* <K extends keyof Stored>(
  kind: K,
  account: string,
  id: string
) {
  const found = isId(id) ? Option.getOrUndefined(yield* credentialRecords.get(toPartition(account), id)) : undefined
  if (found === undefined || found.value.account !== account || !isOfKind(found.value, kind)) return undefined
  const entry: Entry<Stored[K]> = { value: found.value, version: found.version }
  return entry
})

/** A page of the credentials of one kind, or of those of them with a term, oldest first. */
export const listCredentials = Effect.fnUntraced(function* <K extends keyof Stored>(
  keyUse: KeyUse["Service"],
  kind: K,
  account: string,
  query: PageRequest,
  term = ofKind(kind, account)
) {
  const partition: Partition.Partition = toPartition(account)
  const where = [term]
  const { entries, ...page } = yield* credentialRecords.page(partition, { where, ...query })
  const credentials = entries.flatMap(({ value }) => (isOfKind(value, kind) ? [value] : []))
  const used = yield* keyUse.read(
    partition,
    credentials.map(({ id }) => id)
  )
  return toPage(
    query,
    page,
    credentials.map((credential, index) => toVisible(credential, used[index]))
  )
})
