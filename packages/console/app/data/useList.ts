/** A list of the HTTP API, page by page. Where the page begins is in the address, so that a link and the back button keep it. */
import { get, type Query } from "@tollgate/ui/api/request.ts"
import { useFormerData } from "@tollgate/ui/data/useFormerData.ts"
import { type QueryState, useQuery } from "@tollgate/ui/data/useQuery.ts"
import type { PageJson } from "../api/types.ts"
import { parseOffset } from "../routing/parseOffset.ts"
import { address, setQuery } from "../routing/router.ts"

export interface List<Page> extends QueryState<Page> {
  readonly limit: number
  readonly offset: number
  readonly goToOffset: (offset: number) => void
}

export interface ListOptions {
  readonly limit?: number | undefined
  /** The parameter of the address, for a page with several lists. */
  readonly offsetName?: string | undefined
}

export const useList = <Row, Page extends PageJson<Row> = PageJson<Row>>(
  path: string,
  query: Query = {},
  { limit = 50, offsetName = "offset" }: ListOptions = {}
): List<Page> => {
  const offset = parseOffset(address.value.query[offsetName])
  const page = useQuery(JSON.stringify([path, query, offset, limit]), (signal) =>
    get<Page>(path, { ...query, limit, offset }, signal)
  )
  return {
    ...useFormerData(page),
    limit,
    offset,
    goToOffset: (offset) => setQuery({ [offsetName]: offset || undefined })
  }
}
