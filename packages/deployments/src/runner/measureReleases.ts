import { Effect } from "effect"
import type { DeploymentTarget } from "../ports/DeploymentTarget.ts"

/** What releases occupy, oldest first. Undefined if the target does not measure them, or fails to. */
export const measureReleases = ({ measure }: DeploymentTarget, ids: ReadonlyArray<string>) =>
  measure === undefined || ids.length === 0
    ? Effect.succeed(undefined)
    : measure(ids).pipe(
        Effect.catch((error) =>
          Effect.as(Effect.logWarning("Measuring the releases of a deployment failed", error), undefined)
        )
      )
