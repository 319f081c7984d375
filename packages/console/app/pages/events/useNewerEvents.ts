import { get, type Query } from "@tollgate/ui/api/request.ts"
import { useInterval } from "@tollgate/ui/data/useInterval.ts"
import { useRef, useState } from "preact/hooks"
import type { EventJson, PageJson } from "../../api/types.ts"

const checkIntervalMs = 5_000

/** Whether there are events that are newer than the newest one shown. Asks only for the newest one. */
export const useNewerEvents = (
  path: string,
  filters: Query,
  newestShown: string | undefined,
  isWatching: boolean
): boolean => {
  const [newest, setNewest] = useState<{ readonly key: string; readonly id: string | undefined }>()
  const isChecking = useRef(false)
  // What was found belongs to these filters and to what is shown now.
  const key = JSON.stringify([path, filters, newestShown])
  const check = async (): Promise<void> => {
    if (isChecking.current) return
    isChecking.current = true
    // A failure is no news: the page shows the state of the connection, and the next check comes.
    const page = await get<PageJson<EventJson>>(path, { ...filters, limit: 1 }).catch(() => undefined)
    isChecking.current = false
    if (page !== undefined) setNewest({ key, id: page.data[0]?.id })
  }
  useInterval(() => void check(), isWatching ? checkIntervalMs : undefined)
  return isWatching && newest?.key === key && newest.id !== undefined && newest.id !== newestShown
}
