export { type RedisCluster, startRedisCluster } from "./RedisCluster.ts"
export { freePort, type RedisServer, type RedisServerOptions, startRedis } from "./RedisServer.ts"
export { ensureRedis, redisBinary } from "./redisBinary.ts"
export { temporaryFolder } from "./temporaryFolder.ts"
