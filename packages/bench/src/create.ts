/**
 * Benchmark of creating keys, compared with an equally durable hand-written insert.
 */
import { join } from "node:path"
import { createTollgate } from "@tollgate/core"
import { SqliteStore } from "@tollgate/sqlite"
import Database from "better-sqlite3"
import { account, makeBaselineRecords, secret } from "./keys.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

/** Spread over several consumers, because each can have at most 10,000 keys. */
const consumers = 200

export const createKeyOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<Row> => {
  const store = await SqliteStore.open(join(folder, "create.db"))
  const gate = await createTollgate({ store, secret })
  const keyBucket = gate.account(account).keyBucket("b")
  for (let index = 0; index < consumers; index++) await keyBucket.consumers.create({ name: `c-${index}` })
  const database = new Database(join(folder, "create-baseline.db"))
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE key (hash TEXT PRIMARY KEY, consumer INTEGER, body TEXT) STRICT, WITHOUT ROWID;
    CREATE INDEX key_consumer ON key (consumer);`)
  const insert = database.prepare("INSERT INTO key VALUES (?, ?, ?)")
  let created = 0
  const baseline = async () => {
    const { hash, key } = makeBaselineRecords(`tg_${created++}`, created)
    insert.run(hash, created % consumers, key)
  }
  const createKey = (index: number) => keyBucket.keys.create(`c-${index % consumers}`, {})
  const comparison = await compare(runConcurrently(64, createKey), runConcurrently(64, baseline), effort)
  await gate.close()
  await store.close()
  database.close()
  return {
    name: "create a key, SQLite file, 64 concurrent",
    comparedWith: "a hand-written durable insert",
    ...comparison
  }
}
