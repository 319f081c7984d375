/**
 * Rolls a deployment back, and promotes a version: one commit that changes which kept release is served.
 */
import { type CommitOnce, retryOnConflict } from "@tollgate/core/module"
import { DateTime, Effect } from "effect"
import type { DeploymentConfigShape } from "../config/DeploymentConfig.ts"
import { recordDeploymentEvent } from "../config/recordDeploymentEvent.ts"
import { toDeployment } from "../config/toDeployment.ts"
import type { Deployment } from "../model/Deployment.ts"
import { ReleaseNotKept } from "../model/DeploymentError.ts"
import { deployments, projectPartition, versions } from "../model/deploymentRecords.ts"
import { findDeployment } from "../model/findDeployment.ts"
import { noteLeftovers } from "../model/leftovers.ts"
import { findKeptVersion, isServed, withPin, withServed } from "../model/servedVersion.ts"
import * as Transitions from "../model/versionTransitions.ts"

export interface ServeRequest {
  readonly name: string
  /** Default: the newest version that is kept. */
  readonly version?: string | undefined
  readonly as: "rollback" | "promotion"
}

/** How long the target may look for a release. */
const timeout = "10 seconds"

/** Fails if the target has lost the release, or cannot say whether it has. */
const checkRelease = ({ target }: DeploymentConfigShape, deployment: string, version: string, release: string) =>
  Effect.flatMap(Effect.orDie(Effect.timeout(target.has?.(release) ?? Effect.succeed(true), timeout)), (hasRelease) =>
    hasRelease ? Effect.void : Effect.fail(new ReleaseNotKept({ deployment, version, isLost: true }))
  )

/** Serves a kept version. Without a change, there is no event either. */
export const serveVersion = (
  config: DeploymentConfigShape,
  { name, version, as }: ServeRequest,
  commitOnce: CommitOnce<Deployment>
) =>
  retryOnConflict(
    Effect.gen(function* () {
      const current = yield* findDeployment(name)
      const { value: deployment } = current
      const partition = projectPartition(deployment)
      const unchanged = toDeployment(config, deployment)
      if (as === "rollback" && version !== undefined && isServed(deployment, version)) {
        yield* commitOnce([], unchanged)
        return unchanged
      }
      const { entry, release } = yield* findKeptVersion(partition, deployment, version)
      if (as === "promotion" && release.id === deployment.served && deployment.isPinned === undefined) {
        yield* commitOnce([], unchanged)
        return unchanged
      }
      yield* checkRelease(config, name, entry.value.id, release.id)
      const now = yield* DateTime.now
      const served = withServed(withPin({ ...deployment, updatedOn: now }, as === "rollback"), release)
      const result = toDeployment(config, served)
      yield* commitOnce(
        [
          deployments.replace(current, served),
          versions.replace(entry, Transitions.serveKept(entry.value, now)),
          yield* recordDeploymentEvent(
            as === "rollback" ? "deployment.rolled_back" : "deployment.promoted",
            config,
            served
          ),
          yield* noteLeftovers(partition, deployment.name, [deployment.served])
        ],
        result
      )
      return result
    })
  ).pipe(
    // Its versions and releases may be gone because the deployment was removed meanwhile.
    Effect.catchTag("ReleaseNotKept", (error) => Effect.andThen(findDeployment(name), Effect.fail(error)))
  )
