/**
 * Names in the directory: the branch that owns each deployment name, and whether the name counts towards the account's
 * limits. `planName` is the only place that changes the state of a name, in one commit with the lease of the upload.
 *
 * | state      | counts | the name                                  | next state, and what leads to it                    |
 * | ---------- | ------ | ----------------------------------------- | --------------------------------------------------- |
 * | no record  | no     | is free                                   | `reserved`: its first upload starts                 |
 * | `reserved` | yes    | has uploads, never had a deployment       | `deployed`: an upload ends that has created one     |
 * |            |        |                                           | no record: the last upload ends without one         |
 * | `deployed` | yes    | has a deployment, or had one and has      | `released`: the deployment is removed and no upload |
 * |            |        | uploads again                             | runs, or the last upload ends without a deployment  |
 * | `released` | no     | had a deployment, so the branch keeps it  | `deployed`: an upload starts                        |
 *
 * The deployment is in its project's partition, which no commit in the directory covers. A process that dies
 * - before an upload starts, with or without an upload URL, leaves no name;
 * - during an upload leaves a lease. When it has expired, the process that removes it lowers `uploads` in the same commit,
 *   so once, and looks whether the upload has created a deployment;
 * - after the removal of a deployment leaves a `Removal`, which another process finishes. It looks for a deployment too.
 *
 * They read the name first, then look for the deployment. An upload creates one only while it counts in `uploads`, and its
 * end changes the name again, so a commit that has missed the deployment is stale.
 */
import { Collection, type SearchField, Timestamp, toSearchTerms } from "@tollgate/core/module"
import { Effect, Option, Schema } from "effect"
import { Branch, DeploymentName } from "./Deployment.ts"
import { DeploymentNotFound } from "./DeploymentError.ts"
import { makeName } from "./deploymentName.ts"
import { Project, projectPartition } from "./deploymentRecords.ts"
import { deploymentDirectory } from "./partitions.ts"

/** A branch and its deployment name. */
export const NamedBranch = Schema.Struct({ ...Branch.fields, name: DeploymentName })
export type NamedBranch = typeof NamedBranch.Type

const NameReservation = Schema.Struct({
  ...NamedBranch.fields,
  state: Schema.Literals(["reserved", "deployed", "released"]),
  /** How many uploads for the name are in progress: those that have a lease. */
  uploads: Schema.Int,
  /** How many bytes of the account's counter belong to this name. */
  bytes: Schema.Int
})
export type NameReservation = typeof NameReservation.Type

export const byAccount = (accountName: string): string => `account:${accountName}`
const branchKey = ({ branchName, ...project }: Branch): string => `branch:${projectPartition(project)}/${branchName}`

/** What deployments are found by. */
export const getNameSearchFields = ({ name, projectName, branchName }: NamedBranch): ReadonlyArray<SearchField> => [
  { field: "name", texts: [name] },
  { field: "projectName", texts: [projectName, ...projectName.split("-")] },
  { field: "branchName", texts: [branchName, ...branchName.split(/[/-]/)] }
]

export const nameReservations = Collection.make({
  name: "name",
  format: 1,
  schema: NameReservation,
  key: ({ name }) => name,
  indexTerms: ({ state, accountName }) => (state === "released" ? [] : [byAccount(accountName)]),
  uniqueKeys: (branch) => [branchKey(branch)],
  searchTerms: (name) => (name.state === "deployed" ? toSearchTerms(getNameSearchFields(name), name.accountName) : [])
})

/** A project with at least one counted name, and the number of its counted names. */
const CountedProject = Schema.Struct({ ...Project.fields, deployments: Schema.Int, createdOn: Timestamp })

export const projects = Collection.make({
  name: "project",
  format: 1,
  schema: CountedProject,
  key: projectPartition,
  indexTerms: ({ accountName }) => [byAccount(accountName)]
})

const directory = deploymentDirectory

/**
 * Finds the name of a branch by its unique key, since the name cannot be recomputed after a rotation of the secret. If the
 * branch has none, makes one that no branch has. Skips names in use silently, since they may belong to other accounts.
 */
export const findOrMakeName = Effect.fnUntraced(function* (branch: Branch, hashName: (text: string) => Uint8Array) {
  const existing = yield* nameReservations.getByUniqueKey(directory, branchKey(branch))
  if (Option.isSome(existing)) return { name: existing.value.entry.value.name, entry: existing.value.entry }
  for (let attempt = 0; ; attempt++) {
    const name = makeName(branch, attempt, hashName)
    if (Option.isNone(yield* nameReservations.get(directory, name))) return { name, entry: undefined }
  }
})

/** Finds the project of a deployment by the deployment's name. */
export const findProject = Effect.fnUntraced(function* (deployment: string) {
  const reservation = Schema.is(DeploymentName)(deployment)
    ? yield* nameReservations.get(directory, deployment)
    : Option.none()
  return Option.isNone(reservation)
    ? yield* new DeploymentNotFound({ deployment: String(deployment) })
    : reservation.value.value
})
