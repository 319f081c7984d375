/**
 * How a SQLite store writes counters: rarely, and with the same results as if it wrote each change.
 */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { SqliteStore } from "@tollgate/sqlite"
import { Change, type CommitResult, Partition, StoreEntry } from "@tollgate/store"
import { temporaryFolder } from "@tollgate/testing"
import Sqlite from "better-sqlite3"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"

const partition = Partition.forKeyBucket("acme", "production")
const add = (counter: string, by = 1, ttl = 60_000) => Change.Add({ counter, by, ttl })

/** A store in memory, on a connection that the test can query. */
const openStore = Effect.gen(function* () {
  const database = yield* Effect.acquireRelease(
    Effect.sync(() => new Sqlite(":memory:")),
    (database) => Effect.sync(() => database.close())
  )
  const store = yield* Effect.acquireRelease(
    Effect.promise(() => SqliteStore.open(database)),
    (store) => Effect.promise(() => store.close())
  )
  const query = (sql: string) => database.prepare<[], number>(sql).pluck().get() ?? 0
  return { store, database, query, readExpiry: () => query("SELECT expires FROM tollgate_counters WHERE name = 'n'") }
})

/** Runs commits, and other jobs, in one transaction. */
const runTogether = <A, E>(jobs: ReadonlyArray<Effect.Effect<A, E>>) => Effect.all(jobs, { concurrency: "unbounded" })

const getTotal = (result: CommitResult | undefined) => result?.totals.get("n")

