import { useEffect } from "preact/hooks"

/** While something would be lost, the browser asks before it closes or reloads the tab. */
export const useLeaveWarning = (isNeeded: boolean): void => {
  useEffect(() => {
    if (!isNeeded) return undefined
    const warn = (event: Event): void => event.preventDefault()
    addEventListener("beforeunload", warn)
    return () => removeEventListener("beforeunload", warn)
  }, [isNeeded])
}
