/**
 * What the directory holds of names: which branch a name belongs to, for good, and which names count as deployments of
 * their account.
 *
 * A name counts from the moment at which an upload for it begins, until there is neither a deployment nor an upload in
 * progress. The name of a deployment that was removed stays: its branch gets it again, and no other branch does.
 */
import { Effect, Option, Schema } from "effect"
import * as Collection from "../../store/Collection.ts"
import * as Partition from "../../store/Partition.ts"
import { type Branch, DeploymentName, storedBranch } from "./Deployment.ts"
import { DeploymentNotFound } from "./DeploymentError.ts"
import { legacyName, makeName } from "./deploymentName.ts"
import { Project, partitionOf } from "./deploymentRecords.ts"

const NameReservation = Schema.Struct({
  ...storedBranch,
  name: DeploymentName,
  /** Whether the name counts. Records of earlier versions do not say so; they count from their next upload on. */
  isCounted: Schema.optionalKey(Schema.Boolean),
  /** Whether a deployment has had the name. Then it stays its branch's when it no longer counts. */
  isKept: Schema.optionalKey(Schema.Boolean)
})
export type NameReservation = typeof NameReservation.Type

export const ofAccount = (accountName: string): string => `account:${accountName}`
export const ofProject = (project: Project): string => `project:${partitionOf(project)}`
const ofBranch = ({ branchName, ...project }: Branch): string => `branch:${partitionOf(project)}/${branchName}`

export const nameReservations = Collection.make({
  name: "name",
  format: 1,
  schema: NameReservation,
  key: ({ name }) => name,
  indexTerms: ({ isCounted, ...branch }) =>
    isCounted === true ? [ofAccount(branch.accountName), ofProject(branch)] : [],
  uniqueKeys: (branch) => [ofBranch(branch)]
})

/** A project with at least one name that counts, and how many it has. */
const CountedProject = Schema.Struct({ ...Project.fields, deployments: Schema.Int })

export const projects = Collection.make({
  name: "project",
  format: 1,
  schema: CountedProject,
  key: partitionOf,
  indexTerms: ({ accountName }) => [ofAccount(accountName)]
})

const directory = Partition.deploymentDirectory

const isSameBranch = (one: Branch, other: Branch): boolean =>
  one.accountName === other.accountName && one.projectName === other.projectName && one.branchName === other.branchName

/** The record of the branch's name. The name is read, not computed: it outlives the secret it was made with. */
export const findName = Effect.fnUntraced(function* (branch: Branch) {
  const claimed = yield* nameReservations.getByUniqueKey(directory, ofBranch(branch))
  if (Option.isSome(claimed)) return Option.some(claimed.value.entry)
  const earlier = yield* nameReservations.get(directory, legacyName(branch))
  return Option.filter(earlier, ({ value }) => isSameBranch(value, branch))
})

/** A name that belongs to no branch yet. That another one was taken is not told: it may be another account's. */
export const findFreeName = Effect.fnUntraced(function* (branch: Branch, hashName: (text: string) => Uint8Array) {
  for (let attempt = 0; ; attempt++) {
    const name = makeName(branch, attempt, hashName)
    if (Option.isNone(yield* nameReservations.get(directory, name))) return name
  }
})

/** The project that a deployment's name belongs to. */
export const projectOf = Effect.fnUntraced(function* (deployment: string) {
  const known = Schema.is(DeploymentName)(deployment)
    ? yield* nameReservations.get(directory, deployment)
    : Option.none()
  return Option.isNone(known) ? yield* new DeploymentNotFound({ deployment: String(deployment) }) : known.value.value
})
