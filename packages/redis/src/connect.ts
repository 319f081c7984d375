/**
 * From an address, options, or a client of the host's, to a connection with the settings that safe writing asks for.
 */
import { StoreOpenError } from "@tollgate/core"
import { Effect, type Scope } from "effect"
import type { Cluster, Redis } from "ioredis"
import { makeClient } from "./client.ts"
import { checkOptions, checkPrefix, type RedisStoreOptions } from "./options.ts"
import { isCluster, openError, type RedisSource, readSource, type Target } from "./source.ts"

export interface Connection {
  readonly client: Redis | Cluster
  /** Commits go through here: a connection of their own where they wait for replicas, so that nobody waits for them. */
  readonly writer: Redis | Cluster
  readonly prefix: string
  /** Whether the store has been closed by its owner. */
  readonly isClosed: () => boolean
}

/** The first with ZINTERCARD. */
const minRedisVersion = [7, 0] as const

const field = (info: string, name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? ""

const isOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major < minRedisVersion[0] || (major === minRedisVersion[0] && minor < minRedisVersion[1])
}

/** One line for whatever would lose writes that were answered. */
const warnAboutDurability = Effect.fnUntraced(function* (client: Redis | Cluster, location: string) {
  // A managed Redis may not let anybody ask; that is its keeper's to know.
  const ask = (name: string) =>
    Effect.orElseSucceed(
      Effect.tryPromise(async () => (await client.call("CONFIG", ["GET", name])) as ReadonlyArray<string>),
      (): ReadonlyArray<string> => []
    )
  const [, appendonly] = yield* ask("appendonly")
  const [, save] = yield* ask("save")
  const [, policy] = yield* ask("maxmemory-policy")
  const [, maxmemory] = yield* ask("maxmemory")
  if (appendonly === "no") {
    yield* Effect.logWarning(
      save === ""
        ? `The ${location} keeps nothing: all is lost when it stops. Set appendonly yes`
        : `The ${location} keeps snapshots only: what was written since the last one is lost when it stops. Set appendonly yes`
    )
  }
  const [, coverage] = isCluster(client) ? yield* ask("cluster-require-full-coverage") : []
  if (coverage === "yes") {
    yield* Effect.logWarning(
      `The ${location} refuses everything when one master is gone. Set cluster-require-full-coverage no`
    )
  }
  if (policy !== undefined && policy !== "noeviction" && maxmemory !== "0") {
    yield* Effect.logWarning(
      `The ${location} throws records away when its memory is full (${policy}). Set maxmemory-policy noeviction`
    )
  }
})

const checkServerVersion = Effect.fnUntraced(function* (location: string, client: Redis | Cluster) {
  const info = yield* Effect.tryPromise(() => client.info("server"))
  const version = field(info, "redis_version")
  return isOld(version)
    ? openError(location, `it is version ${version}`, `Run Redis ${minRedisVersion.join(".")} or later`)
    : undefined
})

const toOpenError = (location: string, cause: unknown): StoreOpenError => {
  const message = cause instanceof Error ? cause.message : ""
  if (/WRONGPASS|NOAUTH|NOPERM/.test(message)) {
    return openError(
      location,
      "it does not accept the user or the password",
      "Put the right ones into the address",
      cause
    )
  }
  return openError(location, "it does not answer", "Start it, or check host, port and TLS", cause)
}

/** Checks everything that can be checked before anything is connected. */
const check = (source: RedisSource, options: RedisStoreOptions): Effect.Effect<Target, StoreOpenError> => {
  const target = readSource(source)
  if (target instanceof StoreOpenError) return Effect.fail(target)
  const mistake = checkOptions(options) ?? checkPrefix(target.template.options.keyPrefix ?? "")
  return mistake === undefined
    ? Effect.succeed(target)
    : Effect.fail(openError(target.location, mistake.problem, mistake.remedy))
}

/** Connects a client of the store's own, and disconnects that and nothing else. */
export const connect = (
  source: RedisSource,
  options: RedisStoreOptions
): Effect.Effect<Connection, StoreOpenError, Scope.Scope> =>
  Effect.gen(function* () {
    const { location, template } = yield* check(source, options)
    let lastError: unknown
    let closed = false
    const connected = Effect.acquireRelease(
      Effect.sync(() => {
        const client = makeClient(template, options)
        // Without a listener, ioredis prints every failed attempt to reconnect.
        client.on("error", (error) => (lastError = error))
        return client
      }),
      (client) =>
        Effect.sync(() => {
          closed = true
          client.disconnect()
        })
    )
    const open = Effect.tap(connected, (client) =>
      Effect.tryPromise({ try: () => client.connect(), catch: (error) => toOpenError(location, lastError ?? error) })
    )
    const client = yield* open
    const writer = options.waitReplicas === undefined ? client : yield* open
    const wrong = yield* Effect.mapError(checkServerVersion(location, client), ({ cause }) =>
      toOpenError(location, cause)
    )
    if (wrong !== undefined) return yield* wrong
    yield* warnAboutDurability(client, location)
    const prefix = `${template.options.keyPrefix ?? ""}${options.prefix ?? "tollgate:"}`
    return { client, writer, prefix, isClosed: () => closed }
  })
