/**
 * Removes what a deployment no longer needs: releases, sources, versions and their addresses. Every step can be repeated,
 * and `Leftovers` say that there is something to do until all steps are done.
 */
import { Change, type Partition, retryOnConflict, runBestEffort, Store } from "@tollgate/core/module"
import { Effect, Option } from "effect"
import type { DeploymentConfigShape } from "../config/DeploymentConfig.ts"
import { countHeldBytes } from "../model/countHeldBytes.ts"
import { byDeployment, deployments, splitArtifactId, versions } from "../model/deploymentRecords.ts"
import { isReleaseInUse } from "../model/findDeployment.ts"
import { leftovers, noteLeftovers } from "../model/leftovers.ts"
import { readKeptVersions } from "../model/readVersions.ts"
import { isServed } from "../model/servedVersion.ts"
import { removeUnusedAddresses } from "../model/versionAddresses.ts"
import { measureReleases } from "./measureReleases.ts"

/** How many versions of a deployment are remembered, also if they failed. */
const maxVersions = 10

/** How long a target may take to remove a release. After that, its sweep finds the release. */
const discardTimeout = "1 minute"

/** Removes a release unless it is being built, kept or served. If the target fails to, its sweep finds the release. */
const discardUnused = ({ target }: Pick<DeploymentConfigShape, "target">, releaseId: string) =>
  Effect.flatMap(isReleaseInUse(releaseId), (isInUse) =>
    isInUse
      ? Effect.void
      : runBestEffort(
          `Removing the release ${releaseId}`,
          Effect.timeout(target.discard?.(releaseId) ?? Effect.void, discardTimeout)
        )
  )

/** Does the same, and ignores that the store cannot be read. */
export const discard = (config: Pick<DeploymentConfigShape, "target">, releaseId: string) =>
  runBestEffort(`Removing the release ${releaseId}`, discardUnused(config, releaseId))

/**
 * Removes the sources of superseded versions, and all versions but the latest 10, those that are kept and the one that is
 * served. Without a deployment, removes all versions.
 */
const removeOldVersions = Effect.fnUntraced(
  function* ({ sources }: Pick<DeploymentConfigShape, "sources">, partition: Partition.Partition, name: string) {
    const store = yield* Store
    // List the versions before reading the deployment: a version created in between is not in the list, and one created
    // later changes the deployment, so the commit conflicts. So does a rollback, and a version that is kept from now on.
    const { entries, total } = yield* versions.page(partition, { where: [byDeployment(name)], offset: 0, limit: 100 })
    const kept = new Set((yield* readKeptVersions(partition, name)).map(({ value: { id } }) => id))
    const deployment = Option.getOrUndefined(yield* deployments.get(partition, name))
    const assertDeploymentUnchanged =
      deployment === undefined
        ? Change.Check({ key: deployments.recordKey(name), expect: 0 })
        : deployments.assertUnchanged(deployment)
    for (const [index, entry] of entries.entries()) {
      const { id, source, ...version } = entry.value
      const isNeeded =
        deployment !== undefined && (index >= total - maxVersions || kept.has(id) || isServed(deployment.value, id))
      if (id === deployment?.value.latest || (source === undefined && isNeeded)) continue
      // Only the latest version is deployed again, and a version never becomes the latest again.
      if (source !== undefined) yield* sources.remove(source)
      yield* store.commit(partition, [
        assertDeploymentUnchanged,
        ...(isNeeded
          ? [versions.replace(entry, { id, ...version })]
          : [versions.remove(entry), yield* noteLeftovers(partition, version.deployment, [version.release?.id])])
      ])
    }
  },
  // The upload and the run of a version both prune, and each may find what the other has removed.
  (prune) => retryOnConflict(prune)
)

/**
 * Measures the releases that are kept and the one that is served, which may be of an older version, or an earlier release of
 * a version that was deployed again. What a release shared with one that is gone counts for the next that has it.
 */
const measureKept = ({ target }: DeploymentConfigShape, partition: Partition.Partition, name: string) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const kept = (yield* readKeptVersions(partition, name)).toReversed()
      const deployment = Option.getOrUndefined(yield* deployments.get(partition, name))
      const served = deployment?.value.served
      const isKept = kept.some(({ value }) => value.release?.id === served)
      const older =
        served === undefined || isKept
          ? undefined
          : Option.getOrUndefined(yield* versions.get(partition, splitArtifactId(served)[1] ?? ""))
      const entries = older?.value.release?.id === served && older !== undefined ? [older, ...kept] : kept
      const ids = entries.flatMap(({ value: { release } }) => release?.id ?? [])
      const isApart = served !== undefined && !ids.includes(served)
      const measured = isApart ? [served, ...ids] : ids
      const sizes = yield* measureReleases(target, measured)
      if (sizes === undefined) return
      const getBytes = (id: string) => sizes[measured.indexOf(id)]
      const changes = entries.flatMap((entry) => {
        const { release } = entry.value
        const bytes = release && getBytes(release.id)
        return release === undefined || bytes === undefined || bytes === release.bytes
          ? []
          : [versions.replace(entry, { ...entry.value, release: { ...release, bytes } })]
      })
      const servedBytes = isApart ? getBytes(served) : undefined
      if (deployment !== undefined && servedBytes !== undefined && servedBytes !== deployment.value.servedBytes) {
        changes.push(deployments.replace(deployment, { ...deployment.value, servedBytes }))
      }
      if (changes.length > 0) yield* store.commit(partition, changes)
    })
  )

/** Removes what superseded versions hold, and counts what the deployment still holds. */
export const pruneVersions: (
  config: DeploymentConfigShape,
  partition: Partition.Partition,
  name: string
) => Effect.Effect<void, unknown, Store> = Effect.fnUntraced(function* (config, partition, name) {
  yield* removeOldVersions(config, partition, name)
  const noted = Option.getOrUndefined(yield* leftovers.get(partition, name))
  if (noted !== undefined) {
    // Before files are removed, so that what they share is counted all the time.
    yield* measureKept(config, partition, name)
    yield* Effect.forEach(noted.value.releases, (id) => discardUnused(config, id))
  }
  yield* removeUnusedAddresses(name)
  yield* countHeldBytes(name)
  if (noted === undefined) return
  const store = yield* Store
  // On a conflict another process has noted more, and removes it.
  yield* Effect.catchTag(store.commit(partition, [leftovers.remove(noted)]), "StoreConflict", () => Effect.void)
})
