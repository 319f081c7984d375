/**
 * Removes what a deployment that is gone has left outside the store. Every step can be repeated, by anybody.
 */
import { Effect, Option } from "effect"
import type { Entry } from "../../store/Collection.ts"
import { Store } from "../../store/Store.ts"
import { deployments, type Project, partitionOf, type Removal, removals } from "../model/deploymentRecords.ts"
import { releaseName } from "../model/releaseName.ts"
import type { DeploymentConfigShape } from "../ports/DeploymentConfig.ts"

/** How long a target may take: a removal that it keeps waiting is tried again later. */
const retryInterval = "1 minute"

export const finishRemoval = Effect.fnUntraced(function* (
  { target, sources }: DeploymentConfigShape,
  project: Project,
  removal: Entry<Removal>
) {
  const store = yield* Store
  const { name, releases, sources: keys } = removal.value
  // First: the account has its place back, however long the target takes.
  yield* releaseName(name)
  yield* Effect.forEach(keys, (key) => sources.remove(key))
  const again = yield* deployments.get(partitionOf(project), name)
  if (Option.isNone(again)) yield* target.remove?.(name) ?? Effect.void
  // Last: what cannot be removed now is tried again later, and keeps nothing else from going.
  yield* Effect.forEach(releases, (id) => target.discard?.(id) ?? Effect.void)
  yield* store.commit(partitionOf(project), [removals.remove(removal)])
}, Effect.timeout(retryInterval))
