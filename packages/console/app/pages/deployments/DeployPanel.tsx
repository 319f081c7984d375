import { getFieldError } from "@tollgate/ui/api/getFieldError.ts"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { useEffect, useState } from "preact/hooks"
import { DeployProgress } from "./DeployProgress.tsx"
import { DropZone } from "./DropZone.tsx"
import { RunView } from "./RunView.tsx"
import type { BranchJson } from "./types.ts"
import { useDeploy } from "./useDeploy.ts"

export interface DeployPanelProps {
  readonly account: string
  /** Returns the project to deploy to, or `undefined` if its name is not valid yet. */
  readonly getProject: () => string | undefined
  readonly initialBranch: string
  /** Called when a version was received, and when its run has ended. */
  readonly onChange?: ((project: string) => void) | undefined
}

/** Deploys a folder or an archive to a branch, and shows how it goes. */
export const DeployPanel = ({ account, getProject, initialBranch, onChange }: DeployPanelProps) => {
  const [branch, setBranch] = useState(initialBranch)
  const [branchError, setBranchError] = useState<string>()
  const getBranch = (): BranchJson | undefined => {
    const projectName = getProject()
    setBranchError(branch === "" ? "Name the branch to deploy to." : undefined)
    return projectName === undefined || branch === ""
      ? undefined
      : { accountName: account, projectName, branchName: branch }
  }
  const deploy = useDeploy(getBranch)
  const { state } = deploy
  const project = state.phase === "uploaded" ? state.branch.projectName : undefined
  useEffect(() => {
    if (project !== undefined) onChange?.(project)
  }, [state.phase])
  const fieldError = state.phase === "failed" ? getFieldError(state.problem, "branchName") : undefined
  return (
    <>
      <div class="form">
        <TextField
          label="Branch"
          hint="Each branch has an address of its own. A new upload replaces what its branch serves."
          value={branch}
          onInput={setBranch}
          error={branchError ?? fieldError}
          autoComplete="off"
        />
      </div>
      <DropZone disabled={deploy.isBusy} onSource={deploy.start} />
      <DeployProgress deploy={deploy} />
      {state.phase === "uploaded" && (
        <RunView
          key={state.statusId}
          account={account}
          project={state.branch.projectName}
          statusId={state.statusId}
          onFinished={() => onChange?.(state.branch.projectName)}
        />
      )}
    </>
  )
}
