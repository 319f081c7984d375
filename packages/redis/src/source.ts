/**
 * What a store can be opened on. An ioredis client is recognised by its methods: the host's ioredis may be another copy,
 * or another major, than the one that this package imports.
 */
import { StoreOpenError } from "@tollgate/core"
import { type Cluster, Redis, type RedisOptions } from "ioredis"
import { withoutCommand } from "./classifyError.ts"
import { findMisplaced } from "./options.ts"

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

const hasMethods = (value: unknown, ...names: ReadonlyArray<string>): boolean =>
  typeof value === "object" && value !== null && names.every((name) => typeof Reflect.get(value, name) === "function")

const isClient = (source: unknown): source is Redis | Cluster =>
  hasMethods(source, "call", "connect", "defineCommand", "disconnect", "duplicate", "on", "pipeline")

export const isCluster = (client: Redis | Cluster): client is Cluster =>
  hasMethods(client, "nodes", "refreshSlotsCache")

const isPlainObject = (source: unknown): source is object => {
  if (typeof source !== "object" || source === null) return false
  const prototype: unknown = Object.getPrototypeOf(source)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Names a wrong argument without printing it: it may hold a password. */
const describeType = (source: unknown): string => {
  if (typeof source !== "object" || source === null) return source == null ? String(source) : `a ${typeof source}`
  return `a ${source.constructor?.name ?? "class instance"}`
}

const acceptedSources =
  "Give a redis:// or rediss:// URL as a string, the path of a Unix socket, ioredis options with a host, or an ioredis client"

const sourceError = (source: unknown): StoreOpenError => {
  const refuseAs = (kind: string, remedy: string) => openError("Redis store", `its first argument is ${kind}`, remedy)
  if (hasMethods(source, "then")) return refuseAs("a promise", "Await it first, as in RedisStore.open(await client)")
  if (hasMethods(source, "duplicate", "sendCommand")) {
    return refuseAs("a client of the redis package", "Give its URL as a string, or an ioredis client")
  }
  if (Array.isArray(source)) return refuseAs("an array", "For Redis Cluster, give new Cluster(nodes) of ioredis")
  return refuseAs(describeType(source), acceptedSources)
}

const checkUrl = (url: string): StoreOpenError | undefined => {
  const remedy = "Give redis://host:port, rediss://host:port, or the path of a socket"
  if (!URL.canParse(url)) return openError("Redis", "its address is not a URL", remedy)
  const { protocol, hostname } = new URL(url)
  if (protocol !== "redis:" && protocol !== "rediss:") {
    return openError(describeUrl(url), `${protocol}// is not a Redis address`, remedy)
  }
  return hostname === "" ? openError(describeUrl(url), "it names no host", remedy) : undefined
}

/** Without these, ioredis would connect to localhost:6379. */
const places = ["host", "path", "sentinels", "Connector"]

const checkIoredisOptions = (options: object): StoreOpenError | undefined => {
  const misplaced = findMisplaced(options)
  if (misplaced !== undefined) {
    const remedy = `Give it in the second argument, as in RedisStore.open(options, { ${misplaced} })`
    return openError("Redis store", `${misplaced} is not an option of ioredis`, remedy)
  }
  if (places.some((name) => Reflect.get(options, name) != null)) return undefined
  const names = Object.keys(options).join(", ")
  return openError(
    "Redis store",
    `its ioredis options name no server${names === "" ? "" : ` (they set ${names})`}`,
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
  /** Where the server is, without its password. */
  readonly location: string
  /** The host's client, or one made of its settings that never connects: the store connects duplicates of it. */
  readonly template: Redis | Cluster
}

const withoutConnecting = (client: Redis): Redis => {
  // A URL's query can set `lazyConnect` too, and wins over the options beside it.
  client.disconnect()
  return client
}

/** Tells what the host wants to connect to, or refuses it. Nothing is connected. */
export const readSource = (source: unknown): Target | StoreOpenError => {
  if (typeof source === "string") {
    const mistake = source.startsWith("/") ? undefined : checkUrl(source)
    if (mistake !== undefined) return mistake
    return { location: describeUrl(source), template: withoutConnecting(new Redis(source, { lazyConnect: true })) }
  }
  if (isClient(source)) return { location: describeClient(source), template: source }
  if (!isPlainObject(source) || hasMethods(source, "then")) return sourceError(source)
  const mistake = checkIoredisOptions(source)
  if (mistake !== undefined) return mistake
  const template = withoutConnecting(new Redis({ ...source, lazyConnect: true }))
  return { location: describeClient(template), template }
}
