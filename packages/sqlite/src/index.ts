export { BackupError, SqliteStore, type SqliteStoreOperations } from "./SqliteStore.ts"
export type { SqliteOptions } from "./source.ts"
