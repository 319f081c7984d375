/**
 * What is stored of deployments. Everything that must agree stands in the project's partition: the deployment, its
 * versions, and in each version the lease of whoever runs it. The directory only points there, and says which projects
 * may have work to do.
 */
import { DateTime, Effect, Option, Schema } from "effect"
import { AccountName, ProjectName } from "../../schema/Names.ts"
import { Timestamp } from "../../schema/Timestamp.ts"
import * as Collection from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Store } from "../../store/Store.ts"
import { DeploymentMessage, DeploymentName, storedBranch } from "./Deployment.ts"
import { BuildResult, DeploymentProgress, StatusId, Steps } from "./DeploymentStatus.ts"

export const Project = Schema.Struct({ accountName: AccountName, projectName: ProjectName })
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
  indexTerms: ({ deployment, status }) => [ofDeployment(deployment), ...(status === "IN_PROGRESS" ? [inProgress] : [])]
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

/** The directory: projects that may have something to do. */
const ActiveProject = Schema.Struct({ ...Project.fields, since: Timestamp })
export const activeProjects = Collection.make({
  name: "busy",
  format: 1,
  schema: ActiveProject,
  key: ({ accountName, projectName }) => partitionOf({ accountName, projectName })
})

/** How long after its last use a project is looked at: far longer than any commit takes that was announced by it. */
export const activeProjectTtl = 10 * 60 * 1000

const directory = Partition.deploymentDirectory

/** Says that a project may have something to do, before it has: so that another process finds it if this one dies. */
export const markProjectActive = Effect.fnUntraced(function* ({ accountName, projectName }: Project) {
  const store = yield* Store
  const since = yield* DateTime.now
  const key = partitionOf({ accountName, projectName })
  const attempt = Effect.gen(function* () {
    const known = yield* activeProjects.get(directory, key)
    const next = { accountName, projectName, since }
    const last = Option.map(known, ({ value }) => DateTime.toEpochMillis(value.since))
    const isRecent = Option.exists(last, (last) => DateTime.toEpochMillis(since) - last < activeProjectTtl / 2)
    if (isRecent) return
    yield* store.commit(directory, [
      Option.isSome(known) ? activeProjects.replace(known.value, next) : activeProjects.insert(next)
    ])
  })
  yield* retryOnConflict(attempt)
})

export const separator = "."

/** Names a release, or a source: fit for a file, and telling what it belongs to. Neither part has a dot in it. */
export const artifactId = (version: Pick<Version, "id" | "deployment">, part: number | string): string =>
  [version.deployment, version.id, part].join(separator)

export const releaseId = (version: Version): string => artifactId(version, version.attempt)
