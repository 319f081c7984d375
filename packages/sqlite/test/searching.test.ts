import { assert, describe, it } from "@effect/vitest"
import { Change, Partition } from "@tollgate/store"
import Sqlite from "better-sqlite3"
import { Effect } from "effect"
import { SqliteStore } from "../src/index.ts"
import { searchSql } from "../src/statements.ts"

const partition = Partition.forKeyBucket("acme", "production")

const makePut = (key: string, searchTerms: ReadonlyArray<string>) =>
  Change.Put({ key, expect: 0, body: "", indexTerms: [], uniqueKeys: [], searchTerms })

describe("a search on SQLite", () => {
  it("reads a range of the index in its order, also with statistics, and sorts nothing", async () => {
    const database = new Sqlite(":memory:")
    const store = await SqliteStore.open(database)
    const puts = Array.from({ length: 2_000 }, (_, index) => makePut(`r${index}`, ["same", `term${index}`]))
    await Effect.runPromise(store.commit(partition, puts))
    for (const statement of ["SELECT 1", "ANALYZE"]) {
      database.exec(statement)
      for (const [sql, parameters, range] of [
        [searchSql.from, [1, "term", 10], "term>?"],
        [searchSql.between, [1, "term", "tern", 10], "term>? AND term<?"]
      ] as const) {
        const plan = database.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(parameters)
        assert.deepStrictEqual(
          plan.map(({ detail }) => detail),
          [`SEARCH s USING PRIMARY KEY (partition=? AND ${range})`, "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)"]
        )
      }
    }
    await store.close()
    database.close()
  })
})
