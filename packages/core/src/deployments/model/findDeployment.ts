/**
 * Finds a deployment by name, and checks whether a release or a source is still in use.
 */
import { Effect, Option } from "effect"
import { DeploymentNotFound } from "./DeploymentError.ts"
import { deployments, projectPartition, releaseId, splitArtifactId, versions } from "./deploymentRecords.ts"
import { findProject } from "./nameRecords.ts"

export const findDeployment = Effect.fnUntraced(function* (deployment: string) {
  const project = yield* findProject(deployment)
  const entry = yield* deployments.get(projectPartition(project), deployment)
  return Option.isNone(entry) ? yield* new DeploymentNotFound({ deployment }) : entry.value
})

const findVersionOfArtifact = Effect.fnUntraced(function* (id: string) {
  const [name = "", statusId = ""] = splitArtifactId(id)
  const project = yield* findProject(name)
  const version = yield* versions.get(projectPartition(project), statusId)
  return { name, partition: projectPartition(project), version: Option.map(version, ({ value }) => value) }
})

/**
 * Whether a release is being built or served. Reads the version first: a release moves from being built to being
 * served, so the opposite order could miss it.
 */
export const isReleaseInUse = (id: string) =>
  Effect.gen(function* () {
    const { name, partition, version } = yield* findVersionOfArtifact(id)
    if (Option.isSome(version) && version.value.status === "IN_PROGRESS" && releaseId(version.value) === id) return true
    const deployment = yield* deployments.get(partition, name)
    return Option.isSome(deployment) && deployment.value.value.served === id
  }).pipe(Effect.catchTag("DeploymentNotFound", () => Effect.succeed(false)))

/** Whether a version still needs its source. */
export const isSourceInUse = (key: string) =>
  Effect.map(findVersionOfArtifact(key), ({ version }) => Option.isSome(version) && version.value.source === key).pipe(
    Effect.catchTag("DeploymentNotFound", () => Effect.succeed(false))
  )
