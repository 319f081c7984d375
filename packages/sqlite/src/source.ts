/**
 * The arguments of `SqliteStore`. They are validated before any file is opened or created.
 */

import type { ClockSource } from "@tollgate/store"
import { Options } from "@tollgate/store/internal"

/** The options of `SqliteStore.open` and `SqliteStore.layer`. */
export interface SqliteOptions {
  /**
   * - `full` (the default): an acknowledged write survives a power loss
   * - `normal`: faster; an acknowledged write survives a crash of the process, but a power loss may lose the latest ones
   */
  readonly durability?: "full" | "normal" | undefined
  /**
   * How much of the file a connection keeps in memory, at most; 32 by default. It grows only as pages are read. A key that
   * is verified often takes 16 KiB of it: with more than 2,000 such keys, a larger cache makes verifying faster.
   */
  readonly pageCacheMebibytes?: number | undefined
  /**
   * How much of the disk must be free, in mebibytes; 256 by default, 0 for no reserve. With less, large writes are refused
   * (507), while keys are verified, and requests limited and counted.
   */
  readonly freeDiskReserveMebibytes?: number | undefined
  /**
   * The clock of rate limits and of the expiry of counters. By default it counts with the monotonic clock, so that setting
   * the system clock opens no limit. With `caller` it follows the system clock forwards: use it in tests with fake timers.
   */
  readonly clock?: ClockSource | undefined
}

/** SQLite takes kibibytes, as an integer of 32 bits. */
const maxPageCacheMebibytes = 2 ** 20

export const sqliteOptions = Options.struct<SqliteOptions>()({
  durability: Options.optional(Options.literals(["full", "normal"])),
  pageCacheMebibytes: Options.optional(
    Options.positiveInteger(
      `must be a number of mebibytes, an integer from 1 to ${maxPageCacheMebibytes}`,
      maxPageCacheMebibytes
    )
  ),
  freeDiskReserveMebibytes: Options.optional(Options.freeDiskReserve),
  clock: Options.optional(Options.literals(["monotonic", "caller"]))
})

export interface ArgumentError {
  readonly problem: string
  readonly remedy: string
}

/** Checks methods rather than the class, because your application may use another copy of better-sqlite3. */
const isDatabase = (value: object): boolean =>
  Options.hasMethods(value, "pragma", "prepare", "backup") && "memory" in value

const describeType = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return value == null ? String(value) : `a ${typeof value}`
  if (Options.hasMethods(value, "then")) return "a promise"
  if (Options.hasMethods(value, "prepare", "exec", "createSession")) return "a database of node:sqlite"
  if (Array.isArray(value)) return "an array"
  const name = value.constructor?.name ?? "Object"
  return name === "Object" ? "an object" : `a ${name}`
}

export const checkSource = (source: unknown): ArgumentError | undefined => {
  if (typeof source === "string" || (typeof source === "object" && source !== null && isDatabase(source))) {
    return undefined
  }
  return {
    problem: `the first argument is ${describeType(source)}`,
    remedy: 'Pass a path, such as "data/tollgate.db", or ":memory:", or an open better-sqlite3 Database'
  }
}
