/**
 * Whether the server can be reached. After a request has failed, asks the server every few seconds until it responds.
 */
import { signal } from "@preact/signals"

const retryIntervalMs = 3_000

const isLost = signal(false)
/** Increases each time the server can be reached again: what failed to load is then loaded again. */
const recoveries = signal(0)

const probe = async (): Promise<void> => {
  const response = await fetch(new URL("../healthz", location.href.split("#", 1)[0]), { cache: "no-store" }).catch(
    () => undefined
  )
  if (response !== undefined) connection.found()
  else if (isLost.value) setTimeout(probe, retryIntervalMs)
}

export const connection = {
  isLost,
  recoveries,
  lost(): void {
    if (isLost.value) return
    isLost.value = true
    setTimeout(probe, retryIntervalMs)
  },
  found(): void {
    if (!isLost.value) return
    isLost.value = false
    recoveries.value++
  }
}
