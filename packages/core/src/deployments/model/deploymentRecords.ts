/**
 * The stored records of deployments. Records that must stay consistent share the project's partition: the deployment,
 * its versions, and the run lease inside each version. The directory partition maps names to projects and lists the
 * projects that may have pending work.
 */
import { DateTime, Effect, Option, Schema } from "effect"
import { AccountName, ProjectName } from "../../schema/Names.ts"
import { Timestamp } from "../../schema/Timestamp.ts"
import * as Collection from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Store } from "../../store/Store.ts"
import { Branch, DeploymentMessage, DeploymentName } from "./Deployment.ts"
import { BuildResult, StatusId, Steps, VersionStatus } from "./DeploymentStatus.ts"

export const Project = Schema.Struct({ accountName: AccountName, projectName: ProjectName })
export type Project = typeof Project.Type

export const projectPartition = ({ accountName, projectName }: Project): Partition.Partition =>
  Partition.forProject(accountName, projectName)

const DeploymentRecord = Schema.Struct({
  ...Branch.fields,
  name: DeploymentName,
  createdOn: Timestamp,
  updatedOn: Timestamp,
  message: DeploymentMessage,
  /** The id of the version that the last upload created. */
  latest: StatusId,
  /** The id of the release that is served. */
  served: Schema.optionalKey(Schema.String),
  /** The size of that release on the disk. Missing if the target has not measured it. */
  servedBytes: Schema.optionalKey(Schema.Int)
})
export type DeploymentRecord = typeof DeploymentRecord.Type

export const deployments = Collection.make({
  name: "deployment",
  format: 1,
  schema: DeploymentRecord,
  key: ({ name }) => name
})

/** The lease of the process that runs a version. It has no holder before the run starts and after it is released. */
const Run = Schema.Struct({
  holder: Schema.optionalKey(Schema.String),
  /**
   * Without a holder: when the run was queued. With a holder: the expiry time; its renewal changes the record, which
   * `LeaseWatch` observes.
   */
  until: Timestamp,
  /** How many leases on this run have expired. The stored name cannot change. */
  lapses: Schema.Int
})

const Version = Schema.Struct({
  id: StatusId,
  deployment: DeploymentName,
  createdOn: Timestamp,
  /** The key of the source in the source store, until the source is removed. */
  source: Schema.optionalKey(Schema.String),
  /** The size of the source. */
  sourceBytes: Schema.Int,
  /** The number of runs so far. The id and the attempt together identify a release. */
  attempt: Schema.Int,
  status: VersionStatus,
  steps: Steps,
  buildResult: BuildResult,
  /** The size of the release of this attempt on the disk, as soon as it is known. */
  releaseBytes: Schema.optionalKey(Schema.Int),
  run: Schema.optionalKey(Run)
})
export type Version = typeof Version.Type

/** Index terms of versions. */
export const inProgress = "in-progress"
export const byDeployment = (name: string): string => `of:${name}`

export const versions = Collection.make({
  name: "version",
  format: 1,
  schema: Version,
  key: ({ id }) => id,
  indexTerms: ({ deployment, status }) => [byDeployment(deployment), ...(status === "IN_PROGRESS" ? [inProgress] : [])]
})

/** The releases and sources of a removed deployment that still exist outside the store. */
const Removal = Schema.Struct({
  id: Schema.String,
  name: DeploymentName,
  releases: Schema.Array(Schema.String),
  sources: Schema.Array(Schema.String)
})
export type Removal = typeof Removal.Type

export const removals = Collection.make({ name: "removal", format: 1, schema: Removal, key: ({ id }) => id })

/** In the directory: a project that may have pending work. */
const ActiveProject = Schema.Struct({ ...Project.fields, since: Timestamp })
export type ActiveProject = typeof ActiveProject.Type
export const activeProjects = Collection.make({
  // Stored name; cannot change.
  name: "busy",
  format: 1,
  schema: ActiveProject,
  key: ({ accountName, projectName }) => projectPartition({ accountName, projectName })
})

/** Milliseconds for which a project stays in the list. Far longer than the commit that follows `markProjectActive`. */
export const activeProjectTtl = 10 * 60 * 1000

const directory = Partition.deploymentDirectory

/** Lists a project as active before work is committed, so that another process finds the work if this one dies. */
export const markProjectActive = Effect.fnUntraced(function* ({ accountName, projectName }: Project) {
  const store = yield* Store
  const since = yield* DateTime.now
  const key = projectPartition({ accountName, projectName })
  const attempt = Effect.gen(function* () {
    const existing = yield* activeProjects.get(directory, key)
    const next = { accountName, projectName, since }
    const last = Option.map(existing, ({ value }) => DateTime.toEpochMillis(value.since))
    const isRecent = Option.exists(last, (last) => DateTime.toEpochMillis(since) - last < activeProjectTtl / 2)
    if (isRecent) return
    yield* store.commit(directory, [
      Option.isSome(existing) ? activeProjects.replace(existing.value, next) : activeProjects.insert(next)
    ])
  })
  yield* retryOnConflict(attempt)
})

const separator = "."

export const splitArtifactId = (id: string): ReadonlyArray<string> => id.split(separator)

/** The id of a release or the key of a source, valid as a file name. No part contains the separator. */
export const artifactId = (version: Pick<Version, "id" | "deployment">, part: number | string): string =>
  [version.deployment, version.id, part].join(separator)

export const releaseId = (version: Version): string => artifactId(version, version.attempt)
