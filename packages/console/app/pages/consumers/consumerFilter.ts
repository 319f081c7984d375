/** The filter of the list of consumers, as it is in the address. */
import { isConsumerName } from "../../api/consumerName.ts"
import { get } from "../../api/request.ts"
import type { ConsumerJson, PageJson } from "../../api/types.ts"
import type { LinkQuery } from "../../routing/router.ts"

export interface ConsumerFilter {
  /** The exact name: at most one consumer has it. */
  readonly name: string
  readonly manager: string
  readonly tags: ReadonlyArray<readonly [name: string, value: string]>
}

const tagPrefix = "tag."

export const parseFilter = (query: Readonly<Record<string, string>>): ConsumerFilter => ({
  name: query["name"] ?? "",
  manager: query["manager"] ?? "",
  tags: Object.entries(query).flatMap(([name, value]) =>
    name.startsWith(tagPrefix) ? [[name.slice(tagPrefix.length), value] as const] : []
  )
})

export const isFiltering = ({ name, manager, tags }: ConsumerFilter): boolean =>
  name !== "" || manager !== "" || tags.length > 0

const toTagQuery = ({ tags }: ConsumerFilter): Record<string, string> =>
  Object.fromEntries(tags.map(([name, value]) => [`${tagPrefix}${name}`, value]))

/** The query of the address; the first page, because the others belong to another filter. */
export const toLinkQuery = (filter: ConsumerFilter): LinkQuery => ({
  name: filter.name,
  manager: filter.manager,
  ...toTagQuery(filter)
})

/** Reads `name=value`. */
export const parseTag = (text: string): readonly [name: string, value: string] | undefined => {
  const [, name, value] = /^\s*([A-Za-z0-9_.-]{1,64})\s*=\s*(.+?)\s*$/.exec(text) ?? []
  return name === undefined || value === undefined ? undefined : [name, value]
}

export const listConsumers = (
  path: string,
  filter: ConsumerFilter,
  page: { readonly limit: number; readonly offset: number },
  signal: AbortSignal
): Promise<PageJson<ConsumerJson>> =>
  filter.name === "" || isConsumerName(filter.name)
    ? get(path, { ...page, name: filter.name, "manager-email": filter.manager, ...toTagQuery(filter) }, signal)
    : Promise.resolve({ ...page, data: [], total: 0 })
