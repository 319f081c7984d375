/**
 * What is stored of deployments. Everything that must agree stands in the project's partition: the deployment, its
 * versions, and in each version the lease of whoever runs it. The directory only points there, and says which projects
 * may have work to do.
 */
import { DateTime, Effect, Option, Schema } from "effect"
import { AccountName, ProjectName } from "../shared/Names.ts"
import { Timestamp } from "../shared/Timestamp.ts"
import * as Collection from "../store/Collection.ts"
import * as Contention from "../store/Contention.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { type Branch, DeploymentMessage, DeploymentName, storedBranch } from "./Deployment.ts"
import { DeploymentNameTaken, DeploymentNotFound } from "./DeploymentError.ts"
import { BuildResult, DeploymentProgress, StatusId, Steps } from "./DeploymentStatus.ts"

const Project = Schema.Struct({ accountName: AccountName, projectName: ProjectName })
export type Project = typeof Project.Type

export const partitionOf = ({ accountName, projectName }: Project): Partition.Partition =>
  Partition.deployments(accountName, projectName)

const DeploymentRecord = Schema.Struct({
  ...storedBranch,
  name: DeploymentName,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  message: DeploymentMessage,
  /** The version of the last upload. */
  latest: StatusId,
  /** The release that is served. */
  served: Schema.optionalKey(Schema.String)
})
export type DeploymentRecord = typeof DeploymentRecord.Type

export const deployments = Collection.make({
  name: "deployment",
  format: 1,
  schema: DeploymentRecord,
  key: ({ name }) => name
})

/** Who runs a version. Nobody holds a run that has not begun, or was given back. */
const Run = Schema.Struct({
  holder: Schema.optionalKey(Schema.String),
  /** Since when a run waits that nobody holds. Of one that is held, earlier versions of Tollgate read when it lapses. */
  until: Timestamp,
  /** How often a holder was never heard of again. */
  lapses: Schema.Int
})

const Version = Schema.Struct({
  id: StatusId,
  deployment: DeploymentName,
  createdOn: Timestamp,
  /** Where the source is kept, while it is. */
  source: Schema.optionalKey(Schema.String),
  /** Counts the runs: together with the id, it names a release. */
  attempt: Schema.Int,
  status: DeploymentProgress,
  steps: Steps,
  buildResult: BuildResult,
  run: Schema.optionalKey(Run)
})
export type Version = typeof Version.Type

export const inProgress = "in-progress"
export const ofDeployment = (name: string): string => `of:${name}`

export const versions = Collection.make({
  name: "version",
  format: 1,
  schema: Version,
  key: ({ id }) => id,
  terms: ({ deployment, status }) => [ofDeployment(deployment), ...(status === "IN_PROGRESS" ? [inProgress] : [])]
})

/** What is still to be removed outside the store, of a deployment that is gone. */
const Removal = Schema.Struct({
  id: Schema.String,
  name: DeploymentName,
  releases: Schema.Array(Schema.String),
  sources: Schema.Array(Schema.String)
})
export type Removal = typeof Removal.Type

export const removals = Collection.make({ name: "removal", format: 1, schema: Removal, key: ({ id }) => id })

/** The directory: which branch a name belongs to. */
const Named = Schema.Struct({ ...storedBranch, name: DeploymentName })
export const names = Collection.make({ name: "name", format: 1, schema: Named, key: ({ name }) => name })

/** The directory: addresses that were given out for an upload. */
export const Upload = Schema.Struct({ ...storedBranch, id: StatusId, expiresOn: Timestamp, used: Schema.Boolean })
export type Upload = typeof Upload.Type
export const uploads = Collection.make({ name: "upload", format: 1, schema: Upload, key: ({ id }) => id })

/** The directory: projects that may have something to do. */
const Busy = Schema.Struct({ ...Project.fields, since: Timestamp })
export const busy = Collection.make({
  name: "busy",
  format: 1,
  schema: Busy,
  key: ({ accountName, projectName }) => partitionOf({ accountName, projectName })
})

/** How long after its last use a project is looked at: far longer than any commit takes that was announced by it. */
export const busyFor = 10 * 60 * 1000

