/**
 * Finds a deployment by name, and checks whether a release or a source is still in use.
 */
import type { Partition } from "@tollgate/core/module"
import { Effect, Option } from "effect"
import { DeploymentNotFound } from "./DeploymentError.ts"
import {
  deployments,
  type Project,
  projectPartition,
  releaseId,
  splitArtifactId,
  versions
} from "./deploymentRecords.ts"
import { findProject } from "./nameRecords.ts"

export const findDeployment = Effect.fnUntraced(function* (deployment: string) {
  const project = yield* findProject(deployment)
  const entry = yield* deployments.get(projectPartition(project), deployment)
  return Option.isNone(entry) ? yield* new DeploymentNotFound({ deployment }) : entry.value
})

const findPartition = (name: string) => Effect.map(findProject(name), projectPartition)

/**
 * Reads the version first: a release moves from being built to being kept and served, so the opposite order could miss it.
 */
const isNeeded = Effect.fnUntraced(function* (partition: Partition.Partition, id: string, isWhileBuilt: boolean) {
  const [name = "", statusId = ""] = splitArtifactId(id)
  const entry = yield* versions.get(partition, statusId)
  if (Option.isSome(entry)) {
    const { status, release } = entry.value.value
    if (release?.id === id) return true
    if (isWhileBuilt && status === "IN_PROGRESS" && releaseId(entry.value.value) === id) return true
  }
  const deployment = yield* deployments.get(partition, name)
  return Option.isSome(deployment) && deployment.value.value.served === id
})

/** Whether a release of a project is kept or served. */
export const isReleasePublished = (project: Project, id: string) => isNeeded(projectPartition(project), id, false)

/** Whether a release is being built, kept or served. */
export const isReleaseInUse = (id: string) =>
  findPartition(splitArtifactId(id)[0] ?? "").pipe(
    Effect.flatMap((partition) => isNeeded(partition, id, true)),
    Effect.catchTag("DeploymentNotFound", () => Effect.succeed(false))
  )

/** Whether a version still needs its source. */
export const isSourceInUse = Effect.fnUntraced(
  function* (key: string) {
    const [name = "", statusId = ""] = splitArtifactId(key)
    const entry = yield* versions.get(yield* findPartition(name), statusId)
    return Option.isSome(entry) && entry.value.value.source === key
  },
  Effect.catchTag("DeploymentNotFound", () => Effect.succeed(false))
)
