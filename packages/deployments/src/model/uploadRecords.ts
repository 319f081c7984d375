/**
 * Upload records in the directory: the upload URLs that were issued, and a lease for each upload in progress.
 */
import { Actor, Collection, Store, Timestamp } from "@tollgate/core/module"
import { DateTime, Effect, Schema, Stream } from "effect"
import { Branch } from "./Deployment.ts"
import { StatusId } from "./DeploymentStatus.ts"
import { NamedBranch } from "./nameRecords.ts"
import { deploymentDirectory } from "./partitions.ts"

export const UploadUrl = Schema.Struct({
  ...Branch.fields,
  id: StatusId,
  expiresOn: Timestamp,
  used: Schema.Boolean,
  /** Who requested the URL. */
  actor: Schema.optionalKey(Actor)
})
export type UploadUrl = typeof UploadUrl.Type

export const openUploadsByAccount = (accountName: string): string => `open:${accountName}`

export const uploadUrls = Collection.make({
  name: "upload",
  format: 1,
  schema: UploadUrl,
  key: ({ id }) => id,
  indexTerms: ({ accountName, used }) => (used ? [] : [openUploadsByAccount(accountName)])
})

/**
 * The lease of the process that receives an upload, while it lives. Taking a lease over too early is harmless, since a
 * second version of the same upload is rejected.
 */
const UploadLease = Schema.Struct({
  ...NamedBranch.fields,
  id: StatusId,
  /** The id of the process. */
  holder: Schema.String,
  /** Distinguishes the uploads of one process. */
  attempt: Schema.String
})
export type UploadLease = typeof UploadLease.Type

export const leasesByAccount = (accountName: string): string => `account:${accountName}`

export const uploadLeases = Collection.make({
  name: "upload-lease",
  format: 1,
  schema: UploadLease,
  key: ({ id }) => id,
  indexTerms: ({ accountName }) => [leasesByAccount(accountName)]
})

const directory = deploymentDirectory
const pageSize = 100

export const isPast = (time: DateTime.Utc, now: DateTime.Utc): boolean =>
  DateTime.toEpochMillis(time) <= DateTime.toEpochMillis(now)

/** Lists all entries of a collection in the directory, oldest first, filtered by the index term if there is one. */
export const listAll = <A>(collection: Collection.Collection<A>, term: string | undefined) =>
  Stream.runCollect(collection.stream(directory, { ...(term === undefined ? {} : { where: [term] }), pageSize }))

/** Upload URLs that expire at a time. */
export const uploadsJob = { name: "uploads" }

/** Deletes expired upload URLs. Returns the others. */
export const deleteExpiredUploadUrls = Effect.fnUntraced(function* (term?: string) {
  const store = yield* Store
  const now = yield* DateTime.now
  const all = yield* listAll(uploadUrls, term)
  const expired = all.filter(({ value }) => isPast(value.expiresOn, now))
  for (let at = 0; at < expired.length; at += pageSize) {
    yield* store.commit(directory, expired.slice(at, at + pageSize).map(uploadUrls.remove))
  }
  return all.filter((entry) => !expired.includes(entry))
})
