/**
 * Redis' failures, told so that somebody can act on them, and sorted by what they leave open.
 */
import { StoreUnavailable } from "@tollgate/core"

interface Fault {
  readonly problem: string
  /** Worth trying again at once, for a moment: the server is restarting, failing over, or was just out of reach. */
  readonly passing: boolean
  /** May succeed later, without anybody's doing. */
  readonly retryable: boolean
  /** The server has said that it did nothing, or was never reached. */
  readonly applied: "not-applied" | "unknown"
}

const getMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const replies: ReadonlyArray<readonly [RegExp, string, boolean]> = [
  [/^LOADING/, "Redis is loading its data", true],
  [/^(MOVED|ASK)/, "the Redis Cluster is moving slots", true],
  [
    /^(CLUSTERDOWN|TRYAGAIN|MASTERDOWN)|Cluster redirections.*CLUSTERDOWN/s,
    "the Redis Cluster is changing masters",
    true
  ],
  [/^(READONLY|UNBLOCKED)/, "this Redis is a replica now", true],
  [/^BUSY/, "Redis is busy with another script", true],
  [/^OOM/, "Redis is out of memory; raise maxmemory", false],
  [/^MISCONF/, "Redis cannot save to its disk and refuses writes", false],
  [/^(NOPERM|NOAUTH|WRONGPASS)/, "Redis does not let this user do that", false],
  [/^NOREPLICAS/, "too few replicas are connected to Redis", true]
]

const transient = (problem: string, passing = true): Fault => ({
  problem,
  passing,
  retryable: true,
  applied: "unknown"
})
const permanent = (problem: string, passing: boolean): Fault => ({
  problem,
  passing,
  retryable: passing,
  applied: "not-applied"
})

export const classifyError = (error: unknown): Fault => {
  const message = getMessage(error)
  const reply = replies.find(([pattern]) => pattern.test(message))
  if (reply !== undefined) return permanent(reply[1], reply[2])
  if (error instanceof TooFewReplicas) return transient(message, false)
  if (error instanceof Error && error.name === "ReplyError") {
    return permanent(`Redis refused (${message.split(" ", 1)[0]})`, false)
  }
  // Said by ioredis of a command that was never sent.
  if (/isn't writeable|Cluster isn't ready|Failed to refresh slots|None of startup nodes/.test(message)) {
    return permanent("Redis is not reachable", true)
  }
  // Not Redis' doing: a record that cannot be read, or a call that cannot be made.
  if (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) {
    return { problem: "the store's own code failed", passing: false, retryable: false, applied: "unknown" }
  }
  if (/timed out/i.test(message)) return transient("Redis did not answer in time", false)
  return transient("the connection to Redis was lost")
}

/** Redis cannot find a script after SCRIPT FLUSH or a restart. */
export const isScriptMissing = (error: unknown): boolean => getMessage(error).startsWith("NOSCRIPT")

/** Too few replicas have confirmed a write in time. It has been applied, and may yet be lost in a failover. */
export class TooFewReplicas extends Error {
  override readonly name = "TooFewReplicas"
}

/** A slot is elsewhere now. */
export const isSlotMoved = (error: unknown): boolean => /^(MOVED|ASK)/.test(getMessage(error))

/** An error without the command it came from: that has passwords and bodies in it. */
export const withoutCommand = (error: unknown): Error => {
  const copy = new Error(getMessage(error))
  if (error instanceof Error) copy.name = error.name
  return copy
}

export const unavailable = (
  operation: StoreUnavailable["operation"],
  error: unknown,
  outcome: StoreUnavailable["outcome"]
): StoreUnavailable => {
  const { problem, retryable } = classifyError(error)
  return new StoreUnavailable({ operation, problem, retryable, outcome, cause: withoutCommand(error) })
}

export const storeClosed = (
  operation: StoreUnavailable["operation"],
  outcome: StoreUnavailable["outcome"]
): StoreUnavailable =>
  new StoreUnavailable({ operation, problem: "the store has been closed", retryable: false, outcome })