describe("the counters of a SQLite store", () => {
  it.effect("are kept for at least their time to live, and their expiry rarely changes", () =>
    Effect.gen(function* () {
      const { store, readExpiry } = yield* openStore
      for (const [ttl, extension, changes] of [
        [3_600_000, 60_000, 4],
        [80_000, 10_000, 22],
        [7, 0, 200]
      ] as const) {
        const expiries = new Set<number>()
        for (let second = 0; second < 200; second++) {
          yield* store.commit(partition, [add("n", 1, ttl)])
          const remaining = readExpiry() - (yield* Clock.currentTimeMillis)
          assert.isAtLeast(remaining, ttl)
          assert.isAtMost(remaining, ttl + extension)
          expiries.add(readExpiry())
          yield* TestClock.adjust(1_000)
        }
        assert.isAtMost(expiries.size, changes)
        yield* store.clear(partition)
      }
    })
  )

  it.effect("keep a later expiry when an add has a shorter time to live", () =>
    Effect.gen(function* () {
      const { store, readExpiry } = yield* openStore
      yield* store.commit(partition, [add("n", 1, 600_000)])
      const expiry = readExpiry()
      yield* store.commit(partition, [add("n", 1, 1_000)])
      assert.strictEqual(readExpiry(), expiry)
    })
  )

  it.effect("are written once by a transaction, however many of its commits change them", () =>
    Effect.gen(function* () {
      const { store, query } = yield* openStore
      yield* store.commit(partition, [add("n")])
      const before = query("SELECT total_changes()")
      const results = yield* runTogether(Array.from({ length: 50 }, () => store.commit(partition, [add("n")])))
      assert.deepStrictEqual(
        results.map(getTotal),
        results.map((_, index) => index + 2)
      )
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [51])
      // On a busy machine a transaction may end early, so that it does not occupy the event loop for too long.
      const written = Number(query("SELECT total_changes()")) - Number(before)
      assert.isAtLeast(written, 1)
      assert.isAtMost(written, 5)
    })
  )

  it.effect("forget the changes of a transaction that is rolled back", () =>
    Effect.gen(function* () {
      const { store, database } = yield* openStore
      database.exec(
        "CREATE TRIGGER refuse BEFORE INSERT ON tollgate_records BEGIN SELECT RAISE(ABORT, 'refused by the host'); END"
      )
      const refusedPut = Change.Put({ key: "x", expect: 0, body: "", indexTerms: [], uniqueKeys: [] })
      const commits = [[add("n")], [add("n", 10), refusedPut], [add("n"), add("m")]]
      const results = yield* runTogether(commits.map((changes) => Effect.result(store.commit(partition, changes))))
      assert.deepStrictEqual(
        results.map((result) => (result._tag === "Success" ? getTotal(result.success) : result.failure._tag)),
        [1, "StoreUnavailable", 2]
      )
      assert.deepStrictEqual(yield* store.counters(partition, ["n", "m"]), [2, 1])
    })
  )

  it.effect("are cleared, copied and removed in the order of the jobs of a transaction", () =>
    Effect.gen(function* () {
      const { store, query } = yield* openStore
      const expiresAt = (yield* Clock.currentTimeMillis) + 60_000
      const entry = StoreEntry.Counter({ name: "n", value: 100, expiresAt })
      const write = Effect.as(store.contents.write(partition, [entry]), undefined)
      const clear = Effect.as(store.clear(partition), undefined)
      const commit = (by: number) => store.commit(partition, [add("n", by)])
      // The first commit removes what has expired, and writes its counters for that.
      yield* store.commit(partition, [add("first")])
      const written = yield* runTogether([commit(3), write, commit(1), commit(-200), commit(2)])
      assert.deepStrictEqual(written.map(getTotal), [3, undefined, 101, 0, 2])
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [2])
      const cleared = yield* runTogether([commit(3), clear, commit(1)])
      assert.deepStrictEqual(cleared.map(getTotal), [5, undefined, 1])
      yield* runTogether([commit(3), commit(-3), clear])
      assert.strictEqual(query("SELECT count(*) FROM tollgate_counters"), 0)
    })
  )

  for (const [name, makeSource] of [
    ["on the same connection", Effect.sync(() => new Sqlite(":memory:"))],
    ["on another connection", Effect.map(temporaryFolder, (folder) => join(folder, "store.db"))]
  ] as const) {
    it.effect(`are current when another store ${name} changes them too`, () =>
      Effect.gen(function* () {
        const source = yield* makeSource
        const open = Effect.acquireRelease(
          Effect.promise(() => SqliteStore.open(source)),
          (store) => Effect.promise(() => store.close())
        )
        const [one, other] = [yield* open, yield* open]
        const limited = Change.Add({ counter: "n", by: 1, max: 6, ttl: 60_000 })
        let expected = 0
        for (const store of [one, one, other, one, other, other]) {
          assert.strictEqual(getTotal(yield* store.commit(partition, [limited])), ++expected)
        }
        for (const store of [one, other]) {
          const conflict = yield* Effect.flip(store.commit(partition, [limited]))
          assert.strictEqual(conflict._tag === "StoreConflict" && conflict.reason, "counter-exceeded")
        }
        for (const store of [one, other, one, one, other, other]) {
          const check = Change.CheckCounter({ counter: "n", expect: expected })
          assert.strictEqual(getTotal(yield* store.commit(partition, [check, add("n")])), ++expected)
          const conflict = yield* Effect.flip(store.commit(partition, [check, add("n")]))
          assert.strictEqual(conflict._tag === "StoreConflict" && conflict.reason, "stale")
        }
      })
    )
  }

  it.effect("start again after they have expired and were removed", () =>
    Effect.gen(function* () {
      const { store, query } = yield* openStore
      for (let round = 0; round < 3; round++) {
        const commits = [store.commit(partition, [add("n", 5, 3_000)]), store.commit(partition, [add("n", 1, 1)])]
        assert.deepStrictEqual((yield* Effect.all(commits)).map(getTotal), [5, 6])
        const check = Change.CheckCounter({ counter: "n", expect: 6 })
        yield* store.commit(partition, [check])
        yield* TestClock.adjust(10_000)
        assert.deepInclude(yield* Effect.flip(store.commit(partition, [check])), { reason: "stale", subject: "n" })
        yield* store.commit(partition, [Change.CheckCounter({ counter: "n", expect: 0 })])
        // This commit removes what has expired.
        yield* store.commit(partition, [add("other", 1, 1)])
        assert.strictEqual(query("SELECT count(*) FROM tollgate_counters WHERE name = 'n'"), 0)
      }
    })
  )

  it.effect("are forgotten when there are too many of them, and read again", () =>
    Effect.gen(function* () {
      const { store } = yield* openStore
      const names = Array.from({ length: 25_000 }, (_, index) => `n${index}`)
      for (const total of [1, 2, 3]) {
        for (let start = 0; start < names.length; start += 1_000) {
          const some = names.slice(start, start + 1_000)
          const { totals } = yield* store.commit(
            partition,
            some.map((name) => add(name))
          )
          assert.deepStrictEqual([...totals.values()], Array(some.length).fill(total))
        }
      }
      assert.deepStrictEqual(yield* store.counters(partition, ["n0", "n24999"]), [3, 3])
    })
  )
})
