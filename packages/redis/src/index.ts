export type { RedisStoreOptions, WaitReplicasOptions } from "./options.ts"
export { RedisStore } from "./RedisStore.ts"
export type { IoredisClient, RedisSource } from "./source.ts"
