/**
 * The options of `RedisStore`.
 */
import type { HostLogger } from "@tollgate/store"
import { hostLogger, Options } from "@tollgate/store/internal"

/** The options of `RedisStore.open` and `RedisStore.layer`. */
export interface RedisStoreOptions {
  /**
   * Prefix of every key, after the `keyPrefix` of the ioredis options or client. The default is `tollgate:`.
   */
  readonly prefix?: string | undefined
  /** Milliseconds after which a command without a reply fails. The default is 2000. */
  readonly commandTimeout?: number | undefined
  /**
   * Acknowledges a commit only when `count` replicas have it within `timeout` milliseconds. Without this option, a
   * failover may lose acknowledged writes.
   */
  readonly waitReplicas?: WaitReplicasOptions | undefined
  /**
   * Whose clock rate limits use. The default is the server's, which all processes share. `caller` is for tests: it uses
   * Effect's `Clock` in each process, so that a `TestClock` controls the limits.
   */
  readonly clock?: "server" | "caller" | undefined
  /** Where `open` logs warnings about the server's settings. The default writes lines of JSON to the standard error. */
  readonly logger?: HostLogger | undefined
}

/** How many replicas must have a commit, and within how many milliseconds. */
export interface WaitReplicasOptions {
  readonly count: number
  readonly timeout: number
}

/** Redis Cluster hashes the part of a key within its first braces, which must be the partition. */
export const hasBrace = (prefix: string): boolean => /[{}]/.test(prefix)

export const redisStoreOptions = Options.struct<RedisStoreOptions>()({
  prefix: Options.optional(
    Options.string('must be a string without { and }, such as "tollgate:"', (prefix) => !hasBrace(prefix))
  ),
  commandTimeout: Options.optional(Options.timeout()),
  waitReplicas: Options.optional(
    Options.struct<WaitReplicasOptions>()({
      count: Options.positiveInteger("must be a number of replicas, a positive integer"),
      timeout: Options.timeout()
    })
  ),
  clock: Options.optional(Options.literals(["server", "caller"])),
  logger: Options.optional(hostLogger)
})

/** Finds an option of the store among the ioredis options, where ioredis would ignore it. */
export const findMisplacedOption = (source: object): string | undefined =>
  Object.keys(source).find((name) => name === "prefix" || name === "waitReplicas" || name === "clock")
