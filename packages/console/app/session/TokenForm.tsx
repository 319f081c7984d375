import { Button } from "@tollgate/ui/components/Button.tsx"
import { Checkbox, TextField } from "@tollgate/ui/components/fields.tsx"
import { useState } from "preact/hooks"
import { signIn } from "./session.ts"

const problems = {
  refused: "The server does not accept this token. Check that you have copied all of it.",
  unreachable: "The server cannot be reached. Check that it runs, then try again."
}

/** Asks for a management token and checks it. */
export const TokenForm = ({
  submitLabel,
  onCancel
}: {
  readonly submitLabel: string
  readonly onCancel?: () => void
}) => {
  const [token, setToken] = useState("")
  const [keepInTab, setKeepInTab] = useState(false)
  const [problem, setProblem] = useState<string>()
  const [isChecking, setIsChecking] = useState(false)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setIsChecking(true)
    const result = await signIn(token.trim(), { keepInTab })
    setIsChecking(false)
    setProblem(result === "signed-in" ? undefined : problems[result])
  }
  return (
    <form class="form" onSubmit={submit}>
      <TextField
        label="Management token"
        type="password"
        value={token}
        onInput={setToken}
        error={problem}
        required
        autoFocus
        autoComplete="off"
      />
      <Checkbox label="Keep it in this tab until I close it" checked={keepInTab} onChange={setKeepInTab} />
      <div class="form-actions">
        <Button type="submit" kind="primary" isBusy={isChecking}>
          {submitLabel}
        </Button>
        {onCancel !== undefined && <Button onClick={onCancel}>Sign out</Button>}
      </div>
    </form>
  )
}
