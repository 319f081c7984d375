/**
 * What the directory holds of uploads: the addresses that were given out, and a lease for each upload that is being
 * received.
 */
import { DateTime, Effect, Schema } from "effect"
import { AccountName } from "../../schema/Names.ts"
import { Timestamp } from "../../schema/Timestamp.ts"
import * as Collection from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { Store } from "../../store/Store.ts"
import { DeploymentName, storedBranch } from "./Deployment.ts"
import { StatusId } from "./DeploymentStatus.ts"

export const Upload = Schema.Struct({ ...storedBranch, id: StatusId, expiresOn: Timestamp, used: Schema.Boolean })
export type Upload = typeof Upload.Type

export const openUploadsOf = (accountName: string): string => `open:${accountName}`

export const uploads = Collection.make({
  name: "upload",
  format: 1,
  schema: Upload,
  key: ({ id }) => id,
  indexTerms: ({ accountName, used }) => (used ? [] : [openUploadsOf(accountName)])
})

/**
 * Which process receives an upload. Two machines compare their clocks by it, so it is long: clocks may differ by 20 seconds.
 * A lease that is taken too early does no harm, since a second version of one upload is refused.
 */
const UploadLeaseRecord = Schema.Struct({
  id: StatusId,
  accountName: AccountName,
  /** The name of the deployment that the upload is for. */
  name: DeploymentName,
  holder: Schema.String,
  until: Timestamp
})
export type UploadLeaseRecord = typeof UploadLeaseRecord.Type

export const leasesOfAccount = (accountName: string): string => `account:${accountName}`
export const leasesOfDeployment = (name: string): string => `name:${name}`

export const uploadLeases = Collection.make({
  name: "upload-lease",
  format: 1,
  schema: UploadLeaseRecord,
  key: ({ id }) => id,
  indexTerms: ({ accountName, name }) => [leasesOfAccount(accountName), leasesOfDeployment(name)]
})

const directory = Partition.deploymentDirectory
const pageSize = 100

export const isPast = (moment: DateTime.Utc, now: DateTime.Utc): boolean =>
  DateTime.toEpochMillis(moment) <= DateTime.toEpochMillis(now)

/** All entries of a collection in the directory, oldest first; those that carry the term, if there is one. */
const findAll = Effect.fnUntraced(function* <A>(collection: Collection.Collection<A>, term: string | undefined) {
  const found: Array<Collection.Entry<A>> = []
  for (;;) {
    const where = term === undefined ? {} : { where: [term] }
    const page = yield* collection.page(directory, { ...where, offset: found.length, limit: pageSize })
    found.push(...page.entries)
    if (page.entries.length === 0 || found.length >= page.total) return found
  }
})

/** Leases that were not renewed: their process died. */
export const findExpiredLeases = Effect.fnUntraced(function* (term?: string) {
  const now = yield* DateTime.now
  return (yield* findAll(uploadLeases, term)).filter(({ value }) => isPast(value.until, now))
})

/** Forgets addresses whose time is over. Tells whether there were any. */
export const deleteExpiredUploads = Effect.fnUntraced(function* (term?: string) {
  const store = yield* Store
  const now = yield* DateTime.now
  const expired = (yield* findAll(uploads, term)).filter(({ value }) => isPast(value.expiresOn, now))
  for (let at = 0; at < expired.length; at += pageSize) {
    yield* store.commit(directory, expired.slice(at, at + pageSize).map(uploads.remove))
  }
  return expired.length > 0
})
