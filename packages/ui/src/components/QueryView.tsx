import type { ComponentChildren } from "preact"
import type { QueryState } from "../data/useQuery.ts"
import { ProblemNotice } from "./ProblemNotice.tsx"
import { Skeleton } from "./Skeleton.tsx"

/** Shows what a query has loaded, that it is loading, or why it failed. Data that is there stays while it loads again. */
export const QueryView = <A,>({
  query,
  children
}: {
  readonly query: QueryState<A>
  readonly children: (data: A) => ComponentChildren
}) => (
  <div aria-busy={query.isLoading}>
    {query.problem !== undefined && <ProblemNotice problem={query.problem} onRetry={query.reload} />}
    {query.data !== undefined ? children(query.data) : query.problem === undefined && <Skeleton />}
  </div>
)
