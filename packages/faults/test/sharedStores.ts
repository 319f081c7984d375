/**
 * The stores that several processes can share, by kind and location. Worker processes import this file.
 */
import { join } from "node:path"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import type { ClosableStore, StoreOperations } from "@tollgate/store"
import { startPostgres, startRedis, temporaryFolder } from "@tollgate/testing"
import { Effect, type Scope } from "effect"

export const sharedStoreKinds = ["SQLite", "Redis", "Postgres"] as const
export type SharedStoreKind = (typeof sharedStoreKinds)[number]

export interface SharedStore {
  readonly store: SharedStoreKind
  /** A file path or the URL of a server. */
  readonly location: string
}

export const openSharedStore = ({ store, location }: SharedStore): Promise<ClosableStore<StoreOperations>> => {
  switch (store) {
    case "SQLite":
      return SqliteStore.open(location)
    case "Redis":
      return RedisStore.open(location)
    case "Postgres":
      return PostgresStore.open(location)
  }
}

/** Starts the server of a store, if it has one, or creates a folder for its file. */
export const startSharedStore = (store: SharedStoreKind): Effect.Effect<SharedStore, never, Scope.Scope> => {
  const location: Effect.Effect<string, never, Scope.Scope> = {
    SQLite: Effect.map(temporaryFolder, (folder) => join(folder, "store.db")),
    Redis: Effect.map(startRedis(), ({ url }) => url),
    Postgres: Effect.map(startPostgres(), ({ url }) => url)
  }[store]
  return Effect.map(location, (location) => ({ store, location }))
}
