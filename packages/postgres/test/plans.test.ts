import { assert, describe, it } from "@effect/vitest"
import { Change, Partition, type StoreOperations } from "@tollgate/store"
import { type PostgresServer, startPostgres } from "@tollgate/testing"
import { Effect } from "effect"
import { add, open, openPool, partition, put } from "./helpers.ts"

const server = startPostgres({ settings: { autovacuum: "off" } })

const makeIdempotency = (n: number) => ({ id: `i${n}`, fingerprint: "", result: "", ttl: 60_000 })

const tables = ["partitions", "records", "unique_keys", "search", "terms", "postings", "counters", "replays", "writers"]

/** The entries of indexes that all sessions have read so far, once the statistics say that `updates` records were updated. */
const readEntries = Effect.fnUntraced(function* ({ query }: PostgresServer, updates: number) {
  const rows = yield* Effect.repeat(
    query(
      `SELECT (SELECT sum(idx_tup_read) FROM pg_stat_all_indexes WHERE schemaname = 'tollgate') AS entries
       FROM pg_stat_all_tables WHERE relname = 'tollgate_records' AND n_tup_upd >= $1`,
      [updates]
    ),
    { until: (rows) => rows.length > 0 }
  )
  return Number(rows[0]?.["entries"])
})

describe("the plans of a Postgres store", () => {
  it.live("stay good when they were made for empty tables", () =>
    Effect.gen(function* () {
      const postgres = yield* server
      // One connection: its plans are made now, and kept.
      const pool = yield* openPool(postgres.url, { max: 1 })
      const store = yield* open(pool)
      for (const table of tables) yield* postgres.query(`VACUUM ANALYZE tollgate.tollgate_${table}`)
      const makePut = (n: number, expect: number) =>
        put(`k${n}`, {
          expect,
          indexTerms: ["all", `t${n}`, `v${expect}`],
          uniqueKeys: [`u${n}`],
          searchTerms: ["same", `s${n}`]
        })
      const other = Partition.forKeyBucket("other", "bucket")
      const warmUp = Effect.gen(function* () {
        yield* store.commit(other, [makePut(0, 0), add("n0")], makeIdempotency(0))
        yield* store.counters(other, ["n0"])
        yield* store.commit(other, [makePut(0, 1), add("n0", -1)])
        yield* store.getByUniqueKey(other, ["u0"])
        yield* store.list(other, [{ indexTerms: ["all", "t0"], offset: 0, limit: 10 }])
        yield* store.search(other, [{ prefix: "s", limit: 10 }])
        yield* store.commit(other, [Change.Delete({ key: "k0", expect: 2 })])
      })
      yield* warmUp
      const loader = yield* open(postgres.url)
      const records = 5_000
      yield* loader.commit(partition, Array.from({ length: records }, (_, n) => [makePut(n, 0), add(`n${n}`)]).flat())
      const commitOnce = (to: StoreOperations, ids: number) =>
        Effect.forEach(
          Array.from({ length: ids }, (_, n) => n),
          (n) => to.commit(partition, [], makeIdempotency(n)),
          { concurrency: "unbounded" }
        )
      yield* commitOnce(loader, 1_000)
      const entriesBefore = yield* readEntries(postgres, 1)
      const count = 200
      yield* store.commit(
        partition,
        Array.from({ length: count }, (_, n) => [makePut(n, n + 1), add(`n${n}`, -1)]).flat()
      )
      yield* store.getByUniqueKey(
        partition,
        Array.from({ length: count }, (_, n) => `u${n}`)
      )
      yield* store.counters(
        partition,
        Array.from({ length: count }, (_, n) => `n${n + count}`)
      )
      yield* commitOnce(store, 50)
      yield* store.list(partition, [{ indexTerms: ["all", "t7"], offset: 0, limit: 10 }])
      yield* store.search(
        partition,
        Array.from({ length: count }, (_, n) => ({ prefix: n % 2 === 0 ? "s" : "sa", limit: 3 }))
      )
      // A connection reports its statistics when it is idle or closed.
      yield* Effect.promise(() => pool.query("SELECT pg_stat_force_next_flush()"))
      const entries = (yield* readEntries(postgres, count + 1)) - entriesBefore
      // Some entries per name and table, and what other connections report late. A full scan per name would read a million.
      assert.isBelow(entries, count * 250)
    })
  )

  it.live("read a search from its index, in its order", () =>
    Effect.gen(function* () {
      const postgres = yield* server
      const pool = yield* openPool(postgres.url, { max: 1 })
      const store = yield* open(pool)
      const puts = Array.from({ length: 2_000 }, (_, n) => put(`k${n}`, { searchTerms: ["same", `term${n}`] }))
      yield* store.commit(partition, puts)
      const plans: Array<string> = []
      const explain = `LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on;
        SET auto_explain.log_nested_statements = on; SET client_min_messages = log`
      const client = yield* Effect.promise(() => pool.connect())
      client.on("notice", ({ message }) => plans.push(message ?? ""))
      yield* Effect.promise(() => client.query(explain))
      client.release()
      const [found] = yield* store.search(partition, [{ prefix: "term", limit: 10 }])
      assert.strictEqual(found?.length, 10)
      const plan = plans.find((message) => message.includes("tollgate_search_terms on tollgate_search")) ?? ""
      assert.match(plan, /Index Only Scan using tollgate_search_terms .*rows=10(\.00)? loops=1/)
      assert.notInclude(plan, "Seq Scan")
    })
  )

  it.live("use the built-in operators, also if another schema has operators of the same name", () =>
    Effect.gen(function* () {
      const { url, query } = yield* server
      yield* query(
        `CREATE FUNCTION public.join_texts(bigint, text) RETURNS text LANGUAGE sql AS $$ SELECT 'X:' $$;
         CREATE OPERATOR public.|| (FUNCTION = public.join_texts, LEFTARG = bigint, RIGHTARG = text)`
      )
      const store = yield* open(url)
      const other = Partition.forKeyBucket("other", "bucket")
      yield* store.commit(partition, [put("a", { body: "mine", uniqueKeys: ["u"] })])
      assert.deepStrictEqual(yield* store.getByUniqueKey(other, ["u"]), [undefined])
      assert.strictEqual((yield* store.getByUniqueKey(partition, ["u"]))[0]?.record.body, "mine")
      const [row] = yield* query("SELECT id FROM tollgate.tollgate_records")
      assert.strictEqual(row?.["id"], "1:0000000000001")
    })
  )
})
