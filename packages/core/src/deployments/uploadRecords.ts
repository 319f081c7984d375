/**
 * What the directory holds of uploads: the addresses that were given out, and who receives an upload right now.
 */
import { DateTime, Effect, Schema } from "effect"
import { Timestamp } from "../shared/Timestamp.ts"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { DeploymentName, storedBranch } from "./Deployment.ts"
import { StatusId } from "./DeploymentStatus.ts"

/**
 * The lease of the process that receives the upload. Two machines compare their clocks by it, so it is long: clocks may
 * differ by 20 seconds. A lease that is taken too early does no harm, since a second version of one upload is refused.
 */
const Receiving = Schema.Struct({ holder: Schema.String, until: Timestamp, name: DeploymentName })

export const Upload = Schema.Struct({
  ...storedBranch,
  id: StatusId,
  expiresOn: Timestamp,
  used: Schema.Boolean,
  receiving: Schema.optionalKey(Receiving)
})
export type Upload = typeof Upload.Type

export const openIn = (accountName: string): string => `open:${accountName}`
export const receivingIn = (accountName: string): string => `receiving:${accountName}`
export const receivingFor = (name: string): string => `receiving-for:${name}`

export const uploads = Collection.make({
  name: "upload",
  format: 1,
  schema: Upload,
  key: ({ id }) => id,
  terms: ({ accountName, used, receiving }) => [
    ...(used ? [] : [openIn(accountName)]),
    ...(receiving === undefined ? [] : [receivingIn(accountName), receivingFor(receiving.name)])
  ]
})

const directory = Partition.deploymentDirectory
const pageSize = 100

const isBefore = (moment: DateTime.Utc, now: DateTime.Utc): boolean =>
  DateTime.toEpochMillis(moment) <= DateTime.toEpochMillis(now)

/** Whether a process receives the upload. */
export const isReceiving = ({ receiving }: Upload, now: DateTime.Utc): boolean =>
  receiving !== undefined && !isBefore(receiving.until, now)

export const withoutLease = ({ receiving: _, ...upload }: Upload): Upload => upload

/** All entries that carry a term, oldest first; of the whole collection without one. */
const findAll = Effect.fnUntraced(function* (term?: string) {
  const found: Array<Collection.Entry<Upload>> = []
  for (;;) {
    const where = term === undefined ? {} : { where: [term] }
    const { entries, total } = yield* uploads.page(directory, { ...where, offset: found.length, limit: pageSize })
    found.push(...entries)
    if (entries.length === 0 || found.length >= total) return found
  }
})

/** Frees uploads whose process died while it received them. Tells whether there were any. */
export const freeLapsedUploads = Effect.fnUntraced(function* (term: string) {
  const store = yield* Store
  const now = yield* DateTime.now
  const lapsed = (yield* findAll(term)).filter(({ value }) => !isReceiving(value, now))
  for (const entry of lapsed) yield* store.commit(directory, [uploads.replace(entry, withoutLease(entry.value))])
  return lapsed.length > 0
})

/** Forgets addresses whose time is over, of one account or of all. Tells whether there were any. */
export const forgetExpiredUploads = Effect.fnUntraced(function* (term?: string) {
  const store = yield* Store
  const now = yield* DateTime.now
  const expired = (yield* findAll(term)).filter(
    ({ value }) => isBefore(value.expiresOn, now) && !isReceiving(value, now)
  )
  for (let at = 0; at < expired.length; at += pageSize) {
    yield* store.commit(directory, expired.slice(at, at + pageSize).map(uploads.remove))
  }
  return expired.length > 0
})
