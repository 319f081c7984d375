/**
 * Makes a branch's name count as a deployment of its account, within the account's limits.
 */
import { Effect, Option } from "effect"
import { LimitReached, type LimitsShape } from "../../runtime/Limits.ts"
import * as Partition from "../../store/Partition.ts"
import { StoreConflict } from "../../store/StoreError.ts"
import type { Branch } from "./Deployment.ts"
import { deployments, type Project, partitionOf } from "./deploymentRecords.ts"
import { findFreeName, findName, type NameReservation, nameReservations, ofAccount, projects } from "./nameRecords.ts"
import { leasesOfAccount, uploadLeases } from "./uploadRecords.ts"

const directory = Partition.deploymentDirectory

const countProject = Effect.fnUntraced(function* (project: Project) {
  const { accountName, projectName } = project
  const known = yield* projects.get(directory, partitionOf(project))
  return Option.isSome(known)
    ? {
        isNew: false,
        change: projects.replace(known.value, { ...known.value.value, deployments: known.value.value.deployments + 1 })
      }
    : { isNew: true, change: projects.insert({ accountName, projectName, deployments: 1 }) }
})

/**
 * The name of a branch, and what is to be committed so that it counts: within the account's limits, unless there is a
 * deployment already.
 */
export const reserveName = Effect.fnUntraced(function* (
  branch: Branch,
  limits: LimitsShape,
  hashName: (text: string) => Uint8Array
) {
  const { accountName, projectName, branchName } = branch
  const known = Option.getOrUndefined(yield* findName(branch))
  if (known?.value.isCounted === true)
    return { name: known.value.name, changes: [nameReservations.assertUnchanged(known)] }
  const name = known?.value.name ?? (yield* findFreeName(branch, hashName))
  const counted: NameReservation = {
    accountName,
    projectName,
    branchName,
    name,
    isCounted: true,
    isKept: known !== undefined
  }
  const project = yield* countProject(branch)
  const changes = [
    known === undefined ? nameReservations.insert(counted) : nameReservations.replace(known, counted),
    project.change
  ]
  const isDeployed = Option.isSome(yield* deployments.get(partitionOf(branch), name))
  if (isDeployed) return { name, changes }
  return {
    name,
    changes: [
      ...changes,
      ...(project.isNew ? [projects.assertAtMost(ofAccount(accountName), limits.projectsPerAccount - 1)] : []),
      nameReservations.assertAtMost(ofAccount(accountName), limits.deploymentsPerAccount - 1)
    ]
  }
})

/** The branch was given its name by another process at the same time. */
export const isNameConflict = (error: unknown): boolean =>
  error instanceof StoreConflict && error.reason === "unique-key"

/** Which of the account's limits a commit would have passed; the conflict itself if it was none of them. */
export const toLimitError = (limits: LimitsShape, accountName: string) => (error: StoreConflict) => {
  const reached = {
    [projects.indexTerm(ofAccount(accountName))]: "projectsPerAccount",
    [nameReservations.indexTerm(ofAccount(accountName))]: "deploymentsPerAccount",
    [uploadLeases.indexTerm(leasesOfAccount(accountName))]: "concurrentUploadsPerAccount"
  } as const
  const limit = error.reason === "limit" ? reached[error.subject] : undefined
  return limit === undefined ? error : new LimitReached({ limit, max: limits[limit] })
}
