/**
 * Creating keys: each durable before it is answered, against a hand-written insert that is.
 */
import { join } from "node:path"
import { createTollgate } from "@tollgate/core"
import { SqliteStore } from "@tollgate/sqlite"
import Database from "better-sqlite3"
import { account, baselineRecords, secret } from "./keys.ts"
import { compare, type Effort, runConcurrently } from "./measure.ts"
import type { Row } from "./report.ts"
import type { Resources } from "./resources.ts"

/** A consumer has at most 10,000 keys. */
const consumers = 200

export const createKeyOnSqlite = async ({ folder }: Resources, effort: Effort): Promise<Row> => {
  const store = await SqliteStore.open(join(folder, "create.db"))
  const gate = await createTollgate({ store, secret })
  for (let index = 0; index < consumers; index++) await gate.consumers.create(account, "b", { name: `c-${index}` })
  const database = new Database(join(folder, "create-floor.db"))
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE key (hash TEXT PRIMARY KEY, consumer INTEGER, body TEXT) STRICT, WITHOUT ROWID;
    CREATE INDEX key_consumer ON key (consumer);`)
  const put = database.prepare("INSERT INTO key VALUES (?, ?, ?)")
  let made = 0
  const floor = async () => {
    const { hash, key } = baselineRecords(`tg_${made++}`, made)
    put.run(hash, made % consumers, key)
  }
  const ours = (index: number) => gate.keys.create(account, "b", `c-${index % consumers}`, {})
  const comparison = await compare(runConcurrently(64, ours), runConcurrently(64, floor), effort)
  await gate.close()
  await store.close()
  database.close()
  return {
    work: "create a key, SQLite file, 64 at once",
    against: "one durable insert by hand",
    ...comparison
  }
}
