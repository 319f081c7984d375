/**
 * Removes the sources and releases of a removed deployment. Every step is idempotent, so any process can repeat it.
 */
import { type Entry, Store } from "@tollgate/core/module"
import { Effect, Option } from "effect"
import type { DeploymentConfigShape } from "../config/DeploymentConfig.ts"
import { countHeldBytes } from "../model/countHeldBytes.ts"
import { deployments, type Project, projectPartition, type Removal, removals } from "../model/deploymentRecords.ts"
import { releaseName } from "../model/planName.ts"
import { removeUnusedAddresses } from "../model/versionAddresses.ts"

/** How long a removal may take. The scheduler retries it after a timeout. */
const timeout = "1 minute"

export const finishRemoval = Effect.fnUntraced(function* (
  { target, sources }: DeploymentConfigShape,
  project: Project,
  removal: Entry<Removal>
) {
  const store = yield* Store
  const { name, releases, sources: keys } = removal.value
  // First, so that a slow target does not delay freeing the account's limit.
  yield* releaseName(name)
  yield* Effect.forEach(keys, (key) => sources.remove(key))
  const recreated = yield* deployments.get(projectPartition(project), name)
  if (Option.isNone(recreated)) yield* target.remove?.(name) ?? Effect.void
  // Last, so that a release that cannot be removed does not block the other removals.
  yield* Effect.forEach(releases, (id) => target.discard?.(id) ?? Effect.void)
  yield* removeUnusedAddresses(name)
  yield* countHeldBytes(name)
  yield* store.commit(projectPartition(project), [removals.remove(removal)])
}, Effect.timeout(timeout))
