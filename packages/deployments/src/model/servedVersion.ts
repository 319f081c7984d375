/**
 * Which version a deployment serves, and whether it is pinned to it. A version is
 * - kept, if it is one of the last 10 that passed their check, or served. Its release can be served at once;
 * - waiting, if it is kept and was never served, because the deployment was pinned when its run ended.
 *
 * | deployment         | a run succeeds                | rollback to a kept version | to the served version | promote (default: the newest kept)      |
 * | ------------------ | ----------------------------- | -------------------------- | --------------------- | --------------------------------------- |
 * | nothing served     | served                        | 409: none is kept          | 409                   | 409                                     |
 * | served, not pinned | served; the previous is kept  | served, pinned             | no change             | served; no change if it is served       |
 * | served, pinned     | kept, waits; served unchanged | served, pinned             | no change             | served, not pinned, also if it is served |
 *
 * A run that fails, and `deploy`, change neither. Each change is one commit of the deployment, the version and an event, so
 * a run that ends meanwhile finds the deployment as it is before or after. A version that is deployed again may be served
 * in an earlier release than the one that is kept: it is promoted like another version, and a rollback to it changes nothing.
 */
import type { Entry, Partition } from "@tollgate/core/module"
import { Effect, Option } from "effect"
import { ReleaseNotKept } from "./DeploymentError.ts"
import {
  type DeploymentRecord,
  type KeptRelease,
  splitArtifactId,
  type Version,
  versions
} from "./deploymentRecords.ts"
import { readKeptVersions } from "./readVersions.ts"

/** Whether a release of the version is served, of any attempt. */
export const isServed = ({ served }: DeploymentRecord, id: string): boolean =>
  served !== undefined && splitArtifactId(served)[1] === id

/** A version that can be served. */
export interface KeptVersion {
  readonly entry: Entry<Version>
  readonly release: KeptRelease
}

/** Finds a kept version; without an id, the newest. Read the deployment before, and change it in the same commit. */
export const findKeptVersion = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  deployment: DeploymentRecord,
  id: string | undefined
) {
  const kept = yield* readKeptVersions(partition, deployment.name)
  const isRequested = ({ value }: Entry<Version>) => id === undefined || value.id === id
  const entry =
    kept.find(isRequested) ??
    (id !== undefined && isServed(deployment, id)
      ? Option.getOrUndefined(yield* versions.get(partition, id))
      : undefined)
  const release = entry?.value.release
  if (entry === undefined || release === undefined) {
    return yield* new ReleaseNotKept({ deployment: deployment.name, ...(id === undefined ? {} : { version: id }) })
  }
  const keptVersion: KeptVersion = { entry, release }
  return keptVersion
})

/** A deployment that serves a release. */
export const withServed = (
  { servedBytes: _, ...deployment }: DeploymentRecord,
  { id, bytes }: { readonly id: string; readonly bytes?: number | undefined }
): DeploymentRecord => ({ ...deployment, served: id, ...(bytes === undefined ? {} : { servedBytes: bytes }) })

export const withPin = ({ isPinned: _, ...deployment }: DeploymentRecord, isPinned: boolean): DeploymentRecord =>
  isPinned ? { ...deployment, isPinned } : deployment
