import { useRef } from "preact/hooks"
import type { QueryState } from "./useQuery.ts"

/** Keeps the former page of a list in view while the next one loads, so that nothing jumps and buttons keep the focus. */
export const useFormerData = <A>(query: QueryState<A>): QueryState<A> => {
  const former = useRef<A>(undefined)
  former.current = query.problem === undefined ? (query.data ?? former.current) : query.data
  return { ...query, data: former.current }
}
