import { Button } from "@tollgate/ui/components/Button.tsx"
import { Select, TextField } from "@tollgate/ui/components/fields.tsx"
import { useFieldText } from "@tollgate/ui/components/useFieldText.ts"
import { useState } from "preact/hooks"
import { address, goTo, linkTo } from "../../routing/router.ts"
import { subscriptionStatuses } from "../metering/subscriptionStatus.ts"
import { type ConsumerFilter, emptyFilter, isFiltering, isSearchText, parseTag, toLinkQuery } from "./consumerFilter.ts"
import { consumerStates } from "./consumerRows.ts"

const apply = (filter: ConsumerFilter): void => goTo(linkTo(address.value.segments, toLinkQuery(filter)))

const stateOptions = [
  { value: "", label: "any" },
  ...[...consumerStates, ...subscriptionStatuses].map((state) => ({ value: state, label: state }))
]

/** Filters the list of consumers. The filter is in the address, so that links and the back button carry it. */
export const ConsumerFilters = ({ filter }: { readonly filter: ConsumerFilter }) => {
  const [search, setSearch] = useFieldText(filter.search)
  const [searchError, setSearchError] = useState<string>()
  const [manager, setManager] = useFieldText(filter.manager)
  const [tag, setTag] = useState("")
  const [tagError, setTagError] = useState<string>()
  const submit = (event: Event): void => {
    event.preventDefault()
    const parsed = parseTag(tag)
    if (tag.trim() !== "" && parsed === undefined) {
      setTagError("Write name=value, as in plan=pro.")
      return
    }
    setTagError(undefined)
    const text = search.trim()
    setSearchError(text === "" || isSearchText(text) ? undefined : "Write 2 to 32 characters.")
    if (text !== "") {
      if (isSearchText(text)) apply({ ...filter, search: text, manager: "", tags: [] })
      return
    }
    setTag("")
    const others = filter.tags.filter(([name]) => name !== parsed?.[0])
    apply({ ...filter, search: "", manager: manager.trim(), tags: parsed === undefined ? others : [...others, parsed] })
  }
  return (
    <search>
      <form class="filters consumer-filters" onSubmit={submit}>
        <TextField
          label="Search"
          placeholder="name, e-mail, tag, end of a key"
          type="search"
          value={search}
          onInput={setSearch}
          error={searchError}
          autoComplete="off"
        />
        <TextField label="Manager’s e-mail" type="search" value={manager} onInput={setManager} autoComplete="off" />
        <TextField
          label="Tag"
          placeholder="name=value"
          value={tag}
          onInput={setTag}
          error={tagError}
          autoComplete="off"
        />
        <Select
          label="State"
          value={filter.state}
          onChange={(state) => apply({ ...filter, state })}
          options={stateOptions}
        />
        <Button type="submit">Filter</Button>
        {isFiltering(filter) && <Button onClick={() => apply({ ...emptyFilter, sort: filter.sort })}>Clear</Button>}
      </form>
      {filter.tags.length > 0 && (
        <ul class="filter-tags" aria-label="Tags that are filtered by">
          {filter.tags.map(([name, value]) => (
            <li key={name}>
              {name}={value}
              <Button
                isSmall
                label={`Remove the filter ${name}=${value}`}
                onClick={() => apply({ ...filter, tags: filter.tags.filter((other) => other[0] !== name) })}
              >
                ×
              </Button>
            </li>
          ))}
        </ul>
      )}
    </search>
  )
}
