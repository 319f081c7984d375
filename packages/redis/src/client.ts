/**
 * Clients of the store's own, with the settings that safe writing asks for. They win over whatever the host has set.
 */
import type { Cluster, Redis } from "ioredis"
import type { RedisStoreOptions } from "./options.ts"
import { isCluster } from "./source.ts"

const retryStrategy = (times: number): number => Math.min(20 * times, 500)

/**
 * ioredis must neither send a command again when its reply is lost (which applies it twice) nor wait for it without end.
 * Repeating is left to the store, whose commits carry an id.
 */
const clientDefaults = {
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  keyPrefix: "",
  stringNumbers: false,
  protocol: 2,
  replyMapping: "legacy",
  readOnly: false,
  monitor: false,
  lazyConnect: true,
  connectTimeout: 5_000,
  retryStrategy
} as const

/** Makes a client that reaches the same server or cluster as `template`, and is not connected yet. */
export const makeClient = (template: Redis | Cluster, options: RedisStoreOptions): Redis | Cluster => {
  const commandTimeout = (options.commandTimeout ?? 2_000) + (options.waitReplicas?.timeout ?? 0)
  // A connection that has gone silent is dropped as well: its commands have timed out, and the next ones would too.
  const settings = { ...clientDefaults, commandTimeout, socketTimeout: commandTimeout }
  if (!isCluster(template)) {
    // A client that has sent SELECT points to that database, not to the one in its options.
    return template.duplicate({ ...settings, db: template.condition?.select ?? template.options.db })
  }
  return template.duplicate([], {
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    lazyConnect: true,
    scaleReads: "master",
    keyPrefix: "",
    clusterRetryStrategy: retryStrategy,
    clusterNodeRetryStrategy: null,
    // A command that lost its node is sent again at once; it must not be kept longer than a second by that.
    maxRedirections: 4,
    retryDelayOnFailover: 50,
    retryDelayOnClusterDown: 50,
    retryDelayOnTryAgain: 50,
    redisOptions: { ...template.options.redisOptions, ...settings }
  })
}
