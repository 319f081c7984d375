/**
 * The stores that the service tests run against: memory, SQLite and a real Redis server.
 */
import { join } from "node:path"
import type { Store } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import { startRedis, temporaryFolder } from "@tollgate/testing"
import { Effect, Layer } from "effect"

export const stores: ReadonlyArray<readonly [name: string, layer: Layer.Layer<Store, unknown>]> = [
  ["memory", MemoryStore.layer],
  ["SQLite", Layer.unwrap(Effect.map(temporaryFolder, (folder) => SqliteStore.layer(join(folder, "store.db"))))],
  ["Redis", Layer.unwrap(Effect.map(startRedis(), ({ url }) => RedisStore.layer(url)))]
]

export const secret = "test-secret-with-at-least-32-characters"
export const tokens = {
  writer: "token-of-acme-that-may-write",
  reader: "token-of-acme-that-may-read",
  otherAccount: "token-of-another-account",
  admin: "token-for-all-accounts"
}
export const grants = [
  { token: tokens.writer, account: "acme" },
  { token: tokens.reader, account: "acme", access: "read" },
  { token: tokens.otherAccount, account: "other" },
  { token: tokens.admin, account: "*" }
] as const
