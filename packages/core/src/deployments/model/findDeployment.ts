/**
 * Finds a deployment by its name, and tells whether a release or a source still belongs to one.
 */
import { Effect, Option } from "effect"
import { DeploymentNotFound } from "./DeploymentError.ts"
import { deployments, partitionOf, releaseId, separator, versions } from "./deploymentRecords.ts"
import { projectOf } from "./nameRecords.ts"

/** The deployment of that name. */
export const findDeployment = Effect.fnUntraced(function* (deployment: string) {
  const project = yield* projectOf(deployment)
  const found = yield* deployments.get(partitionOf(project), deployment)
  return Option.isNone(found) ? yield* new DeploymentNotFound({ deployment }) : found.value
})

const findVersionOfArtifact = Effect.fnUntraced(function* (id: string) {
  const [name = "", statusId = ""] = id.split(separator)
  const project = yield* projectOf(name)
  const version = yield* versions.get(partitionOf(project), statusId)
  return { name, partition: partitionOf(project), version: Option.map(version, ({ value }) => value) }
})

/** Whether a release is being made or served. Asked in this order, since a release goes from the one to the other. */
export const isReleaseWanted = (id: string) =>
  Effect.gen(function* () {
    const { name, partition, version } = yield* findVersionOfArtifact(id)
    if (Option.isSome(version) && version.value.status === "IN_PROGRESS" && releaseId(version.value) === id) return true
    const deployment = yield* deployments.get(partition, name)
    return Option.isSome(deployment) && deployment.value.value.served === id
  }).pipe(Effect.catchTag("DeploymentNotFound", () => Effect.succeed(false)))

/** Whether a version still needs its source. */
export const isSourceWanted = (key: string) =>
  Effect.map(findVersionOfArtifact(key), ({ version }) => Option.isSome(version) && version.value.source === key).pipe(
    Effect.catchTag("DeploymentNotFound", () => Effect.succeed(false))
  )
