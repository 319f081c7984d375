/**
 * Lets the requests that have arrived in one turn of the event loop be handled one after another. Their code and data then
 * stay in the caches of the processor, which between requests are taken by the rest of the server.
 */
// Imported, so that it is Node's own also where a test has replaced the global one by a fake timer.
import { setImmediate } from "node:timers"

/** A client that sends thousands of requests at once must not keep the others waiting. */
const maxBatchSize = 64

const waiting: Array<() => void> = []

const resumeBatch = (): void => {
  const batch = waiting.splice(0, maxBatchSize)
  if (waiting.length > 0) setImmediate(resumeBatch)
  for (const resume of batch) resume()
}

/** Resolves when the event loop has read what has arrived, for all callers of this turn together. */
export const nextBatch = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(resumeBatch)
  })
