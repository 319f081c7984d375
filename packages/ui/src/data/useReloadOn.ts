import { useEffect, useRef } from "preact/hooks"
import type { QueryState } from "./useQuery.ts"

/** Loads a query again when a number changes, which counts the changes that another part of the page has made. */
export const useReloadOn = ({ reload }: Pick<QueryState<unknown>, "reload">, revision: number): void => {
  const loadedRevision = useRef(revision)
  useEffect(() => {
    if (loadedRevision.current === revision) return
    loadedRevision.current = revision
    reload()
  }, [revision, reload])
}
