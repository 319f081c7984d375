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

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

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

const lost = (problem: string, passing = true): Fault => ({ problem, passing, retryable: true, applied: "unknown" })
const refused = (problem: string, passing: boolean): Fault => ({
  problem,
  passing,
  retryable: passing,
  applied: "not-applied"
})

export const faultOf = (error: unknown): Fault => {
  const message = messageOf(error)
  const reply = replies.find(([pattern]) => pattern.test(message))
  if (reply !== undefined) return refused(reply[1], reply[2])
  if (error instanceof TooFewReplicas) return lost(message, false)
  if (error instanceof Error && error.name === "ReplyError") {
    return refused(`Redis refused (${message.split(" ", 1)[0]})`, false)
  }
  // Said by ioredis of a command that was never sent.
  if (/isn't writeable|Cluster isn't ready|Failed to refresh slots|None of startup nodes/.test(message)) {
    return refused("Redis is not reachable", true)
  }
  // Not Redis' doing: a record that cannot be read, or a call that cannot be made.
  if (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) {
    return { problem: "the store's own code failed", passing: false, retryable: false, applied: "unknown" }
  }
  if (/timed out/i.test(message)) return lost("Redis did not answer in time", false)
  return lost("the connection to Redis was lost")
}

/** Redis cannot find a script after SCRIPT FLUSH or a restart. */
export const isScriptMissing = (error: unknown): boolean => messageOf(error).startsWith("NOSCRIPT")

/** Too few replicas have confirmed a write in time. It has been applied, and may yet be lost in a failover. */
export class TooFewReplicas extends Error {
  override readonly name = "TooFewReplicas"
}

/** A slot is elsewhere now. */
export const isMoved = (error: unknown): boolean => /^(MOVED|ASK)/.test(messageOf(error))

/** An error without the command it came from: that has passwords and bodies in it. */
export const plain = (error: unknown): Error => {
  const copy = new Error(messageOf(error))
  if (error instanceof Error) copy.name = error.name
  return copy
}

export const unavailable = (
  operation: StoreUnavailable["operation"],
  error: unknown,
  outcome: StoreUnavailable["outcome"]
): StoreUnavailable => {
  const { problem, retryable } = faultOf(error)
  return new StoreUnavailable({ operation, problem, retryable, outcome, cause: plain(error) })
}

export const closed = (
  operation: StoreUnavailable["operation"],
  outcome: StoreUnavailable["outcome"]
): StoreUnavailable =>
  new StoreUnavailable({ operation, problem: "the store has been closed", retryable: false, outcome })
