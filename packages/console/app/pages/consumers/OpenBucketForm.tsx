import { Button } from "@tollgate/ui/components/Button.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { useState } from "preact/hooks"
import { goTo } from "../../routing/router.ts"
import { linkToBucket } from "./paths.ts"

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** Opens a key bucket by its name, also one that has no consumer yet. */
export const OpenBucketForm = ({ account }: { readonly account: string }) => {
  const [name, setName] = useState("")
  const [error, setError] = useState<string>()
  const submit = (event: Event): void => {
    event.preventDefault()
    const bucket = name.trim()
    if (namePattern.test(bucket)) goTo(linkToBucket({ account, bucket }))
    else setError("Use up to 128 letters, digits, “_”, “.” and “-”, beginning with a letter or a digit.")
  }
  return (
    <form class="form inline" onSubmit={submit}>
      <TextField label="Open an API by name" value={name} onInput={setName} error={error} autoComplete="off" />
      <Button type="submit">Open</Button>
    </form>
  )
}
