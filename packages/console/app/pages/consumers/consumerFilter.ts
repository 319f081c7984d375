/** The filter of the list of consumers, as it is in the address. */
import { get } from "@tollgate/ui/api/request.ts"
import type { FoundJson, PageJson } from "../../api/types.ts"
import type { LinkQuery } from "../../routing/router.ts"
import type { ListedConsumer } from "./consumerRows.ts"

export interface ConsumerFilter {
  /** A text that finds consumers. Then the server takes no other filter. */
  readonly search: string
  readonly manager: string
  readonly tags: ReadonlyArray<readonly [name: string, value: string]>
  /** The order, as in `consumerRows.ts`; empty for the oldest first. */
  readonly sort: string
  readonly state: string
  readonly plan: string
}

export const emptyFilter: ConsumerFilter = { search: "", manager: "", tags: [], sort: "", state: "", plan: "" }

const tagPrefix = "tag."

export const parseFilter = (query: Readonly<Record<string, string>>): ConsumerFilter => ({
  search: query["search"] ?? "",
  manager: query["manager"] ?? "",
  sort: query["sort"] ?? "",
  state: query["state"] ?? "",
  plan: query["plan"] ?? "",
  tags: Object.entries(query).flatMap(([name, value]) =>
    name.startsWith(tagPrefix) ? [[name.slice(tagPrefix.length), value] as const] : []
  )
})

export const isFiltering = ({ search, manager, tags, state, plan }: ConsumerFilter): boolean =>
  search !== "" || manager !== "" || tags.length > 0 || state !== "" || plan !== ""

/** Whether the server cannot sort and filter like this, so that the browser has to know all consumers. */
export const needsAll = ({ sort, state, plan }: ConsumerFilter): boolean => sort !== "" || state !== "" || plan !== ""

const toTagQuery = ({ tags }: ConsumerFilter): Record<string, string> =>
  Object.fromEntries(tags.map(([name, value]) => [`${tagPrefix}${name}`, value]))

/** The query of the address; the first page, because the others belong to another filter. */
export const toLinkQuery = (filter: ConsumerFilter): LinkQuery => {
  const { tags: _, ...others } = filter
  return { ...others, ...toTagQuery(filter) }
}

/** Reads `name=value`. */
export const parseTag = (text: string): readonly [name: string, value: string] | undefined => {
  const [, name, value] = /^\s*([A-Za-z0-9_.-]{1,64})\s*=\s*(.+?)\s*$/.exec(text) ?? []
  return name === undefined || value === undefined ? undefined : [name, value]
}

/** Whether the API takes the text: it counts characters, not UTF-16 code units. */
export const isSearchText = (text: string): boolean => {
  const { length } = Array.from(text)
  return length >= 2 && length <= 32
}

/** How many consumers the browser sorts and filters. */
export const maxSorted = 1_000

/** Keys say when a consumer was last seen. Their values are not needed. */
const withKeys = { "include-api-keys": true, "key-format": "none" }

const pageSize = 50
/** A response embeds at most 1,000 keys. */
const pageSizeOfAll = 250

export interface FoundConsumers {
  readonly data: ReadonlyArray<ListedConsumer>
  readonly total: number
  /** Where `data` begins in the list of all. `undefined` if it is everything, or as much as the browser sorts. */
  readonly offset: number | undefined
}

export const loadConsumers = async (
  path: string,
  filter: ConsumerFilter,
  offset: number,
  signal: AbortSignal
): Promise<FoundConsumers> => {
  const { search, manager } = filter
  if (search !== "") {
    if (!isSearchText(search)) return { data: [], total: 0, offset: undefined }
    const { data } = await get<FoundJson<ListedConsumer>>(path, { search, ...withKeys }, signal)
    // Everything that a search finds is on one page.
    return { data, total: data.length, offset: undefined }
  }
  const query = { "manager-email": manager, ...toTagQuery(filter), ...withKeys }
  if (!needsAll(filter)) {
    const page = await get<PageJson<ListedConsumer>>(path, { limit: pageSize, offset, ...query }, signal)
    return { data: page.data, total: page.total, offset }
  }
  const load = (after?: string) =>
    get<PageJson<ListedConsumer>>(path, { limit: pageSizeOfAll, after, ...query }, signal)
  const first = await load()
  const data = [...first.data]
  for (let { next } = first; next !== undefined && data.length < maxSorted; ) {
    const page = await load(next)
    data.push(...page.data)
    next = page.next
  }
  return { data, total: first.total, offset: undefined }
}
