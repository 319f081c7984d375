export type { MigrationSqlOptions } from "./migrate.ts"
export type { PostgresStoreOptions } from "./options.ts"
export { PostgresStore } from "./PostgresStore.ts"
export type { PgPool, PostgresSource } from "./source.ts"
