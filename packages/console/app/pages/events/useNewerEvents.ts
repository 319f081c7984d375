import { useState } from "preact/hooks"
import { get } from "../../api/request.ts"
import type { EventJson, PageJson } from "../../api/types.ts"
import { useInterval } from "../../timing/useInterval.ts"

const checkIntervalMs = 5_000

/** Whether there are events that are newer than the newest one shown. Asks only for the newest one. */
export const useNewerEvents = (
  path: string,
  filters: { readonly type: string; readonly subject: string },
  newestShown: string | undefined,
  isWatching: boolean
): boolean => {
  const [newest, setNewest] = useState<string>()
  const check = async (): Promise<void> => {
    // A failure is no news: the page shows the state of the connection, and the next check comes.
    const page = await get<PageJson<EventJson>>(path, { ...filters, limit: 1 }).catch(() => undefined)
    if (page !== undefined) setNewest(page.data[0]?.id)
  }
  useInterval(() => void check(), isWatching ? checkIntervalMs : undefined)
  return isWatching && newest !== undefined && newest !== newestShown
}
