/**
 * How docs/operations/backup.md backs up and restores each store, with the programs of the database itself.
 */
import { execFile } from "node:child_process"
import { copyFile, mkdir } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"
import type { ClosableStore, StoreOperations } from "@tollgate/store"
import {
  createDatabase,
  ensurePostgres,
  eventually,
  startPostgres,
  startRedis,
  temporaryFolder
} from "@tollgate/testing"
import { Effect, type Scope } from "effect"

type OpenStore = ClosableStore<StoreOperations>

export interface BackedUpStore {
  /** The store of the server that runs. */
  readonly store: OpenStore
  /** Writes a backup into a folder while the store is in use. */
  readonly backUp: (folder: string) => Promise<void>
  /** Opens a store that has nothing but the backup in this folder. Can be called once. */
  readonly restore: (folder: string) => Effect.Effect<OpenStore, never, Scope.Scope>
}

const run = async (program: string, ...args: ReadonlyArray<string>): Promise<string> =>
  (await promisify(execFile)(program, args)).stdout

const sqlite = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const store = yield* Effect.promise(() => SqliteStore.open(join(folder, "tollgate.db")))
  return {
    store,
    backUp: (backup) => store.backup(join(backup, "tollgate.db")),
    restore: (backup) =>
      Effect.promise(async () => {
        const data = join(backup, "data")
        await mkdir(data)
        await copyFile(join(backup, "tollgate.db"), join(data, "tollgate.db"))
        return SqliteStore.open(join(data, "tollgate.db"))
      })
  } satisfies BackedUpStore
})

const postgres = Effect.gen(function* () {
  const installation = ensurePostgres(["initdb", "postgres", "pg_dump", "pg_restore"])
  const server = yield* startPostgres({ installation })
  const findProgram = (name: string) => join(installation.folder, name)
  const { url } = yield* createDatabase(server.url)
  const store = yield* Effect.promise(() => PostgresStore.open(url))
  return {
    store,
    backUp: async (backup) => {
      await run(
        findProgram("pg_dump"),
        "--schema=tollgate",
        "--format=custom",
        `--file=${join(backup, "tollgate.dump")}`,
        url
      )
    },
    restore: (backup) =>
      Effect.gen(function* () {
        const { url: emptyDatabase } = yield* createDatabase(server.url)
        yield* Effect.promise(() =>
          run(
            findProgram("pg_restore"),
            "--exit-on-error",
            "--single-transaction",
            `--dbname=${emptyDatabase}`,
            join(backup, "tollgate.dump")
          )
        )
        return yield* Effect.promise(() => PostgresStore.open(emptyDatabase))
      })
  } satisfies BackedUpStore
})

const redis = Effect.gen(function* () {
  const server = yield* startRedis({ tcp: true })
  const store = yield* Effect.promise(() => RedisStore.open(server.url))
  return {
    store,
    backUp: async (backup) => {
      await run("redis-cli", "-u", server.url, "--rdb", join(backup, "tollgate.rdb"))
    },
    restore: (backup) =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        yield* Effect.promise(() => copyFile(join(backup, "tollgate.rdb"), join(folder, "dump.rdb")))
        // With an append-only file, Redis would not read the snapshot.
        const loading = yield* startRedis({ tcp: true, folder, arguments: ["--appendonly", "no"] })
        yield* Effect.promise(async () => {
          await run("redis-cli", "-u", loading.url, "config", "set", "appendonly", "yes")
          await eventually(async () => {
            const info = await run("redis-cli", "-u", loading.url, "info", "persistence")
            if (!/aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/.test(info)) throw new Error(info)
          })
        })
        yield* loading.kill
        const restored = yield* startRedis({ tcp: true, folder })
        return yield* Effect.promise(() => RedisStore.open(restored.url))
      })
  } satisfies BackedUpStore
})

export const backedUpStores: Readonly<Record<string, Effect.Effect<BackedUpStore, never, Scope.Scope>>> = {
  SQLite: sqlite,
  PostgreSQL: postgres,
  Redis: redis
}
