export type { RedisSource, RedisStoreOptions } from "./connect.ts"
export { RedisStore } from "./RedisStore.ts"
