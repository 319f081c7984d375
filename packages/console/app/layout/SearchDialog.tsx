import { Button } from "@tollgate/ui/components/Button.tsx"
import { Dialog } from "@tollgate/ui/components/Dialog.tsx"
import { TextField } from "@tollgate/ui/components/fields.tsx"
import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { useAction } from "@tollgate/ui/data/useAction.ts"
import { useEffect, useRef, useState } from "preact/hooks"
import { findAnything, type SearchResult } from "./findAnything.ts"
import { getRecent, remember } from "./recentResults.ts"

/** How long one must not type before the search begins by itself. */
const pauseMs = 350

const ResultList = ({
  results,
  onOpen
}: {
  readonly results: ReadonlyArray<SearchResult>
  readonly onOpen: (result: SearchResult) => void
}) => (
  <ul class="search-results">
    {results.map((result) => (
      <li key={`${result.link} ${result.label}`}>
        <span class="hint">{result.kind}</span>{" "}
        <a href={result.link} onClick={() => onOpen(result)}>
          {result.label}
        </a>{" "}
        <span class="hint">({result.hint})</span>
      </li>
    ))}
  </ul>
)

/** Those of a kind together: first the kind of the best. */
const sortByKind = (results: ReadonlyArray<SearchResult>): ReadonlyArray<SearchResult> =>
  Object.values(Object.groupBy(results, ({ kind }) => kind)).flatMap((group = []) => group)

const SearchForm = ({ account, onClose }: { readonly account: string; readonly onClose: () => void }) => {
  const [input, setInput] = useState("")
  const [results, setResults] = useState<ReadonlyArray<SearchResult>>()
  const currentText = useRef("")
  currentText.current = input.trim()
  const searched = useRef("")
  const search = useAction(async () => {
    const text = input.trim()
    if (text === "") return
    const found = await findAnything(account, text)
    // Results for a text that is no longer in the field would seem to be those of the other.
    if (currentText.current === text) setResults(found)
  })
  const text = input.trim()
  const recent = getRecent(account)
  const open = (result: SearchResult): void => {
    remember(account, result)
    onClose()
  }
  // While one types, a moment after the last key. A search that is too late or fails waits for the button.
  useEffect(() => {
    if (Array.from(text).length < 2 || search.isRunning || searched.current === text) return
    const timer = setTimeout(() => {
      searched.current = text
      void search.run()
    }, pauseMs)
    return () => clearTimeout(timer)
  }, [text, search.isRunning])
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void search.run()
      }}
    >
      <TextField
        label="Search for"
        hint="The beginning of a name, an e-mail address, a tag, your id of a customer, or an id; the last 4 characters of a key; the id of a refused request"
        value={input}
        onInput={(value) => {
          setInput(value)
          setResults(undefined)
        }}
        autoFocus
        autoComplete="off"
      />
      {search.problem !== undefined && <ProblemNotice problem={search.problem} />}
      <div role="status">
        {results?.length === 0 && <p>Nothing in this account begins with this text.</p>}
        {results !== undefined && results.length > 0 && <ResultList results={sortByKind(results)} onOpen={open} />}
      </div>
      {text === "" && recent.length > 0 && (
        <>
          <h3>Opened lately</h3>
          <ResultList results={recent} onOpen={open} />
        </>
      )}
      <div class="form-actions">
        <Button type="submit" kind="primary" isBusy={search.isRunning}>
          Search
        </Button>
        <Button onClick={onClose}>Close</Button>
      </div>
    </form>
  )
}

/** Finds anything in the account that is open. */
export const SearchDialog = ({
  account,
  onClose
}: {
  readonly account: string | undefined
  readonly onClose: () => void
}) => (
  <Dialog title="Search" onClose={onClose}>
    {account === undefined ? (
      <>
        <p>Open an account first: the search is in one account.</p>
        <div class="form-actions">
          <Button kind="primary" onClick={onClose}>
            Close
          </Button>
        </div>
      </>
    ) : (
      <SearchForm account={account} onClose={onClose} />
    )}
  </Dialog>
)
