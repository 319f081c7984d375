import { get, toPath } from "@tollgate/ui/api/request.ts"
import { CodeBlock } from "@tollgate/ui/components/CodeBlock.tsx"
import { DefinitionList } from "@tollgate/ui/components/DefinitionList.tsx"
import { ExternalLink } from "@tollgate/ui/components/ExternalLink.tsx"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { useInterval } from "@tollgate/ui/data/useInterval.ts"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { formatBytes, formatQuantity } from "@tollgate/ui/format/numbers.ts"
import { useEffect } from "preact/hooks"
import type { DeploymentStatusJson } from "../../api/types.ts"
import { RunBadge } from "./deploymentBadges.tsx"
import { StepList } from "./StepList.tsx"
import { useRunLog } from "./useRunLog.ts"

/** Of steps, about which the log says nothing. */
const pollIntervalMs = 5_000

/** Whether the version is not served, because the deployment was pinned when its run ended. */
const isWaiting = ({ status, steps }: DeploymentStatusJson): boolean =>
  status === "SUCCESS" && steps.publish.status === "skipped"

/** One sentence that changes only when a step begins or the run ends: it is read out. */
const describe = (run: DeploymentStatusJson): string => {
  const { status, steps, buildResult } = run
  if (isWaiting(run)) return "Built. The version waits until it is promoted."
  if (status === "SUCCESS") return "Deployed."
  if (status === "ERROR") return `The deployment failed: ${buildResult.error ?? "no reason was given"}`
  const running = Object.entries(steps).find(([, step]) => step.status === "running")
  return running === undefined ? "Waiting to start." : `In progress: ${running[0]}.`
}

const Log = ({ lines }: { readonly lines: ReadonlyArray<string> }) =>
  lines.length === 0 ? null : <CodeBlock label="Log" text={lines.join("\n")} />

export interface RunViewProps {
  readonly account: string
  readonly project: string
  readonly statusId: string
  readonly isAddressShown?: boolean | undefined
  readonly onFinished?: (() => void) | undefined
}

/** The steps and the log of a version, as they go on while it runs. */
export const RunView = ({ account, project, statusId, isAddressShown = true, onFinished }: RunViewProps) => {
  const path = toPath("/v1/accounts", account, "projects", project, "deployment-status", statusId)
  const run = useQuery(path, (signal) => get<DeploymentStatusJson>(path, {}, signal))
  const isRunning = run.data?.status === "IN_PROGRESS"
  useInterval(run.refresh, isRunning ? pollIntervalMs : undefined)
  const lines = useRunLog(isRunning ? `${path}/log` : undefined, (isOver) => (isOver ? run.reload() : run.refresh()))
  const isFinished = run.data !== undefined && !isRunning
  // Once, when the run has ended, also if it was short
  useEffect(() => {
    if (isFinished) onFinished?.()
  }, [isFinished])
  return (
    <QueryView query={run}>
      {(status) => (
        <div class="run">
          <p class="visually-hidden" role="status">
            {describe(status)}
          </p>
          <StepList steps={status.steps} />
          <DefinitionList
            items={[
              ["Status", <RunBadge key="status" status={status.status} />],
              [
                "Address",
                isAddressShown || isWaiting(status) ? <ExternalLink key="url" url={status.url} /> : undefined
              ],
              [
                "Content",
                status.buildResult.files > 0
                  ? `${formatQuantity(status.buildResult.files, "file")}, ${formatBytes(status.buildResult.bytes)}`
                  : undefined
              ],
              ["Exit code", status.buildResult.exitCode]
            ]}
          />
          <Log lines={lines.length > 0 ? lines : status.buildResult.log} />
        </div>
      )}
    </QueryView>
  )
}
