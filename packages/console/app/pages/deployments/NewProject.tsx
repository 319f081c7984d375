import { TextField } from "@tollgate/ui/components/fields.tsx"
import { useState } from "preact/hooks"
import { linkTo } from "../../routing/router.ts"
import { DeployPanel } from "./DeployPanel.tsx"

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** Names a project and its first branch, and takes the first source: the upload adds the project. */
export const NewProject = ({ account, onReceived }: { readonly account: string; readonly onReceived: () => void }) => {
  const [name, setName] = useState("")
  const [error, setError] = useState<string>()
  const [received, setReceived] = useState<string>()
  const getProject = (): string | undefined => {
    const isValid = namePattern.test(name)
    setError(
      isValid
        ? undefined
        : "Name the project first: letters, digits, “_”, “.” and “-”, beginning with a letter or a digit."
    )
    return isValid ? name : undefined
  }
  return (
    <>
      <div class="form">
        <TextField label="Name of the project" value={name} onInput={setName} error={error} autoComplete="off" />
      </div>
      <DeployPanel
        account={account}
        getProject={getProject}
        initialBranch="main"
        onChange={(project) => {
          setReceived(project)
          onReceived()
        }}
      />
      {received !== undefined && (
        <p>
          <a href={linkTo(["accounts", account, "deployments", received])}>Open the project {received}</a>
        </p>
      )}
    </>
  )
}
