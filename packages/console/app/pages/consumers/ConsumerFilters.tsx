import { useState } from "preact/hooks"
import { Button } from "../../components/Button.tsx"
import { TextField } from "../../components/fields.tsx"
import { useFieldText } from "../../components/useFieldText.ts"
import { address, goTo, linkTo } from "../../routing/router.ts"
import { type ConsumerFilter, isFiltering, parseTag, toLinkQuery } from "./consumerFilter.ts"

const apply = (filter: ConsumerFilter): void => goTo(linkTo(address.value.segments, toLinkQuery(filter)))

/** Filters the list of consumers. The filter is in the address, so that links and the back button carry it. */
export const ConsumerFilters = ({ filter }: { readonly filter: ConsumerFilter }) => {
  const [name, setName] = useFieldText(filter.name)
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
    setTag("")
    const others = filter.tags.filter(([name]) => name !== parsed?.[0])
    apply({ name: name.trim(), manager: manager.trim(), tags: parsed === undefined ? others : [...others, parsed] })
  }
  return (
    <search>
      <form class="filters consumer-filters" onSubmit={submit}>
        <TextField label="Exact name" type="search" value={name} onInput={setName} autoComplete="off" />
        <TextField label="Manager’s e-mail" type="search" value={manager} onInput={setManager} autoComplete="off" />
        <TextField
          label="Tag"
          placeholder="name=value"
          value={tag}
          onInput={setTag}
          error={tagError}
          autoComplete="off"
        />
        <Button type="submit">Filter</Button>
        {isFiltering(filter) && <Button onClick={() => apply({ name: "", manager: "", tags: [] })}>Clear</Button>}
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
