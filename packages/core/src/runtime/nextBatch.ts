/**
 * Lets the requests that have arrived in one turn of the event loop be handled one after another. Their code and data then
 * stay in the caches of the processor, which between requests are taken by the rest of the server.
 */
// Imported, so that it is Node's own also where a test has replaced the global one by a fake timer.
import { setImmediate } from "node:timers"

/** Between two batches, the event loop serves everything else. */
const maxBatchSize = 64

/** The requests that wait, by connection. The connection that is next comes first. */
const waiting = new Map<object, Array<() => void>>()

/** Takes one request of each connection in turn: a client that sends thousands of requests at once delays only its own. */
const takeBatch = (): ReadonlyArray<() => void> => {
  const batch: Array<() => void> = []
  // A connection that is added again is visited again.
  for (const [connection, requests] of waiting) {
    const request = requests.shift()
    if (request !== undefined) batch.push(request)
    waiting.delete(connection)
    if (requests.length > 0) waiting.set(connection, requests)
    if (batch.length === maxBatchSize) break
  }
  return batch
}

const resumeBatch = (): void => {
  const batch = takeBatch()
  if (waiting.size > 0) setImmediate(resumeBatch)
  for (const resume of batch) resume()
}

/** Resolves when the event loop has read what has arrived, for all requests of this turn together. */
export const nextBatch = (connection: object): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.size === 0) setImmediate(resumeBatch)
    const requests = waiting.get(connection)
    if (requests === undefined) waiting.set(connection, [resolve])
    else requests.push(resolve)
  })
