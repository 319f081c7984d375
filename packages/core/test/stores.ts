/**
 * The stores that the service tests run against: memory, SQLite, and real Redis and PostgreSQL servers.
 */
import { join } from "node:path"
import type { Store } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { startRedis, temporaryFolder } from "@tollgate/testing"
import { Effect, Layer } from "effect"
import { makePostgresLayer } from "./postgresLayer.ts"

export const stores: ReadonlyArray<readonly [name: string, layer: Layer.Layer<Store, unknown>]> = [
  ["memory", MemoryStore.layer],
  ["SQLite", Layer.unwrap(Effect.map(temporaryFolder, (folder) => SqliteStore.layer(join(folder, "store.db"))))],
  ["Redis", Layer.unwrap(Effect.map(startRedis(), ({ url }) => RedisStore.layer(url)))],
  ["Postgres", makePostgresLayer()]
]

export { grants, secret, tokens } from "./secrets.ts"
