/**
 * Classifies errors from Redis and ioredis: a message, whether to retry, and whether the command may have been applied.
 */
import type { ErrorClass } from "@tollgate/store/internal"

const getMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const errorReplies: ReadonlyArray<readonly [pattern: RegExp, problem: string, isTransient: boolean]> = [
  [/^LOADING/, "Redis is loading its data", true],
  [/^(MOVED|ASK)/, "the Redis Cluster is moving slots", true],
  [
    /^(CLUSTERDOWN|TRYAGAIN|MASTERDOWN)|Cluster redirections.*CLUSTERDOWN/s,
    "the Redis Cluster is changing masters",
    true
  ],
  [/^(READONLY|UNBLOCKED)/, "this Redis server has become a replica", true],
  [/^BUSY/, "Redis is busy running another script", true],
  [/^OOM/, "Redis is out of memory; raise maxmemory", false],
  [/^MISCONF/, "Redis cannot write to its disk and rejects writes", false],
  [/^(NOPERM|NOAUTH|WRONGPASS)/, "this Redis user lacks permission", false],
  [/^NOREPLICAS/, "too few replicas are connected to Redis", true]
]

const outcomeUnknown = (problem: string, isTransient = true): ErrorClass => ({
  problem,
  isTransient,
  retryable: true,
  outcome: "unknown"
})
const outcomeNotApplied = (problem: string, isTransient: boolean): ErrorClass => ({
  problem,
  isTransient,
  retryable: isTransient,
  outcome: "not-applied"
})

export const classifyError = (error: unknown): ErrorClass => {
  const message = getMessage(error)
  const reply = errorReplies.find(([pattern]) => pattern.test(message))
  if (reply !== undefined) return outcomeNotApplied(reply[1], reply[2])
  if (error instanceof TooFewReplicas) return outcomeUnknown(message, false)
  if (error instanceof Error && error.name === "ReplyError") {
    return outcomeNotApplied(`Redis rejected the command (${message.split(" ", 1)[0]})`, false)
  }
  // ioredis reports these for a command that it did not send.
  if (/isn't writeable|Cluster isn't ready|Failed to refresh slots|None of startup nodes/.test(message)) {
    return outcomeNotApplied("Redis is not reachable", true)
  }
  // Not an error from Redis: the store failed to decode a record or made an invalid call.
  if (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) {
    return {
      problem: "the store failed with an internal error",
      isTransient: false,
      retryable: false,
      outcome: "unknown"
    }
  }
  if (/timed out/i.test(message)) return outcomeUnknown("Redis did not respond in time", false)
  return outcomeUnknown("the connection to Redis was lost")
}

/** Redis loses its script cache on SCRIPT FLUSH and on a restart. */
export const isScriptMissing = (error: unknown): boolean => getMessage(error).startsWith("NOSCRIPT")

/** Too few replicas confirmed a write in time. The primary has applied it, but a failover may lose it. */
export class TooFewReplicas extends Error {
  override readonly name = "TooFewReplicas"
}

/** The slot of a key has moved to another cluster node. */
export const isSlotMoved = (error: unknown): boolean => /^(MOVED|ASK)/.test(getMessage(error))

/** Copies an error without its command, which may contain passwords and record bodies. */
export const withoutCommand = (error: unknown): Error => {
  // The message of a JSON error quotes the stored text.
  const copy = new Error(error instanceof SyntaxError ? "" : getMessage(error))
  if (error instanceof Error) copy.name = error.name
  return copy
}
