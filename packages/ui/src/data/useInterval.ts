import { useEffect, useRef } from "preact/hooks"

/** Calls `perform` repeatedly while the page is visible. `undefined` stops. */
export const useInterval = (perform: () => void, intervalMs: number | undefined): void => {
  const latest = useRef(perform)
  latest.current = perform
  useEffect(() => {
    if (intervalMs === undefined) return
    const timer = setInterval(() => {
      if (!document.hidden) latest.current()
    }, intervalMs)
    return () => clearInterval(timer)
  }, [intervalMs])
}
