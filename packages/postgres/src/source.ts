/**
 * Parses the first argument of `PostgresStore`. A pool is recognised by its methods, because your application may use
 * another copy of pg than this package.
 */

import { StoreOpenError } from "@tollgate/store"
import { Options } from "@tollgate/store/internal"
import { Client, Pool } from "pg"
import { withoutData } from "./classifyError.ts"
import { defaults, type PostgresStoreOptions } from "./options.ts"

/** A `Pool` of pg 8, from any copy of it. */
export interface PgPool {
  readonly options: object
  readonly connect: (...args: never) => unknown
  readonly query: (...args: never) => unknown
  readonly end: (...args: never) => unknown
  readonly totalCount: number
}

/** `postgres://…` or `postgresql://…`, or your application's pool, which stays yours. */
export type PostgresSource = string | PgPool

/** Milliseconds after which an attempt to connect fails, so that callers fail fast. */
const connectTimeoutMs = 2_000

export const openError = (location: string, problem: string, remedy: string, cause?: unknown): StoreOpenError =>
  new StoreOpenError({ location, problem, remedy, ...(cause === undefined ? {} : { cause: withoutData(cause) }) })

const isPool = (source: unknown): source is Pool =>
  Options.hasMethods(source, "connect", "query", "end", "on") &&
  typeof Reflect.get(Object(source), "totalCount") === "number"

/** Describes an invalid argument without printing it, because it may contain a password. */
const describeType = (source: unknown): string => {
  if (typeof source !== "object" || source === null) return source == null ? String(source) : `a ${typeof source}`
  if (Array.isArray(source)) return "an array"
  const name = source.constructor?.name ?? "Object"
  return name === "Object" ? "an object" : `a ${name}`
}

const sourceError = (source: unknown): StoreOpenError => {
  const invalidSource = (kind: string, remedy: string) =>
    openError("PostgreSQL store", `the first argument is ${kind}`, remedy)
  if (Options.hasMethods(source, "then"))
    return invalidSource("a promise", "Await it first, as in PostgresStore.open(await pool)")
  if (Options.hasMethods(source, "connect", "query", "end"))
    return invalidSource("one connection", "Pass a pg Pool: the store runs several queries at once")
  return invalidSource(describeType(source), "Pass a postgres:// URL as a string, or a pg Pool")
}

export interface Target {
  /** The location of the server, without its password. */
  readonly location: string
  /** Your application's pool, or an unconnected pool of the store's own. */
  readonly pool: Pool
  readonly isOwned: boolean
}

const describeServer = ({ host, port, database }: Client): string => {
  const server = host.startsWith("/") ? `${host} (port ${port})` : `${host}:${port}`
  return `PostgreSQL database ${database ?? ""} at ${server}`
}

const parseUrl = (url: string, options: PostgresStoreOptions): Target | StoreOpenError => {
  const remedy = "Use postgres://user:password@host:port/database"
  if (!/^postgres(ql)?:\/\//.test(url)) {
    const protocol = /^[a-z][a-z0-9+.-]*:(\/\/)?/i.exec(url)?.[0]
    const problem = protocol === undefined ? "the URL is not valid" : `${protocol} is not a PostgreSQL URL`
    return openError("PostgreSQL store", problem, remedy)
  }
  const settings = {
    connectionString: url,
    application_name: "tollgate",
    keepAlive: true,
    max: options.maxConnections ?? defaults.maxConnections,
    connectionTimeoutMillis: connectTimeoutMs
  }
  try {
    // Reads files that the URL names, such as certificates. Nothing connects.
    return { location: describeServer(new Client(settings)), pool: new Pool(settings), isOwned: true }
  } catch {
    return openError("PostgreSQL store", "the URL is not valid, or a file that it names cannot be read", remedy)
  }
}

/** Resolves the first argument to a location and a pool. Nothing connects. */
export const parseSource = (source: unknown, options: PostgresStoreOptions): Target | StoreOpenError => {
  if (typeof source === "string") return parseUrl(source, options)
  if (!isPool(source)) return sourceError(source)
  const location = describeServer(new Client(source.options))
  if (options.maxConnections !== undefined) {
    return openError(location, "maxConnections applies to a URL only", "Set max in the options of the pool")
  }
  if (source.ending) return openError(location, "the pool has been ended", "Open the store before you end the pool")
  if (Reflect.get(source.options, "binary") === true) {
    return openError(location, "the pool reads values as binary", "Pass a pool without the option binary")
  }
  return { location, pool: source, isOwned: false }
}
