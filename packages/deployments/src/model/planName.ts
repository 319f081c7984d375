/**
 * Plans the commits that change the state of a name, and count it towards the account's limits. `nameRecords.ts` has the
 * table of states.
 */
import { addBytes, type Entry, type LimitsShape, retryOnConflict, Store } from "@tollgate/core/module"
import { DateTime, Effect, Option } from "effect"
import { deploymentBytes } from "./deploymentBytes.ts"
import { deployments, type Project, projectPartition } from "./deploymentRecords.ts"
import { byAccount, type NamedBranch, type NameReservation, nameReservations, projects } from "./nameRecords.ts"
import { deploymentDirectory } from "./partitions.ts"

const directory = deploymentDirectory

/** The changes that count one name of a project more or less. A project is listed while it has counted names. */
const planProject = Effect.fnUntraced(function* (
  { accountName, projectName }: Project,
  names: 1 | -1,
  limits: LimitsShape | undefined
) {
  const entry = yield* projects.get(directory, projectPartition({ accountName, projectName }))
  if (Option.isSome(entry)) {
    const deployments = entry.value.value.deployments + names
    if (deployments === 0) return [projects.remove(entry.value)]
    return [projects.replace(entry.value, { ...entry.value.value, deployments })]
  }
  if (names < 0) return []
  return [
    projects.insert({ accountName, projectName, deployments: 1, createdOn: yield* DateTime.now }),
    ...(limits === undefined ? [] : [projects.assertAtMost(byAccount(accountName), limits.projectsPerAccount - 1)])
  ]
})

interface NameEvent {
  /** 1 if an upload starts, -1 if one ends. */
  readonly uploads: 1 | 0 | -1
  /** A deployment uses or has used the name, even if its record does not say so yet. */
  readonly wasDeployed?: boolean
  /** Checked if the name begins to count, unless it has a deployment. */
  readonly limits?: LimitsShape
}

/** The changes of a name, whose record the caller has read, if there is one. */
export const planName = Effect.fnUntraced(function* (
  { accountName, projectName, branchName, name }: NamedBranch,
  entry: Entry<NameReservation> | undefined,
  event: NameEvent
) {
  const branch = { accountName, projectName, branchName, name }
  const before = entry?.value
  const isDeployed = Option.isSome(yield* deployments.get(projectPartition(branch), name))
  const uploads = (before?.uploads ?? 0) + event.uploads
  const bytes = before?.bytes ?? 0
  const wasCounted = before !== undefined && before.state !== "released"
  const isCounted = isDeployed || uploads > 0
  const isKept = isDeployed || event.wasDeployed === true || (before !== undefined && before.state !== "reserved")
  const reservation: NameReservation = {
    ...branch,
    state: isCounted ? (isKept ? "deployed" : "reserved") : "released",
    uploads,
    bytes
  }
  const changes =
    entry === undefined
      ? [nameReservations.insert(reservation)]
      : isCounted || isKept
        ? [nameReservations.replace(entry, reservation)]
        : [nameReservations.remove(entry), ...(bytes === 0 ? [] : [addBytes(deploymentBytes(accountName), -bytes)])]
  if (isCounted === wasCounted) return changes
  const limits = isDeployed ? undefined : event.limits
  return [
    ...changes,
    ...(yield* planProject(branch, isCounted ? 1 : -1, limits)),
    ...(limits === undefined
      ? []
      : [nameReservations.assertAtMost(byAccount(accountName), limits.deploymentsPerAccount - 1)])
  ]
})

/** Stops counting the name of a removed deployment, unless an upload for it is in progress: then the upload's end does. */
export const releaseName = (name: string) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const entry = yield* nameReservations.get(directory, name)
      if (Option.isNone(entry)) return
      const { value } = entry.value
      yield* store.commit(directory, yield* planName(value, entry.value, { uploads: 0, wasDeployed: true }))
    })
  )
