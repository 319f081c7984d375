import { followEvents } from "@tollgate/ui/api/followEvents.ts"
import { useEffect, useRef, useState } from "preact/hooks"

/** How many lines the page keeps. */
const maxLines = 1_000

/**
 * The lines of a run as they are written. `onEvents` is called when some have arrived, and when the run is over. Without a
 * path, none are read, and those that were stay.
 */
export const useRunLog = (path: string | undefined, onEvents: (isOver: boolean) => void): ReadonlyArray<string> => {
  const [lines, setLines] = useState<ReadonlyArray<string>>([])
  const latest = useRef(onEvents)
  latest.current = onEvents
  useEffect(() => {
    if (path === undefined) return undefined
    const controller = new AbortController()
    const follow = async (): Promise<void> => {
      for await (const events of followEvents(path, controller.signal)) {
        const added = events.filter(({ event }) => event === "message").map(({ data }) => data)
        setLines((lines) => [...lines, ...added].slice(-maxLines))
        const isOver = added.length < events.length
        latest.current(isOver)
        if (isOver) return
      }
    }
    // Then the page has the lines of the run itself, which it reads from time to time.
    follow().catch(() => undefined)
    return () => controller.abort()
  }, [path])
  return lines
}
