/**
 * From an address, options, or a client of the host's, to a connection with the settings that safe writing asks for.
 */
import { StoreOpenError } from "@tollgate/core"
import { Effect, type Scope } from "effect"
import { Cluster, Redis, type RedisOptions } from "ioredis"
import { plain } from "./faults.ts"

/** `redis://…`, `rediss://…`, the path of a socket, ioredis' own options, or a client, which is duplicated. */
export type RedisSource = string | RedisOptions | Redis | Cluster

export interface RedisStoreOptions {
  /** Stands in front of every key. The default is `tollgate:`, behind the key prefix of a client that is handed in. */
  readonly prefix?: string
  /** Milliseconds after which a command that was not answered has failed. The default is 2000. */
  readonly commandTimeout?: number
  /**
   * Answers a commit only when so many replicas have it, within so many milliseconds: without it, a failover may lose
   * writes that were answered.
   */
  readonly waitReplicas?: { readonly count: number; readonly timeout: number }
}

export interface Connection {
  readonly client: Redis | Cluster
  /** Commits go through here: a connection of their own where they wait for replicas, so that nobody waits for them. */
  readonly writer: Redis | Cluster
  readonly prefix: string
  /** Whether the store has been closed by its owner. */
  readonly isClosed: () => boolean
}

/** The first with ZINTERCARD. */
const oldestRedis = [7, 0] as const

/**
 * What a lost reply must not do: be sent again by the client (which applies it twice) or be waited for without end.
 * Repeating is left to the store, whose commits carry an id.
 */
const safety = {
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  keyPrefix: "",
  stringNumbers: false,
  protocol: 2,
  replyMapping: "legacy",
  lazyConnect: true,
  connectTimeout: 5_000,
  retryStrategy: (times: number) => Math.min(20 * times, 500)
} as const

const isClient = (source: RedisSource): source is Redis | Cluster =>
  source instanceof Redis || source instanceof Cluster

const address = (options: RedisOptions): string =>
  options.path ?? `${options.host ?? "localhost"}:${options.port ?? 6379}`

/** Where the server is, without its password. */
const locate = (source: RedisSource): string => {
  if (typeof source === "string") {
    if (source.startsWith("/")) return `Redis at ${source.split("?", 1)[0]}`
    const { protocol, host, pathname } = new URL(source)
    return `Redis at ${protocol}//${host}${pathname}`
  }
  if (source instanceof Redis) return `Redis at ${address(source.options)}`
  if (source instanceof Cluster) return "Redis Cluster"
  return `Redis at ${address(source)}`
}

const refuse = (source: RedisSource, problem: string, remedy: string, cause?: unknown): StoreOpenError =>
  new StoreOpenError({
    location: locate(source),
    problem,
    remedy,
    ...(cause === undefined ? {} : { cause: plain(cause) })
  })

const precheck = (source: RedisSource, options: RedisStoreOptions): StoreOpenError | undefined => {
  if (options.prefix !== undefined && /[{}]/.test(options.prefix)) {
    return refuse(source, `the prefix "${options.prefix}" has a brace in it`, "Choose one without { and }")
  }
  if (typeof source !== "string" || source.startsWith("/")) return undefined
  const remedy = "Give redis://host:port, rediss://host:port, or the path of a socket"
  if (!URL.canParse(source)) {
    return new StoreOpenError({ location: "Redis", problem: "its address is not a URL", remedy })
  }
  const { protocol, hostname } = new URL(source)
  if (protocol !== "redis:" && protocol !== "rediss:")
    return refuse(source, `${protocol}// is not a Redis address`, remedy)
  return hostname === "" ? refuse(source, "it names no host", remedy) : undefined
}

const clientFor = (source: RedisSource, options: RedisStoreOptions): Redis | Cluster => {
  const commandTimeout = (options.commandTimeout ?? 2_000) + (options.waitReplicas?.timeout ?? 0)
  // A connection that has gone silent is dropped as well: its commands have timed out, and the next ones would too.
  const settings = { ...safety, commandTimeout, socketTimeout: commandTimeout }
  if (source instanceof Cluster) {
    return source.duplicate([], {
      enableOfflineQueue: false,
      enableAutoPipelining: false,
      lazyConnect: true,
      scaleReads: "master",
      keyPrefix: "",
      clusterRetryStrategy: (times: number) => Math.min(20 * times, 500),
      // A command that lost its node is sent again at once; it must not be kept longer than a second by that.
      maxRedirections: 4,
      retryDelayOnFailover: 50,
      retryDelayOnClusterDown: 50,
      retryDelayOnTryAgain: 50,
      redisOptions: { ...source.options.redisOptions, ...settings }
    })
  }
  if (source instanceof Redis) return source.duplicate(settings)
  if (typeof source === "string") return new Redis(source, settings)
  return new Redis({ ...source, ...settings })
}

const prefixFor = (source: RedisSource, options: RedisStoreOptions): string =>
  options.prefix ??
  `${(isClient(source) ? source.options : typeof source === "string" ? {} : source).keyPrefix ?? ""}tollgate:`

const field = (info: string, name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? ""

const isOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major < oldestRedis[0] || (major === oldestRedis[0] && minor < oldestRedis[1])
}

/** One line for whatever would lose writes that were answered. */
const warnOfLoss = Effect.fnUntraced(function* (client: Redis | Cluster, location: string) {
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
  const [, coverage] = client instanceof Cluster ? yield* ask("cluster-require-full-coverage") : []
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

const wrongServer = Effect.fnUntraced(function* (source: RedisSource, client: Redis | Cluster) {
  const info = yield* Effect.tryPromise(() => client.info("server"))
  const version = field(info, "redis_version")
  return isOld(version)
    ? refuse(source, `it is version ${version}`, `Run Redis ${oldestRedis.join(".")} or later`)
    : undefined
})

const explain = (source: RedisSource, cause: unknown): StoreOpenError => {
  const message = cause instanceof Error ? cause.message : ""
  if (/WRONGPASS|NOAUTH|NOPERM/.test(message)) {
    return refuse(source, "it does not accept the user or the password", "Put the right ones into the address", cause)
  }
  return refuse(source, "it does not answer", "Start it, or check host, port and TLS", cause)
}

/** Connects a client of the store's own, and disconnects that and nothing else. */
export const connect = (
  source: RedisSource,
  options: RedisStoreOptions
): Effect.Effect<Connection, StoreOpenError, Scope.Scope> =>
  Effect.gen(function* () {
    const refusal = precheck(source, options)
    if (refusal !== undefined) return yield* refusal
    let lastError: unknown
    let closed = false
    const connected = Effect.acquireRelease(
      Effect.sync(() => {
        const client = clientFor(source, options)
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
      Effect.tryPromise({ try: () => client.connect(), catch: (error) => explain(source, lastError ?? error) })
    )
    const client = yield* open
    const writer = options.waitReplicas === undefined ? client : yield* open
    const wrong = yield* Effect.mapError(wrongServer(source, client), ({ cause }) => explain(source, cause))
    if (wrong !== undefined) return yield* wrong
    yield* warnOfLoss(client, locate(source))
    return { client, writer, prefix: prefixFor(source, options), isClosed: () => closed }
  })
