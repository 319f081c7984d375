/**
 * The stores that a test run uses, and where its servers are. Configurations of Vitest provide them.
 */
import type {} from "vitest"

export type StoreName = "memory" | "SQLite" | "Redis" | "Postgres"

declare module "vitest" {
  interface ProvidedContext {
    /** The stores that service tests run against. */
    readonly stores: ReadonlyArray<StoreName>
    /** The Redis of the test run, for tests that do not stop it. */
    readonly redisUrl: string
    /** The PostgreSQL of the test run, for tests that do not stop it. */
    readonly postgresUrl: string
  }
}
