/**
 * The stores that a setting can name: `sqlite:PATH`, `memory:`, or the URL of a Redis or a PostgreSQL.
 */
import type { ClosableStore, StoreWithContents } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { PostgresStore } from "@tollgate/postgres"
import { RedisStore } from "@tollgate/redis"
import { SqliteStore } from "@tollgate/sqlite"

type OpenStore = ClosableStore<StoreWithContents>

export const storeForms = '"sqlite:PATH", "memory:", "postgres://…", "postgresql://…", "redis://…" or "rediss://…"'

const sqlitePrefix = "sqlite:"

const openers: ReadonlyArray<readonly [form: RegExp, open: (store: string) => OpenStore | Promise<OpenStore>]> = [
  [/^sqlite:.+$/, (store) => SqliteStore.open(store.slice(sqlitePrefix.length))],
  [/^memory:$/, () => MemoryStore.open()],
  [/^rediss?:\/\/.+$/, (store) => RedisStore.open(store)],
  [/^postgres(ql)?:\/\/.+$/, (store) => PostgresStore.open(store)]
]

const findOpener = (store: string) => openers.find(([form]) => form.test(store))?.[1]

export const isStore = (store: string): boolean => findOpener(store) !== undefined

/** The path of a SQLite store; `undefined` for other stores. */
export const getSqlitePath = (store: string): string | undefined =>
  store.startsWith(sqlitePrefix) ? store.slice(sqlitePrefix.length) : undefined

export const openStore = async (store: string): Promise<OpenStore> => {
  const open = findOpener(store)
  if (open === undefined) throw new Error(`A store must be ${storeForms}`)
  return open(store)
}
