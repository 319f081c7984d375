/**
 * The options of `PostgresStore`.
 */
import type { HostLogger } from "@tollgate/store"
import { hostLogger, Options } from "@tollgate/store/internal"

/** The options of `PostgresStore.open` and `PostgresStore.layer`. */
export interface PostgresStoreOptions {
  /** The schema of the tables and functions, which the store creates if it may. The default is `tollgate`. */
  readonly schema?: string | undefined
  /** Milliseconds after which a query without a response fails. The default is 5000. */
  readonly queryTimeout?: number | undefined
  /** The size of the pool that the store opens for a URL. The default is 10. A pool that you pass has its own size. */
  readonly maxConnections?: number | undefined
  /**
   * Whose clock rate limits use. The default is the server's, which all processes share. `caller` is for tests: it uses
   * Effect's `Clock` in each process, so that a `TestClock` controls the limits.
   */
  readonly clock?: "server" | "caller" | undefined
  /** Where `open` logs warnings about the server's settings. The default writes lines of JSON to the standard error. */
  readonly logger?: HostLogger | undefined
}

/** PostgreSQL shortens longer names without an error. */
const maxNameBytes = 63

/** The name is also in bodies of functions and in literals, which these characters could end. */
const isSchemaName = (name: string): boolean =>
  name.trim() !== "" && !/[\0$'\\]/.test(name) && name.isWellFormed() && Buffer.byteLength(name) <= maxNameBytes

export const schemaOption = Options.string(
  `must be the name of a schema, such as "tollgate", with at most ${maxNameBytes} bytes and without $, ' and \\`,
  isSchemaName
)

export const postgresStoreOptions = Options.struct<PostgresStoreOptions>()({
  schema: Options.optional(schemaOption),
  queryTimeout: Options.optional(Options.timeout()),
  maxConnections: Options.optional(Options.positiveInteger()),
  clock: Options.optional(Options.literals(["server", "caller"])),
  logger: Options.optional(hostLogger)
})

export const defaults = { schema: "tollgate", queryTimeout: 5_000, maxConnections: 10 } as const
