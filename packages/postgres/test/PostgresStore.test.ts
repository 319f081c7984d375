import { assert, describe, it } from "@effect/vitest"
import { PostgresStore, type PostgresStoreOptions } from "@tollgate/postgres"
import { Change, Partition } from "@tollgate/store"
import { storeContract } from "@tollgate/store-testkit"
import { bringCountersToZero, Contention, runWorkers } from "@tollgate/testing"
import { Effect, Fiber, Layer } from "effect"
import { types } from "pg"
import { add, database, open, openPool, partition, put } from "./helpers.ts"

// The contract has commits of ten thousand changes, which exceed the default timeout on a busy machine.
const layer = (url: string, options?: PostgresStoreOptions) =>
  PostgresStore.layer(url, { queryTimeout: 30_000, ...options })

storeContract("Postgres", Layer.unwrap(Effect.map(database, ({ url }) => layer(url))), { clock: "server" })

describe("a Postgres store", () => {
  it.live("runs the calls of one turn of the event loop in one round trip", () =>
    Effect.gen(function* () {
      const { url } = yield* database
      const pool = yield* openPool(url)
      const store = yield* open(pool)
      const other = Partition.forKeyBucket("other", "production")
      yield* store.commit(partition, [put("a", { uniqueKeys: ["u"] })])
      yield* store.commit(other, [put("a", { uniqueKeys: ["u"] })])
      let queries = 0
      pool.on("acquire", () => queries++)
      const runTogether = Effect.fnUntraced(function* <A>(calls: ReadonlyArray<Effect.Effect<A, unknown>>) {
        queries = 0
        const results = yield* Effect.all(calls, { concurrency: "unbounded" })
        return [results, queries] as const
      })
      const lookUp = (name: Partition.Partition) => store.getByUniqueKey(name, ["u"])
      const [found, lookups] = yield* runTogether(
        Array.from({ length: 100 }, (_, n) => lookUp(n % 2 ? partition : other))
      )
      assert.strictEqual(lookups, 1)
      assert.isTrue(found.every(([match]) => match?.record.key === "a"))
      const [, commits] = yield* runTogether(Array.from({ length: 100 }, () => store.commit(partition, [add("n")])))
      assert.strictEqual(commits, 1)
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [100])
      const queriesOfList = Array.from({ length: 10 }, () => ({ indexTerms: ["t"], offset: 0, limit: 1 }))
      const [, lists] = yield* runTogether([store.list(partition, queriesOfList)])
      assert.strictEqual(lists, 1)
      const update = [put("a", { expect: 1 }), put("b"), Change.AtMost({ term: "t", atMost: 10 }), add("n")]
      const [, updates] = yield* runTogether([store.commit(partition, update)])
      assert.strictEqual(updates, 1)
    })
  )

  it.live("rejects one commit of a batch and applies the others", () =>
    Effect.gen(function* () {
      const { url } = yield* database
      const store = yield* open(url)
      const results = yield* Effect.all(
        [
          store.commit(partition, [put("a", { uniqueKeys: ["u"] }), add("n")]),
          Effect.flip(store.commit(partition, [put("b", { uniqueKeys: ["u"] }), add("n")])),
          Effect.flip(store.commit(partition, [put("a"), add("n")])),
          store.commit(partition, [put("a", { expect: 1, uniqueKeys: ["v"] }), add("n")]),
          store.commit(partition, [put("c", { uniqueKeys: ["u"] }), add("n")]),
          Effect.flip(store.commit(partition, [Change.Add({ counter: "n", by: 1, max: 3, ttl: 1_000 })]))
        ],
        { concurrency: "unbounded" }
      )
      const outcomes = results.map((result) => ("reason" in result ? `${result.reason} ${result.subject}` : "applied"))
      assert.deepStrictEqual(outcomes, [
        "applied",
        "unique-key u",
        "stale a",
        "applied",
        "applied",
        "counter-exceeded n"
      ])
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [3])
      const [v, u] = yield* store.getByUniqueKey(partition, ["v", "u"])
      assert.deepStrictEqual([v?.record.key, u?.record.key], ["a", "c"])
    })
  )

  it.live("removes a counter that a batch brings to 0, unless a later commit of the batch changes it again", () =>
    Effect.gen(function* () {
      const { url, query } = yield* database
      const store = yield* open(url)
      yield* bringCountersToZero(store, partition)
      const rows = yield* query(
        `SELECT split_part(name, ':', 2) AS name, value::int AS value,
           expires < extract(epoch FROM now()) * 1000 + 120000 AS "isShort"
         FROM tollgate.tollgate_counters ORDER BY name`
      )
      assert.deepStrictEqual(rows, [
        { name: "raised", value: 0, isShort: true },
        { name: "restarted", value: 3, isShort: true }
      ])
    })
  )

  it.live("keeps names of any length and with any character", () =>
    Effect.gen(function* () {
      const { url } = yield* database
      const store = yield* open(url)
      const long = "ä".repeat(5_000)
      const names = [long, `${long}b`, "\0", "a\0b", "\u0001", "", "😀", '"\\{},', " "]
      // A name that equals the stored form of another name.
      const { createHash } = yield* Effect.promise(() => import("node:crypto"))
      names.push(`\u0001${createHash("sha256").update(Buffer.from(long, "utf16le")).digest("hex")}`)
      for (const name of [...names.map((name) => name as Partition.Partition), partition]) {
        const puts = names.map((key) =>
          put(key, { body: `\0${key}`, indexTerms: [`t${key}`, "all"], uniqueKeys: [`u${key}`], parent: key })
        )
        yield* store.commit(name, [...puts, ...names.map((counter) => add(counter))])
        const found = yield* store.getByUniqueKey(
          name,
          names.map((key) => `u${key}`)
        )
        assert.deepStrictEqual(
          found.map((match) => match?.record.key),
          names
        )
        assert.deepStrictEqual(
          found.map((match) => match?.parent?.body),
          names.map((key) => `\0${key}`)
        )
        const pages = yield* store.list(
          name,
          names.map((key) => ({ indexTerms: ["all", `t${key}`], offset: 0, limit: 10 }))
        )
        assert.deepStrictEqual(
          pages.map(({ records }) => records.map(({ key }) => key)),
          names.map((key) => [key])
        )
        assert.deepStrictEqual(
          yield* store.counters(name, names),
          names.map(() => 1)
        )
        for (const id of names) {
          const idempotency = { id, fingerprint: id, result: `\0${id}`, ttl: 60_000 }
          yield* store.commit(name, [add(id)], idempotency)
          const { replayed, totals } = yield* store.commit(name, [add("n")], idempotency)
          assert.deepStrictEqual([replayed?.result, totals.get(id)], [`\0${id}`, 2])
        }
      }
    })
  )

  it.live("finds nothing by a name with a lone surrogate", () =>
    Effect.gen(function* () {
      const { url } = yield* database
      const store = yield* open(url)
      yield* store.commit(partition, [put("\ufffd", { uniqueKeys: ["\ufffd"] })])
      assert.deepStrictEqual(yield* store.get(partition, ["\ud800"]), [undefined])
      assert.deepStrictEqual(yield* store.getByUniqueKey(partition, ["\ud800"]), [undefined])
    })
  )

  it.live("leaves no row after deletes and clear, apart from the partition", () =>
    Effect.gen(function* () {
      const { url, query } = yield* database
      const store = yield* open(url)
      yield* store.commit(partition, [put("a", { uniqueKeys: ["u"], indexTerms: ["t", "v"] }), put("b")])
      yield* store.commit(partition, [Change.Delete({ key: "a", expect: 1 }), put("b", { expect: 2, indexTerms: [] })])
      const countRows = Effect.fnUntraced(function* (...tables: ReadonlyArray<string>) {
        const counts: Record<string, number> = {}
        for (const table of tables) {
          const [row] = yield* query(`SELECT count(*) FROM tollgate.tollgate_${table}`)
          counts[table] = Number(row?.["count"])
        }
        return counts
      })
      assert.deepStrictEqual(yield* countRows("records", "unique_keys", "terms", "postings"), {
        records: 1,
        unique_keys: 0,
        terms: 0,
        postings: 0
      })
      yield* store.commit(partition, [put("c"), add("n")], { id: "id", fingerprint: "", result: "", ttl: 60_000 })
      yield* store.clear(partition)
      assert.deepStrictEqual(yield* countRows("records", "terms", "postings", "counters", "replays", "partitions"), {
        records: 0,
        terms: 0,
        postings: 0,
        counters: 0,
        replays: 0,
        partitions: 1
      })
    })
  )

  it.live("writes nothing, not even a partition, for commits that are refused or only check", () =>
    Effect.gen(function* () {
      const { url, query } = yield* database
      const store = yield* open(url)
      yield* Effect.flip(store.commit(partition, [Change.Check({ key: "a", expect: 1 }), put("b")]))
      yield* store.commit(partition, [Change.Check({ key: "a", expect: 0 })])
      assert.deepStrictEqual(yield* query("SELECT name FROM tollgate.tollgate_partitions"), [])
      assert.deepStrictEqual(yield* query("SELECT batch FROM tollgate.tollgate_writers"), [])
    })
  )

  it.live("removes what has expired while it is in use", () =>
    Effect.gen(function* () {
      const { url, query } = yield* database
      const store = yield* open(url)
      const expired = Array.from({ length: 2_500 }, (_, n) => Change.Add({ counter: `n${n}`, by: 1, ttl: 1 }))
      yield* store.commit(partition, [...expired, add("kept")], { id: "id", fingerprint: "", result: "", ttl: 1 })
      // A store sweeps at its first commit.
      yield* (yield* open(url)).commit(partition, [add("kept")])
      const counters = query("SELECT count(*) FROM tollgate.tollgate_counters")
      const [row] = yield* Effect.repeat(counters, { until: ([row]) => Number(row?.["count"]) === 1 })
      assert.strictEqual(Number(row?.["count"]), 1)
      assert.deepStrictEqual(yield* query("SELECT id FROM tollgate.tollgate_replays"), [])
      assert.deepStrictEqual(yield* store.counters(partition, ["kept"]), [2])
    })
  )

  it.live("updates a counter in place: no new entries in its indexes", () =>
    Effect.gen(function* () {
      const { url, query } = yield* database
      const store = yield* open(url)
      for (let n = 0; n < 200; n++) yield* store.commit(partition, [add("n")])
      yield* query("SELECT pg_stat_force_next_flush()")
      const statistics = query(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_all_tables WHERE relname = 'tollgate_counters' AND n_tup_upd >= 199"
      )
      yield* (yield* open(url)).commit(partition, [add("other")])
      const [row] = yield* Effect.repeat(statistics, { until: (rows) => rows.length === 1 })
      assert.isAtLeast(Number(row?.["n_tup_hot_upd"]), 190)
    })
  )

  it.live("prepares no named statements and leaves no setting behind", () =>
    Effect.gen(function* () {
      const { url } = yield* database
      const pool = yield* openPool(url, { max: 1 })
      const store = yield* open(pool)
      const readSettings = () => pool.query("SELECT name, setting FROM pg_settings WHERE name NOT LIKE '%transaction%'")
      const before = yield* Effect.promise(readSettings)
      yield* store.commit(partition, [put("a", { uniqueKeys: ["u"] }), add("n")])
      yield* store.getByUniqueKey(partition, ["u"])
      yield* store.list(partition, [{ indexTerms: ["t", "v"], offset: 0, limit: 1 }])
      yield* store.clear(partition)
      const { rows } = yield* Effect.promise(() => pool.query("SELECT name FROM pg_prepared_statements"))
      assert.deepStrictEqual(rows, [])
      assert.deepStrictEqual((yield* Effect.promise(readSettings)).rows, before.rows)
    })
  )

  it.live("works whatever type parsers the application has set", () =>
    Effect.gen(function* () {
      const { url } = yield* database
      const bigint = 20
      const previous = types.getTypeParser(bigint)
      yield* Effect.acquireRelease(
        Effect.sync(() => types.setTypeParser(bigint, () => "parsed by the application")),
        () => Effect.sync(() => types.setTypeParser(bigint, previous))
      )
      const store = yield* open(yield* openPool(url))
      yield* store.commit(partition, [put("a"), add("n", 7)])
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [7])
      assert.strictEqual((yield* store.get(partition, ["a"]))[0]?.version, 1)
    })
  )

  it.live("removes an interrupted caller from a batch that is not sent yet", () =>
    Effect.gen(function* () {
      const { url } = yield* database
      const pool = yield* openPool(url)
      const store = yield* open(pool)
      let queries = 0
      pool.on("acquire", () => queries++)
      // The batch is sent on the next tick, and none of these fibers yields to the event loop.
      const interrupted = yield* Effect.forkChild(store.commit(partition, [add("interrupted")]), {
        startImmediately: true
      })
      const remaining = yield* Effect.forkChild(store.commit(partition, [add("remaining")]), { startImmediately: true })
      const lookup = yield* Effect.forkChild(store.getByUniqueKey(partition, ["c"]), { startImmediately: true })
      yield* Effect.all([Fiber.interrupt(interrupted), Fiber.interrupt(lookup)])
      assert.strictEqual((yield* Fiber.join(remaining)).totals.get("remaining"), 1)
      assert.deepStrictEqual(yield* store.counters(partition, ["interrupted", "remaining"]), [0, 1])
      // The commit, the sweep that it starts, and the counters.
      assert.isAtMost(queries, 3)
    })
  )

  it.live("completes the commits that were sent before it is closed, and rejects calls after that", () =>
    Effect.gen(function* () {
      const { url } = yield* database
      const store = yield* Effect.promise(() => PostgresStore.open(url))
      const commit = yield* Effect.forkChild(store.commit(partition, [add("n")]), { startImmediately: true })
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* Effect.promise(() => store.close())
      yield* Effect.promise(() => store.close())
      assert.strictEqual((yield* Fiber.join(commit)).totals.get("n"), 1)
      const calls = [Effect.asVoid(store.get(partition, ["a"])), Effect.asVoid(store.commit(partition, [add("n")]))]
      const errors = yield* Effect.all(calls.map((call) => Effect.flip(call)))
      for (const { message } of errors) assert.include(message, "the store is closed")
    })
  )

  it.live("is consistent when four processes share it: unique names, no counter over its maximum", () =>
    Effect.gen(function* () {
      const { url } = yield* database
      const results = yield* Effect.promise(() =>
        runWorkers<Contention.ContentionResult>(new URL("contender.worker.ts", import.meta.url), [url, url, url, url])
      )
      const store = yield* open(url)
      yield* Effect.promise(() => Contention.assertConsistent(store, results))
    })
  )
})
