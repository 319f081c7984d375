/**
 * `tollgate/redis`: the store in Redis.
 */
export * from "@tollgate/redis"
