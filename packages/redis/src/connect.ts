/**
 * Opens the store's connections from a URL, ioredis options or your application's client, and checks the server.
 */
import { StoreOpenError } from "@tollgate/store"
import { Effect, type Scope } from "effect"
import type { Cluster, Redis } from "ioredis"
import { makeClient } from "./client.ts"
import { hasBrace, type RedisStoreOptions } from "./options.ts"
import { isCluster, openError, parseSource, type RedisSource, type Target } from "./source.ts"

export interface Connection {
  readonly client: Redis | Cluster
  /** Sends commits. With `waitReplicas` it is a second connection, so that WAIT does not block reads. */
  readonly writer: Redis | Cluster
  /** Reads what is long. Replies come in the order of the commands, so a long one delays all that was asked after it. */
  readonly lister: Redis | Cluster
  readonly prefix: string
  readonly isClosed: () => boolean
}

/** The first version with ZINTERCARD. */
const minRedisVersion = [7, 0] as const

const getInfoField = (info: string, name: string): string =>
  new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? ""

const isUnsupported = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major < minRedisVersion[0] || (major === minRedisVersion[0] && minor < minRedisVersion[1])
}

/** Logs a warning for each server setting that may lose acknowledged writes. */
const warnAboutDurability = Effect.fnUntraced(function* (client: Redis | Cluster, location: string) {
  // A managed Redis may forbid CONFIG. Then the settings cannot be checked.
  const getConfig = (name: string) =>
    Effect.orElseSucceed(
      Effect.tryPromise(async () => (await client.call("CONFIG", ["GET", name])) as ReadonlyArray<string>),
      (): ReadonlyArray<string> => []
    )
  const [, appendonly] = yield* getConfig("appendonly")
  const [, save] = yield* getConfig("save")
  const [, policy] = yield* getConfig("maxmemory-policy")
  const [, maxmemory] = yield* getConfig("maxmemory")
  if (appendonly === "no") {
    yield* Effect.logWarning(
      save === ""
        ? `The ${location} has no persistence: all data is lost when it stops. Set appendonly yes`
        : `The ${location} persists snapshots only: writes since the last snapshot are lost when it stops. Set appendonly yes`
    )
  }
  const [, coverage] = isCluster(client) ? yield* getConfig("cluster-require-full-coverage") : []
  if (coverage === "yes") {
    yield* Effect.logWarning(
      `The ${location} rejects all commands when one master is down. Set cluster-require-full-coverage no`
    )
  }
  if (policy !== undefined && policy !== "noeviction" && maxmemory !== "0") {
    yield* Effect.logWarning(
      `The ${location} evicts records when its memory is full (${policy}). Set maxmemory-policy noeviction`
    )
  }
})

const checkServerVersion = Effect.fnUntraced(function* (location: string, client: Redis | Cluster) {
  const info = yield* Effect.tryPromise(() => client.info("server"))
  const version = getInfoField(info, "redis_version")
  return isUnsupported(version)
    ? openError(location, `it is version ${version}`, `Run Redis ${minRedisVersion.join(".")} or later`)
    : undefined
})

const toOpenError = (location: string, cause: unknown): StoreOpenError => {
  const message = cause instanceof Error ? cause.message : ""
  if (/WRONGPASS|NOAUTH|NOPERM/.test(message)) {
    return openError(
      location,
      "it rejects the username or the password",
      "Check the credentials in the URL or the options",
      cause
    )
  }
  return openError(location, "it does not respond", "Start it, or check host, port and TLS", cause)
}

/** Validates the source before anything connects. */
const validate = (source: RedisSource): Effect.Effect<Target, StoreOpenError> => {
  const target = parseSource(source)
  if (target instanceof StoreOpenError) return Effect.fail(target)
  return hasBrace(target.template.options.keyPrefix ?? "")
    ? Effect.fail(openError(target.location, "its keyPrefix contains a brace", "Use a prefix without { and }"))
    : Effect.succeed(target)
}

/** Connects the store's own clients. Closing the scope disconnects these and no others. */
export const connect = (
  source: RedisSource,
  options: RedisStoreOptions
): Effect.Effect<Connection, StoreOpenError, Scope.Scope> =>
  Effect.gen(function* () {
    const { location, template } = yield* validate(source)
    let lastError: unknown
    let isClosed = false
    const acquireClient = Effect.acquireRelease(
      Effect.sync(() => {
        const client = makeClient(template, options)
        // Without a listener, ioredis prints every failed attempt to reconnect.
        client.on("error", (error) => (lastError = error))
        return client
      }),
      (client) =>
        Effect.sync(() => {
          isClosed = true
          client.disconnect()
        })
    )
    const open = Effect.tap(acquireClient, (client) =>
      Effect.tryPromise({ try: () => client.connect(), catch: (error) => toOpenError(location, lastError ?? error) })
    )
    const client = yield* open
    const writer = options.waitReplicas === undefined ? client : yield* open
    const lister = yield* open
    const versionError = yield* Effect.mapError(checkServerVersion(location, client), ({ cause }) =>
      toOpenError(location, cause)
    )
    if (versionError !== undefined) return yield* versionError
    yield* warnAboutDurability(client, location)
    const prefix = `${template.options.keyPrefix ?? ""}${options.prefix ?? "tollgate:"}`
    return { client, writer, lister, prefix, isClosed: () => isClosed }
  })
