/**
 * Lets the requests that have arrived in one turn of the event loop be handled one after another. Their code and data then
 * stay in the caches of the processor, which between requests are taken by the rest of the server.
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

/** The requests that wait, by connection. The connection that is next comes first. */
const waiting = new Map<Connection, Queue>()
let count = 0
/** Whether a batch runs or is scheduled. */
let isRunning = false

const pause = (connection: Connection, queue: Queue): void => {
  if (connection.pause === undefined || queue.paused !== undefined) return
  const onResume = (): void => void connection.pause?.()
  const onClose = (): void => {
    waiting.delete(connection)
    count -= queue.requests.length
    for (const request of queue.requests.splice(0)) request(false)
  }
  queue.paused = { onResume, onClose }
  connection.on?.("resume", onResume)
  connection.once?.("close", onClose)
  connection.pause()
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

const remove = (connection: Connection, queue: Queue): void => {
  waiting.delete(connection)
  resume(connection, queue)
}

/** Takes one request of each connection in turn: a client that sends thousands of requests at once delays only its own. */
const takeNext = (): Resume | undefined => {
  for (const [connection, queue] of waiting) {
    const request = queue.requests.shift()
    if (queue.requests.length === 0) remove(connection, queue)
    else {
      // A connection that is added again is visited last.
      waiting.delete(connection)
      waiting.set(connection, queue)
      if (queue.requests.length < resumeBelow) resume(connection, queue)
    }
    if (request === undefined) continue
    count--
    return request
  }
  return undefined
}

const resumeBatch = async (): Promise<void> => {
  const end = performance.now() + maxBatchMs
  for (let taken = 1; taken <= maxBatchSize; taken++) {
    const request = takeNext()
    if (request === undefined) break
    request(true)
    if (taken % groupSize > 0) continue
    // The requests run before the time is looked at.
    await undefined
    if (performance.now() >= end) break
  }
  isRunning = waiting.size > 0
  if (isRunning) setImmediate(resumeBatch)
}

const addQueue = (connection: Connection): Queue => {
  const queue: Queue = { requests: [] }
  waiting.set(connection, queue)
  return queue
}

/**
 * Resolves when the event loop has read what has arrived, for all requests of this turn together: with `false` if the
 * connection is closed meanwhile, or if too many requests wait. Then the request is not to be served.
 */
export const nextBatch = (connection: object): Promise<boolean> =>
  new Promise((resolve) => {
    const queue = waiting.get(connection) ?? addQueue(connection)
    if (count >= maxWaiting || queue.requests.length >= maxWaitingOfConnection) return resolve(false)
    queue.requests.push(resolve)
    count++
    if (queue.requests.length > pauseAbove) pause(connection, queue)
    if (isRunning) return
    isRunning = true
    setImmediate(resumeBatch)
  })
