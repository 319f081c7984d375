/**
 * The stored records of deployments. Records that must stay consistent share the project's partition: the deployment,
 * its versions, and the holder of the run inside each version. The directory partition maps names to projects.
 */
import { AccountName, Collection, type DueWork, type Partition, Timestamp } from "@tollgate/core/module"
import { DateTime, Effect, Schema } from "effect"
import { Branch, DeploymentMessage, DeploymentName } from "./Deployment.ts"
import { BuildResult, StatusId, Steps, VersionStatus } from "./DeploymentStatus.ts"
import { ProjectName } from "./names.ts"
import { forProject } from "./partitions.ts"

export const Project = Schema.Struct({ accountName: AccountName, projectName: ProjectName })
export type Project = typeof Project.Type

/** The project that a partition holds. */
export const getProject = (partition: Partition.Partition): Project => {
  const [accountName = "", projectName = ""] = partition.split("/").slice(1).map(decodeURIComponent)
  return { accountName: AccountName.make(accountName), projectName: ProjectName.make(projectName) }
}

export const projectPartition = ({ accountName, projectName }: Project): Partition.Partition =>
  forProject(accountName, projectName)

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
  servedBytes: Schema.optionalKey(Schema.Int),
  isPinned: Schema.optionalKey(Schema.Literal(true))
})
export type DeploymentRecord = typeof DeploymentRecord.Type

export const deployments = Collection.make({
  name: "deployment",
  format: 1,
  schema: DeploymentRecord,
  key: ({ name }) => name
})

/** The run of a version. It has no holder before it starts and after it is released. */
const Run = Schema.Struct({
  /** The process that runs the version, while it lives. */
  holder: Schema.optionalKey(Schema.String),
  /** When the run was queued or started. */
  since: Timestamp,
  /** How many processes that ran the version have died. The stored name cannot change. */
  lapses: Schema.Int
})

/** A release that passed its check and can be served. */
const KeptRelease = Schema.Struct({
  id: Schema.String,
  /** The size of the release on the disk. Missing if the target has not measured it. */
  bytes: Schema.optionalKey(Schema.Int),
  /** Names the release in its own URL. */
  address: Schema.String
})
export type KeptRelease = typeof KeptRelease.Type

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
  /** How many lines of the log came before those of `buildResult`, also in earlier runs. */
  logStart: Schema.optionalKey(Schema.Int),
  /** The size of the release of this attempt on the disk, as soon as it is known. */
  releaseBytes: Schema.optionalKey(Schema.Int),
  /** The release of the last attempt that passed its check. While the version is deployed again, that is an earlier one. */
  release: Schema.optionalKey(KeptRelease),
  run: Schema.optionalKey(Run)
})
export type Version = typeof Version.Type

/** Index terms of versions. */
export const inProgress = "in-progress"
export const byDeployment = (name: string): string => `of:${name}`
export const withRelease = (name: string): string => `release-of:${name}`

export const versions = Collection.make({
  name: "version",
  format: 1,
  schema: Version,
  key: ({ id }) => id,
  indexTerms: ({ deployment, status, release }) => [
    byDeployment(deployment),
    ...(status === "IN_PROGRESS" ? [inProgress] : []),
    ...(release === undefined ? [] : [withRelease(deployment)])
  ]
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

/** Runs and removals of a project that wait, or whose process may have died. */
export const deploymentsJob = { name: "deployments" }

/** How long the process that has caused work has for itself. Then the others look too. */
const othersLookAfter = { seconds: 3 }

/** Sees to it that some process does what a project has to do, if this one does not. Call it before the commit. */
export const ensureProjectWork = (dueWork: DueWork["Service"], project: Project) =>
  Effect.flatMap(DateTime.now, (now) => {
    const dueOn = DateTime.addDuration(now, othersLookAfter)
    return dueWork.ensure(deploymentsJob, projectPartition(project), Effect.succeed(project.accountName), dueOn)
  })

const separator = "."

export const splitArtifactId = (id: string): ReadonlyArray<string> => id.split(separator)

/** The id of a release or the key of a source, valid as a file name. No part contains the separator. */
export const artifactId = (version: Pick<Version, "id" | "deployment">, part: number | string): string =>
  [version.deployment, version.id, part].join(separator)

export const releaseId = (version: Version): string => artifactId(version, version.attempt)
