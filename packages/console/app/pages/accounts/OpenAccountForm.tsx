import { Button } from "@tollgate/ui/components/Button.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { useState } from "preact/hooks"
import { goTo, linkTo } from "../../routing/router.ts"

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** Opens an account by its name, also one in which nothing has been created yet. */
export const OpenAccountForm = () => {
  const [name, setName] = useState("")
  const [error, setError] = useState<string>()
  const submit = (event: Event): void => {
    event.preventDefault()
    if (namePattern.test(name)) goTo(linkTo(["accounts", name]))
    else setError("Use letters, digits, “_”, “.” and “-”, beginning with a letter or a digit.")
  }
  return (
    <form class="form inline" onSubmit={submit}>
      <TextField label="Open an account by name" value={name} onInput={setName} error={error} autoComplete="off" />
      <Button type="submit">Open</Button>
    </form>
  )
}
