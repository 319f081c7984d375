export type { SqliteOptions } from "./connect.ts"
export { BackupFailed, SqliteStore, type SqliteStoreOperations } from "./SqliteStore.ts"
