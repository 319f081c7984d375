import { request } from "@tollgate/ui/api/request.ts"
import { Button } from "@tollgate/ui/components/Button.tsx"
import { ConfirmDialog } from "@tollgate/ui/components/ConfirmDialog.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { showToast } from "@tollgate/ui/components/toasts.tsx"
import { useState } from "preact/hooks"
import type { DeploymentJson } from "../../api/types.ts"
import type { DeploymentVersionJson } from "./types.ts"

/** An older version is rolled back to, and another one promoted: also the served one, which ends a rollback. */
const chooseOperation = (
  version: DeploymentVersionJson,
  versions: ReadonlyArray<DeploymentVersionJson>,
  isPinned: boolean
): "rollback" | "promote" | undefined => {
  if (version.isServed) return isPinned ? "promote" : undefined
  if (version.isKept !== true) return undefined
  return versions.indexOf(version) > versions.findIndex(({ isServed }) => isServed) ? "rollback" : "promote"
}

export interface ServeVersionProps {
  readonly deployment: DeploymentJson
  readonly version: DeploymentVersionJson
  /** Newest first. */
  readonly versions: ReadonlyArray<DeploymentVersionJson>
  /** The path of the deployment in the HTTP API. */
  readonly path: string
  readonly onServed: () => void
}

/** The button that serves another version of a deployment, if this one can be served. */
export const ServeVersion = ({ deployment, version, versions, path, onServed }: ServeVersionProps) => {
  const [isAsking, setIsAsking] = useState(false)
  const operation = chooseOperation(version, versions, deployment.isPinned === true)
  if (operation === undefined) return null
  const label = operation === "rollback" ? "Roll back" : "Promote"
  return (
    <>
      <Button onClick={() => setIsAsking(true)}>{label}</Button>
      {isAsking && (
        <ConfirmDialog
          title={operation === "rollback" ? "Roll back to this version" : "Promote this version"}
          confirmLabel={label}
          onConfirm={async () => {
            await request("POST", `${path}/${operation}`, { body: { version: version.id } })
            showToast(operation === "rollback" ? "The deployment was rolled back" : "The version was promoted")
            onServed()
          }}
          onClose={() => setIsAsking(false)}
        >
          <p>
            {deployment.url} serves the version of <Time value={version.createdOn} /> at once.{" "}
            {operation === "rollback"
              ? "New versions are built and checked, and then wait until you promote one."
              : "New versions are served again when they have passed their check."}
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
