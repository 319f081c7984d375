import { Button } from "@tollgate/ui/components/Button.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { useFieldText } from "@tollgate/ui/components/useFieldText.ts"
import { useEffect, useId, useState } from "preact/hooks"
import { setQuery } from "../../routing/router.ts"
import { eventPatterns } from "./eventTypes.ts"

/** The filters of the log. They are in the address, so that a link keeps them. */
export const EventFilters = ({ type, subject }: { readonly type: string; readonly subject: string }) => {
  const [typeInput, setTypeInput] = useFieldText(type)
  const [subjectInput, setSubjectInput] = useFieldText(subject)
  const [error, setError] = useState<string>()
  const listId = useId()
  // The back button changes the filters too.
  useEffect(() => setError(undefined), [type, subject])
  const submit = (event: Event): void => {
    event.preventDefault()
    const newType = typeInput.trim()
    const isKnown = newType === "" || eventPatterns.includes(newType)
    setError(isKnown ? undefined : "There is no such type. Choose one of the list, or a group such as consumer.*")
    if (isKnown) setQuery({ type: newType, subject: subjectInput.trim(), before: undefined })
  }
  return (
    <form class="filters" onSubmit={submit}>
      <TextField label="Type" value={typeInput} onInput={setTypeInput} list={listId} error={error} autoComplete="off" />
      <datalist id={listId}>
        {eventPatterns.map((pattern) => (
          <option key={pattern} value={pattern} />
        ))}
      </datalist>
      <TextField label="About (id)" value={subjectInput} onInput={setSubjectInput} autoComplete="off" />
      <Button type="submit">Filter</Button>
      {(type !== "" || subject !== "") && (
        <Button onClick={() => setQuery({ type: undefined, subject: undefined, before: undefined })}>
          Clear filters
        </Button>
      )}
    </form>
  )
}
