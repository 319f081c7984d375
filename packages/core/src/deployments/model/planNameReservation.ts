/**
 * Reserves a branch's deployment name and counts it towards the account's limits.
 */
import { DateTime, Effect, Option } from "effect"
import { LimitReached } from "../../runtime/LimitReached.ts"
import type { LimitsShape } from "../../runtime/Limits.ts"
import * as Partition from "../../store/Partition.ts"
import { StoreConflict } from "../../store/StoreError.ts"
import type { Branch } from "./Deployment.ts"
import { deployments, type Project, projectPartition } from "./deploymentRecords.ts"
import { byAccount, findFreeName, findName, type NameReservation, nameReservations, projects } from "./nameRecords.ts"
import { leasesByAccount, uploadLeases } from "./uploadRecords.ts"

const directory = Partition.deploymentDirectory

/** The change that counts one more name of a project. A new project gets the date, if there is one. */
export const planProjectIncrement = Effect.fnUntraced(function* (
  project: Project,
  date: { readonly createdOn?: DateTime.Utc }
) {
  const { accountName, projectName } = project
  const entry = yield* projects.get(directory, projectPartition(project))
  return Option.isSome(entry)
    ? {
        isNew: false,
        change: projects.replace(entry.value, { ...entry.value.value, deployments: entry.value.value.deployments + 1 })
      }
    : { isNew: true, change: projects.insert({ accountName, projectName, deployments: 1, ...date }) }
})

/**
 * Finds or makes the name of a branch, and returns the changes that count it. The changes check the account's limits
 * unless the branch already has a deployment.
 */
export const planNameReservation = Effect.fnUntraced(function* (
  branch: Branch,
  limits: LimitsShape,
  hashName: (text: string) => Uint8Array
) {
  const { accountName, projectName, branchName } = branch
  const existing = Option.getOrUndefined(yield* findName(branch))
  if (existing?.value.isCounted === true)
    return { name: existing.value.name, changes: [nameReservations.assertUnchanged(existing)] }
  const name = existing?.value.name ?? (yield* findFreeName(branch, hashName))
  const reservation: NameReservation = {
    accountName,
    projectName,
    branchName,
    name,
    isCounted: true,
    // An existing record that is not counted belongs to a name that a deployment has used; others are deleted.
    isKept: existing !== undefined,
    ...(existing?.value.bytes === undefined ? {} : { bytes: existing.value.bytes })
  }
  const project = yield* planProjectIncrement(branch, { createdOn: yield* DateTime.now })
  const changes = [
    existing === undefined ? nameReservations.insert(reservation) : nameReservations.replace(existing, reservation),
    project.change
  ]
  const isDeployed = Option.isSome(yield* deployments.get(projectPartition(branch), name))
  if (isDeployed) return { name, changes }
  return {
    name,
    changes: [
      ...changes,
      ...(project.isNew ? [projects.assertAtMost(byAccount(accountName), limits.projectsPerAccount - 1)] : []),
      nameReservations.assertAtMost(byAccount(accountName), limits.deploymentsPerAccount - 1)
    ]
  }
})

/** Another process named the branch concurrently. */
export const isNameConflict = (error: unknown): boolean =>
  error instanceof StoreConflict && error.reason === "unique-key"

/** Maps a conflict to the account limit that the commit exceeds. Returns other conflicts unchanged. */
export const toLimitError = (limits: LimitsShape, accountName: string) => (error: StoreConflict) => {
  const limitsByTerm = {
    [projects.indexTerm(byAccount(accountName))]: "projectsPerAccount",
    [nameReservations.indexTerm(byAccount(accountName))]: "deploymentsPerAccount",
    [uploadLeases.indexTerm(leasesByAccount(accountName))]: "concurrentUploadsPerAccount"
  } as const
  const limit = error.reason === "too-many-records" ? limitsByTerm[error.subject] : undefined
  return limit === undefined ? error : new LimitReached({ limit, max: limits[limit] })
}
