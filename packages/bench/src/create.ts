/**
 * Benchmarks of creating keys, compared with an equally durable hand-written insert.
 */
import { join } from "node:path"
import { createTollgate } from "@tollgate/core"
import { PostgresStore } from "@tollgate/postgres"
import { SqliteStore } from "@tollgate/sqlite"
import type { StoreOperations } from "@tollgate/store"
import Database from "better-sqlite3"
import { account, makeBaselineRecords, secret } from "./keys.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import { openPool } from "./postgres.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

/** Spread over several consumers, because each can have at most 10,000 keys. */
const consumers = 200

type Insert = (hash: string, consumer: number, body: string) => unknown

const measureCreate = async (
  storeName: string,
  store: StoreOperations,
  insert: Insert,
  effort: Effort
): Promise<Row> => {
  const gate = await createTollgate({ store, secret })
  const keyBucket = gate.account(account).keyBucket("b")
  for (let index = 0; index < consumers; index++) await keyBucket.consumers.create({ name: `c-${index}` })
  let created = 0
  const baseline = async () => {
    const { hash, key } = makeBaselineRecords(`tg_${created++}`, created)
    await insert(hash, created % consumers, key)
  }
  const createKey = (index: number) => keyBucket.keys.create(`c-${index % consumers}`, {})
  const comparison = await compare(runConcurrently(64, createKey), runConcurrently(64, baseline), effort)
  await gate.close()
  return {
    name: `create a key, ${storeName}, 64 concurrent`,
    comparedWith: "a hand-written durable insert",
    ...comparison
  }
}

export const createKeyOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<Row> => {
  const store = await SqliteStore.open(join(folder, "create.db"))
  const database = new Database(join(folder, "create-baseline.db"))
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE key (hash TEXT PRIMARY KEY, consumer INTEGER, body TEXT) STRICT, WITHOUT ROWID;
    CREATE INDEX key_consumer ON key (consumer);`)
  const insert = database.prepare("INSERT INTO key VALUES (?, ?, ?)")
  const row = await measureCreate("SQLite file", store, (...values) => insert.run(...values), effort)
  await store.close()
  database.close()
  return row
}

export const createKeyOnPostgres = async ({ postgres }: Resources, effort: Effort): Promise<Row> => {
  const store = await PostgresStore.open(postgres, { schema: "create" })
  const pool = openPool(postgres)
  await pool.query(`CREATE TABLE created_key (hash text PRIMARY KEY, consumer integer, body text);
    CREATE INDEX created_key_consumer ON created_key (consumer)`)
  const insert: Insert = (...values) =>
    pool.query({ name: "insert", text: "INSERT INTO created_key VALUES ($1, $2, $3)", values })
  const row = await measureCreate("Postgres", store, insert, effort)
  await store.close()
  await pool.end()
  return row
}
