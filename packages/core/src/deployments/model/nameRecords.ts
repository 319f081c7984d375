/**
 * Name records in the directory: the branch that owns each deployment name, and whether the name counts towards the
 * account's deployment limit.
 *
 * A name counts from the start of its first upload until it has neither a deployment nor an upload in progress. After a
 * deployment is removed, its name stays reserved for the same branch.
 */
import { Effect, Option, Schema } from "effect"
import { Timestamp } from "../../schema/Timestamp.ts"
import * as Collection from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { type Branch, DeploymentName, storedBranchFields } from "./Deployment.ts"
import { DeploymentNotFound } from "./DeploymentError.ts"
import { legacyName, makeName } from "./deploymentName.ts"
import { Project, projectPartition } from "./deploymentRecords.ts"

const NameReservation = Schema.Struct({
  ...storedBranchFields,
  name: DeploymentName,
  /**
   * Whether the name counts towards the limit. Missing in records of older versions of Tollgate until
   * `countLegacyNames`.
   */
  isCounted: Schema.optionalKey(Schema.Boolean),
  /** A deployment has used this name, so it belongs to the branch, and so to its account, for good. */
  isKept: Schema.optionalKey(Schema.Boolean),
  /** How many bytes of the account's counter belong to this name. */
  bytes: Schema.optionalKey(Schema.Int)
})
export type NameReservation = typeof NameReservation.Type

export const byAccount = (accountName: string): string => `account:${accountName}`
const byProject = (project: Project): string => `project:${projectPartition(project)}`
const branchKey = ({ branchName, ...project }: Branch): string => `branch:${projectPartition(project)}/${branchName}`

export const nameReservations = Collection.make({
  name: "name",
  format: 1,
  schema: NameReservation,
  key: ({ name }) => name,
  indexTerms: ({ isCounted, ...branch }) =>
    isCounted === true ? [byAccount(branch.accountName), byProject(branch)] : [],
  uniqueKeys: (branch) => [branchKey(branch)]
})

/**
 * A project with at least one counted name, and the number of its counted names. Older versions of Tollgate wrote no
 * date.
 */
const CountedProject = Schema.Struct({
  ...Project.fields,
  deployments: Schema.Int,
  createdOn: Schema.optionalKey(Timestamp)
})

export const projects = Collection.make({
  name: "project",
  format: 1,
  schema: CountedProject,
  key: projectPartition,
  indexTerms: ({ accountName }) => [byAccount(accountName)]
})

const directory = Partition.deploymentDirectory

const isSameBranch = (one: Branch, other: Branch): boolean =>
  one.accountName === other.accountName && one.projectName === other.projectName && one.branchName === other.branchName

/** Finds the name of a branch by its unique key. The name cannot be recomputed after a rotation of the secret. */
export const findName = Effect.fnUntraced(function* (branch: Branch) {
  const byUniqueKey = yield* nameReservations.getByUniqueKey(directory, branchKey(branch))
  if (Option.isSome(byUniqueKey)) return Option.some(byUniqueKey.value.entry)
  const legacy = yield* nameReservations.get(directory, legacyName(branch))
  return Option.filter(legacy, ({ value }) => isSameBranch(value, branch))
})

/** Finds a name that no branch has. Skips names in use silently, since they may belong to other accounts. */
export const findFreeName = Effect.fnUntraced(function* (branch: Branch, hashName: (text: string) => Uint8Array) {
  for (let attempt = 0; ; attempt++) {
    const name = makeName(branch, attempt, hashName)
    if (Option.isNone(yield* nameReservations.get(directory, name))) return name
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
