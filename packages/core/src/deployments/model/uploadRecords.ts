/**
 * Upload records in the directory: the upload URLs that were issued, and a lease for each upload in progress.
 */
import { DateTime, Effect, Schema, Stream } from "effect"
import { Actor } from "../../outbox/CurrentActor.ts"
import { AccountName } from "../../schema/Names.ts"
import { Timestamp } from "../../schema/Timestamp.ts"
import * as Collection from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { Store } from "../../store/Store.ts"
import { DeploymentName, storedBranchFields } from "./Deployment.ts"
import { StatusId } from "./DeploymentStatus.ts"

export const UploadUrl = Schema.Struct({
  ...storedBranchFields,
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
 * The lease of the process that receives an upload. Machines compare `until` with their own clocks, so the lease is
 * long enough to tolerate a difference of 20 seconds. Taking a lease over too early is harmless, since a second version
 * of the same upload is rejected.
 */
const UploadLeaseRecord = Schema.Struct({
  id: StatusId,
  accountName: AccountName,
  /** The name of the deployment. */
  name: DeploymentName,
  holder: Schema.String,
  until: Timestamp
})
export type UploadLeaseRecord = typeof UploadLeaseRecord.Type

export const leasesByAccount = (accountName: string): string => `account:${accountName}`
export const leasesByDeployment = (name: string): string => `name:${name}`

export const uploadLeases = Collection.make({
  name: "upload-lease",
  format: 1,
  schema: UploadLeaseRecord,
  key: ({ id }) => id,
  indexTerms: ({ accountName, name }) => [leasesByAccount(accountName), leasesByDeployment(name)]
})

const directory = Partition.deploymentDirectory
const pageSize = 100

export const isPast = (time: DateTime.Utc, now: DateTime.Utc): boolean =>
  DateTime.toEpochMillis(time) <= DateTime.toEpochMillis(now)

/** Lists all entries of a collection in the directory, oldest first, filtered by the index term if there is one. */
const listAll = <A>(collection: Collection.Collection<A>, term: string | undefined) =>
  Stream.runCollect(collection.stream(directory, { ...(term === undefined ? {} : { where: [term] }), pageSize }))

/** Finds leases that were not renewed because their process died. */
export const findExpiredLeases = Effect.fnUntraced(function* (term?: string) {
  const now = yield* DateTime.now
  return (yield* listAll(uploadLeases, term)).filter(({ value }) => isPast(value.until, now))
})

/** Deletes expired upload URLs. Returns whether there were any. */
export const deleteExpiredUploadUrls = Effect.fnUntraced(function* (term?: string) {
  const store = yield* Store
  const now = yield* DateTime.now
  const expired = (yield* listAll(uploadUrls, term)).filter(({ value }) => isPast(value.expiresOn, now))
  for (let at = 0; at < expired.length; at += pageSize) {
    yield* store.commit(directory, expired.slice(at, at + pageSize).map(uploadUrls.remove))
  }
  return expired.length > 0
})
