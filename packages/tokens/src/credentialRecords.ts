import { Collection, makeTimeIndex, type SearchField, toSearchTerms } from "@tollgate/core/module"
import { DateTime } from "effect"
import { StoredCredential } from "./Token.ts"

/** All credentials of an account, those of one kind, and the sessions of a customer. */
export const ofAccount = (account: string): string => `account:${account}`
export const ofKind = (kind: StoredCredential["kind"], account: string): string => `${kind}:${account}`
export const ofConsumer = (consumerId: string): string => `consumer:${consumerId}`
export const byHash = (hash: string): string => `hash:${hash}`

/** When sessions and links are removed. */
export const removals = makeTimeIndex("removal", "hour")

/** Sessions and links are removed an hour after their end; tokens stay until someone removes them. */
export const findRemoval = (credential: StoredCredential): DateTime.Utc | undefined =>
  credential.kind === "token" ? undefined : DateTime.add(credential.expiresOn, { hours: 1 })

const toRemovalTerms = (credential: StoredCredential): ReadonlyArray<string> => {
  const removal = findRemoval(credential)
  return removal === undefined ? [] : removals.terms(removal)
}

/** What tokens are found by. Sessions and links are not found. */
export const getTokenSearchFields = (credential: StoredCredential): ReadonlyArray<SearchField> =>
  credential.kind === "token"
    ? [
        { field: "description", texts: [credential.description, ...credential.description.split(/\s+/u)] },
        { field: "id", texts: [credential.id] }
      ]
    : []

/** There are limits of their numbers, so they do not count towards the bytes of an account. */
export const credentialRecords = Collection.make({
  name: "credential",
  format: 1,
  countsBytes: false,
  schema: StoredCredential,
  key: ({ id }) => id,
  indexTerms: (credential) => [
    ofAccount(credential.account),
    ofKind(credential.kind, credential.account),
    ...(credential.kind === "customer" ? [ofConsumer(credential.consumerId)] : []),
    ...toRemovalTerms(credential)
  ],
  uniqueKeys: ({ hashes }) => hashes.map(byHash),
  searchTerms: (credential) => toSearchTerms(getTokenSearchFields(credential), credential.account)
})
