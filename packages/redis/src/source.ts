/**
 * Parses the first argument of `RedisStore`. An ioredis client is recognised by its methods, because your application
 * may use another copy or another major version of ioredis than this package.
 */

import { StoreOpenError } from "@tollgate/store"
import { Options } from "@tollgate/store/internal"
import { type Cluster, Redis, type RedisOptions } from "ioredis"
import { withoutCommand } from "./classifyError.ts"
import { findMisplacedOption } from "./options.ts"

/** A `Redis` or `Cluster` of ioredis 5 or 6, from any copy of it. */
export interface IoredisClient {
  readonly options: object
  readonly call: (...args: never) => unknown
  readonly defineCommand: (...args: never) => unknown
  readonly duplicate: (...args: never) => unknown
}

/** `redis://…`, `rediss://…`, the path of a Unix socket, ioredis options, or an ioredis client, which is duplicated. */
export type RedisSource = string | RedisOptions | IoredisClient

export const openError = (location: string, problem: string, remedy: string, cause?: unknown): StoreOpenError =>
  new StoreOpenError({ location, problem, remedy, ...(cause === undefined ? {} : { cause: withoutCommand(cause) }) })

const isClient = (source: unknown): source is Redis | Cluster =>
  Options.hasMethods(source, "call", "connect", "defineCommand", "disconnect", "duplicate", "on", "pipeline")

export const isCluster = (client: Redis | Cluster): client is Cluster =>
  Options.hasMethods(client, "nodes", "refreshSlotsCache")

/** Describes an invalid argument without printing it, because it may contain a password. */
const describeType = (source: unknown): string => {
  if (typeof source !== "object" || source === null) return source == null ? String(source) : `a ${typeof source}`
  return `a ${source.constructor?.name ?? "class instance"}`
}

const acceptedSources =
  "Pass a redis:// or rediss:// URL as a string, the path of a Unix socket, ioredis options with a host, or an ioredis client"

const sourceError = (source: unknown): StoreOpenError => {
  const invalidSource = (kind: string, remedy: string) =>
    openError("Redis store", `the first argument is ${kind}`, remedy)
  if (Options.hasMethods(source, "then"))
    return invalidSource("a promise", "Await it first, as in RedisStore.open(await client)")
  if (Options.hasMethods(source, "duplicate", "sendCommand")) {
    return invalidSource("a client of the redis package", "Pass its URL as a string, or an ioredis client")
  }
  if (Array.isArray(source))
    return invalidSource("an array", "For Redis Cluster, pass an ioredis Cluster: new Cluster(nodes)")
  return invalidSource(describeType(source), acceptedSources)
}

const checkUrl = (url: string): StoreOpenError | undefined => {
  const remedy = "Use redis://host:port, rediss://host:port, or the path of a Unix socket"
  if (!URL.canParse(url)) return openError("Redis store", "the URL is not valid", remedy)
  const { protocol, hostname } = new URL(url)
  if (protocol !== "redis:" && protocol !== "rediss:") {
    return openError(describeUrl(url), `${protocol}// is not a Redis URL`, remedy)
  }
  return hostname === "" ? openError(describeUrl(url), "the URL has no host", remedy) : undefined
}

/** With none of these options, ioredis would connect to localhost:6379. */
const serverOptions = ["host", "path", "sentinels", "Connector"]

const checkIoredisOptions = (options: object): StoreOpenError | undefined => {
  const misplaced = findMisplacedOption(options)
  if (misplaced !== undefined) {
    const remedy = `Pass it in the second argument, as in RedisStore.open(options, { ${misplaced} })`
    return openError("Redis store", `${misplaced} is not an ioredis option`, remedy)
  }
  if (serverOptions.some((name) => Reflect.get(options, name) != null)) return undefined
  const names = Object.keys(options).join(", ")
  return openError(
    "Redis store",
    `the ioredis options name no server${names === "" ? "" : ` (they set ${names})`}`,
    "Set host and port, or path, or sentinels and name"
  )
}

const describeUrl = (url: string): string => {
  if (url.startsWith("/")) return `Redis at ${url.split("?", 1)[0]}`
  const { protocol, host, pathname } = new URL(url)
  return `Redis at ${protocol}//${host}${pathname}`
}

const describeClient = (client: Redis | Cluster): string => {
  if (isCluster(client)) return "Redis Cluster"
  const { path, host, port, sentinels, name } = client.options
  return sentinels == null ? `Redis at ${path ?? `${host}:${port}`}` : `Redis ${name ?? ""} behind sentinels`
}

export interface Target {
  /** The location of the server, without its password. */
  readonly location: string
  /**
   * Your application's client, or an unconnected client with the given settings. The store connects duplicates of it.
   */
  readonly template: Redis | Cluster
}

const preventConnecting = (client: Redis): Redis => {
  // The query of a URL can set `lazyConnect` too, and overrides the options.
  client.disconnect()
  return client
}

/** Resolves the first argument to a location and a template client. Nothing connects. */
export const parseSource = (source: unknown): Target | StoreOpenError => {
  if (typeof source === "string") {
    const invalid = source.startsWith("/") ? undefined : checkUrl(source)
    if (invalid !== undefined) return invalid
    return { location: describeUrl(source), template: preventConnecting(new Redis(source, { lazyConnect: true })) }
  }
  if (isClient(source)) return { location: describeClient(source), template: source }
  if (!Options.isPlainObject(source) || Options.hasMethods(source, "then")) return sourceError(source)
  const invalid = checkIoredisOptions(source)
  if (invalid !== undefined) return invalid
  const template = preventConnecting(new Redis({ ...source, lazyConnect: true }))
  return { location: describeClient(template), template }
}
