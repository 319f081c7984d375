/**
 * Lets the requests that have arrived in one turn of the event loop be handled one after another. Their code and data then
 * stay in the caches of the processor, which between requests are taken by the rest of the server. With 8 to 256
 * connections, a request with a key takes 0.54 to 0.67 of the processor time that it takes without batches, and 0.83 to 1
 * with a meter on SQLite; with one connection, 1.0 to 1.1. `docs/design/performance.md` has the measurements.
 *
 * Node reads on while requests wait, because it stops only for responses that are not read. So a connection is paused while
 * many of its requests wait, and requests beyond a limit are refused.
 */
// Imported, so that it is Node's own also where a test has replaced the global one by a fake timer.
import { setImmediate } from "node:timers"

/** Between two batches, the event loop serves everything else. */
const maxBatchSize = 64
/** A batch ends after this time, even if it is smaller. The time is looked at after each group. */
const maxBatchMs = 10
const groupSize = 8

/** A connection is paused above this number of waiting requests, and resumed below the other. */
export const pauseAbove = 32
const resumeBelow = 16
/**
 * Maximum requests that wait, of one connection and of all. A paused connection has those that Node had read: up to 64 KiB,
 * which is some 2,000 requests. A connection of HTTP/2 cannot be paused.
 */
const maxWaitingOfConnection = 4_096
const maxWaiting = 32_768

/** What is used of a socket. Other connections, such as those of HTTP/2, lack methods. */
interface Connection {
  readonly pause?: () => unknown
  readonly resume?: () => unknown
  readonly on?: (event: string, listener: () => void) => unknown
  readonly once?: (event: string, listener: () => void) => unknown
  readonly off?: (event: string, listener: () => void) => unknown
  readonly writableNeedDrain?: boolean
}

type Resume = (isServed: boolean) => void

interface Queue {
  readonly requests: Array<Resume>
  /** Set while the connection is paused. */
  paused?: PausedListeners | undefined
}

interface PausedListeners {
  /** Node resumes the connection when responses were read: pauses it again. */
  readonly onResume: () => void
  /** Drops the requests. Without a pause there are few, which find out themselves that the connection is closed. */
  readonly onClose: () => void
}

export class RequestBatches {
  /** The requests that wait, by connection, at least one of each. The connection that is next comes first. */
  readonly #waiting = new Map<Connection, Queue>()
  #count = 0
  /** Whether a batch runs or is scheduled. */
  #isRunning = false

  /**
   * Resolves when the event loop has read what has arrived, for all requests of this turn together: with `false` if the
   * connection is closed meanwhile, or if too many requests wait. Then the request is not to be served.
   */
  next(connection: Connection): Promise<boolean> {
    const queue = this.#waiting.get(connection) ?? { requests: [] }
    if (this.#count >= maxWaiting || queue.requests.length >= maxWaitingOfConnection) return Promise.resolve(false)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    queue.requests.push(resolve)
    this.#waiting.set(connection, queue)
    this.#count++
    if (queue.requests.length > pauseAbove) this.#pause(connection, queue)
    if (!this.#isRunning) {
      this.#isRunning = true
      setImmediate(this.#resumeBatch)
    }
    return promise
  }

  /** Resumes one request of each connection in turn: a client that sends thousands at once delays only its own. */
  readonly #resumeBatch = async (): Promise<void> => {
    const end = performance.now() + maxBatchMs
    let resumed = 0
    for (const [connection, queue] of this.#waiting) {
      const request = queue.requests.shift()
      // A connection that is added again is visited last.
      this.#waiting.delete(connection)
      if (queue.requests.length > 0) this.#waiting.set(connection, queue)
      if (queue.paused !== undefined && queue.requests.length < resumeBelow) resume(connection, queue)
      this.#count--
      request?.(true)
      resumed++
      if (resumed % groupSize > 0) continue
      // The requests run before the time is looked at.
      await undefined
      if (resumed >= maxBatchSize || performance.now() >= end) break
    }
    this.#isRunning = this.#waiting.size > 0
    if (this.#isRunning) setImmediate(this.#resumeBatch)
  }

  #pause(connection: Connection, queue: Queue): void {
    if (connection.pause === undefined || queue.paused !== undefined) return
    const onResume = (): void => void connection.pause?.()
    const onClose = (): void => {
      this.#waiting.delete(connection)
      this.#count -= queue.requests.length
      for (const request of queue.requests.splice(0)) request(false)
    }
    queue.paused = { onResume, onClose }
    connection.on?.("resume", onResume)
    connection.once?.("close", onClose)
    connection.pause()
  }
}

const resume = (connection: Connection, queue: Queue): void => {
  if (queue.paused === undefined) return
  connection.off?.("resume", queue.paused.onResume)
  connection.off?.("close", queue.paused.onClose)
  queue.paused = undefined
  // Node has paused it as well, until its responses are read.
  if (connection.writableNeedDrain === true) connection.once?.("drain", () => connection.resume?.())
  else connection.resume?.()
}
