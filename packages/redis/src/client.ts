/**
 * Creates the store's ioredis clients. Settings that safe writes depend on override those of your application's client.
 */
import type { Cluster, Redis } from "ioredis"
import type { RedisStoreOptions } from "./options.ts"
import { isCluster } from "./source.ts"

const retryStrategy = (times: number): number => Math.min(20 * times, 500)

/**
 * ioredis must not resend a command whose reply was lost, which would apply it twice, and must not wait for a reply
 * indefinitely. The store retries instead, because its commits carry an id.
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

/** Creates an unconnected client for the same server or cluster as `template`. */
export const makeClient = (template: Redis | Cluster, options: RedisStoreOptions): Redis | Cluster => {
  const commandTimeout = (options.commandTimeout ?? 2_000) + (options.waitReplicas?.timeout ?? 0)
  // Also drop a connection that receives nothing for that long: later commands on it would time out as well.
  const settings = { ...clientDefaults, commandTimeout, socketTimeout: commandTimeout }
  if (!isCluster(template)) {
    // After SELECT, the client uses that database rather than the one in its options.
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
    // ioredis resends a command that was redirected or lost its node. Limit this to about a second.
    maxRedirections: 4,
    retryDelayOnFailover: 50,
    retryDelayOnClusterDown: 50,
    retryDelayOnTryAgain: 50,
    redisOptions: { ...template.options.redisOptions, ...settings }
  })
}
