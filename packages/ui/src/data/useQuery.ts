/**
 * Loads data for a page. While it loads again, the page keeps showing what it has; a response that arrives late is ignored.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { type Problem, toProblem } from "../api/ApiError.ts"
import { connection } from "../session/connection.ts"

export interface QueryState<A> {
  /** What was loaded last. */
  readonly data: A | undefined
  readonly problem: Problem | undefined
  readonly isLoading: boolean
  readonly reload: () => void
  /** Loads again unless it is loading already: for timers, which would otherwise cut off slow responses. */
  readonly refresh: () => void
  /** Replaces what is shown, for a change that the server has confirmed or that can be taken back. */
  readonly setData: (change: (data: A) => A) => void
}

interface Loaded<A> {
  readonly key: string
  readonly data?: A
  readonly problem?: Problem
}

/** `key` identifies what is loaded: another key loads anew and shows nothing of the former. */
export const useQuery = <A>(key: string, load: (signal: AbortSignal) => Promise<A>): QueryState<A> => {
  const [loaded, setLoaded] = useState<Loaded<A>>()
  const [isLoading, setIsLoading] = useState(true)
  const [attempt, setAttempt] = useState(0)
  const recoveries = connection.recoveries.value
  useEffect(() => {
    const controller = new AbortController()
    setIsLoading(true)
    load(controller.signal).then(
      (data) => {
        if (controller.signal.aborted) return
        setLoaded({ key, data })
        setIsLoading(false)
      },
      (error) => {
        if (controller.signal.aborted) return
        setLoaded((former) => ({ ...(former?.key === key ? former : {}), key, problem: toProblem(error) }))
        setIsLoading(false)
      }
    )
    return () => controller.abort()
  }, [key, attempt, recoveries])
  const reload = useCallback(() => setAttempt((attempt) => attempt + 1), [])
  const isLoadingNow = useRef(isLoading)
  isLoadingNow.current = isLoading
  const refresh = useCallback(() => {
    if (!isLoadingNow.current) reload()
  }, [])
  const setData = useCallback(
    (change: (data: A) => A) =>
      setLoaded((former) => (former?.data === undefined ? former : { key: former.key, data: change(former.data) })),
    []
  )
  const current = loaded?.key === key ? loaded : undefined
  return { data: current?.data, problem: current?.problem, isLoading, reload, refresh, setData }
}