const directory = Partition.deploymentDirectory

/** Puts a pointer, whether or not there is one. */
const put = <A>(collection: Collection.Collection<A>, key: string, value: (known: A | undefined) => A | undefined) =>
  Contention.retryWhenStale(
    Effect.gen(function* () {
      const store = yield* Store
      const known = yield* collection.get(directory, key)
      const next = value(Option.isSome(known) ? known.value.value : undefined)
      if (next === undefined) return
      yield* store.commit(directory, [
        Option.isSome(known) ? collection.replace(known.value, next) : collection.insert(next)
      ])
    })
  )

/** Says that a project may have something to do, before it has: so that another process finds it if this one dies. */
export const announce = Effect.fnUntraced(function* ({ accountName, projectName }: Project) {
  const since = yield* DateTime.now
  yield* put(busy, partitionOf({ accountName, projectName }), (known) =>
    known !== undefined && DateTime.toEpochMillis(since) - DateTime.toEpochMillis(known.since) < busyFor / 2
      ? undefined
      : { accountName, projectName, since }
  )
})

/** Points from a name to its branch. It is written each time, so that nobody removes it who looked before. */
export const pinName = Effect.fnUntraced(function* (branch: Branch, name: DeploymentName) {
  const { accountName, projectName, branchName } = branch
  yield* checkName(branch, name)
  yield* put(names, name, () => ({ accountName, projectName, branchName, name }))
})

/** A name belongs to the branch that had it first. */
export const checkName = Effect.fnUntraced(function* (branch: Branch, name: DeploymentName) {
  const known = yield* names.get(directory, name)
  if (Option.isNone(known)) return
  const { accountName, projectName, branchName } = known.value.value
  const isSame =
    accountName === branch.accountName && projectName === branch.projectName && branchName === branch.branchName
  if (!isSame) return yield* new DeploymentNameTaken({ deployment: name })
})

/** The project that a deployment's name belongs to. */
export const projectOf = Effect.fnUntraced(function* (deployment: string) {
  const known = Schema.is(DeploymentName)(deployment) ? yield* names.get(directory, deployment) : Option.none()
  return Option.isNone(known) ? yield* new DeploymentNotFound({ deployment: String(deployment) }) : known.value.value
})

/** The deployment of that name. */
export const findDeployment = Effect.fnUntraced(function* (deployment: string) {
  const project = yield* projectOf(deployment)
  const found = yield* deployments.get(partitionOf(project), deployment)
  return Option.isNone(found) ? yield* new DeploymentNotFound({ deployment }) : found.value
})

const separator = "."

/** Names a release, or a source: fit for a file, and telling what it belongs to. Neither part has a dot in it. */
export const partId = (version: Pick<Version, "id" | "deployment">, part: number | string): string =>
  [version.deployment, version.id, part].join(separator)

export const releaseOf = (version: Version): string => partId(version, version.attempt)

const versionOfPart = Effect.fnUntraced(function* (id: string) {
  const [name = "", statusId = ""] = id.split(separator)
  const project = yield* projectOf(name)
  const version = yield* versions.get(partitionOf(project), statusId)
  return { name, partition: partitionOf(project), version: Option.map(version, ({ value }) => value) }
})

/** Whether a release is being made or served. Asked in this order, since a release goes from the one to the other. */
export const isReleaseWanted = (id: string) =>
  Effect.gen(function* () {
    const { name, partition, version } = yield* versionOfPart(id)
    if (Option.isSome(version) && version.value.status === "IN_PROGRESS" && releaseOf(version.value) === id) return true
    const deployment = yield* deployments.get(partition, name)
    return Option.isSome(deployment) && deployment.value.value.served === id
  }).pipe(Effect.catchTag("DeploymentNotFound", () => Effect.succeed(false)))

/** Whether a version still needs its source. */
export const isSourceWanted = (key: string) =>
  Effect.map(versionOfPart(key), ({ version }) => Option.isSome(version) && version.value.source === key).pipe(
    Effect.catchTag("DeploymentNotFound", () => Effect.succeed(false))
  )
