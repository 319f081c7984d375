/**
 * The stores that a setting can name: `sqlite:PATH`, `memory:`, or the URL of a Redis or a PostgreSQL.
 */

import { MemoryStore } from "tollgate/memory"
import { PostgresStore } from "tollgate/postgres"
import { RedisStore } from "tollgate/redis"
import { SqliteStore } from "tollgate/sqlite"

type OpenStore = Awaited<ReturnType<typeof RedisStore.open>>

export const storeForms = '"sqlite:PATH", "memory:", "postgres://…", "postgresql://…", "redis://…" or "rediss://…"'

const sqlitePrefix = "sqlite:"

interface OpenOptions {
  /** `caller`: the store takes the time from the services, which may be in the past. */
  readonly clock?: "caller" | undefined
}

type Open = (store: string, options: OpenOptions) => OpenStore | Promise<OpenStore>

const openers: ReadonlyArray<readonly [form: RegExp, open: Open]> = [
  [/^sqlite:.+$/, (store, options) => SqliteStore.open(store.slice(sqlitePrefix.length), options)],
  [/^memory:$/, (_, options) => MemoryStore.open(options)],
  [/^rediss?:\/\/.+$/, (store, options) => RedisStore.open(store, options)],
  [/^postgres(ql)?:\/\/.+$/, (store, options) => PostgresStore.open(store, options)]
]

const findOpener = (store: string) => openers.find(([form]) => form.test(store))?.[1]

export const isStore = (store: string): boolean => findOpener(store) !== undefined

/** The path of a SQLite store; `undefined` for other stores. */
export const getSqlitePath = (store: string): string | undefined =>
  store.startsWith(sqlitePrefix) ? store.slice(sqlitePrefix.length) : undefined

export const openStore = async (store: string, options: OpenOptions = {}): Promise<OpenStore> => {
  const open = findOpener(store)
  if (open === undefined) throw new Error(`A store must be ${storeForms}`)
  return open(store, options)
}
