import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Change, type StoreOperations } from "@tollgate/store"
import { loseReplies, type PostgresServer, startFaultyProxy, startPostgres, surviveOutage } from "@tollgate/testing"
import { Effect, Fiber } from "effect"
import { Client } from "pg"
import { add, open, openPool, partition, put } from "./helpers.ts"

const server = startPostgres()

const startProxy = Effect.fnUntraced(function* ({ url, folder }: PostgresServer) {
  const { port } = new URL(url)
  const proxy = yield* startFaultyProxy(join(folder, `.s.PGSQL.${port}`))
  return { ...proxy, url: url.replace(port, String(proxy.port)) }
})

/** A connection of another program. */
const connect = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString: url })
      client.on("error", () => undefined)
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

const run = (client: Client, sql: string) => Effect.promise(() => client.query(sql))

const lockPartitions = "SELECT id FROM tollgate.tollgate_partitions FOR UPDATE"

/** Waits in the server until a back-end waits for a lock. */
const awaitWaiting =
  "DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$"

const writeAndCheck = Effect.fnUntraced(function* (store: StoreOperations, key: string) {
  yield* Effect.retry(store.commit(partition, [put(key)]), { times: 10 })
  assert.strictEqual((yield* store.get(partition, [key]))[0]?.key, key)
})

describe("a Postgres store", () => {
  it.live("applies a commit once and returns its result when the reply is lost", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy(yield* server)
      const store = yield* open(proxy.url)
      yield* loseReplies(store, proxy)
    })
  )

  it.live("applies a batch once when its reply is lost, with the conflicts and replays in it", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy(yield* server)
      const store = yield* open(proxy.url)
      const idempotency = { id: "id", fingerprint: "f", result: "r", ttl: 60_000 }
      yield* store.commit(partition, [add("n")], idempotency)
      proxy.cutReplyTo("lost-counter")
      const results = yield* Effect.all(
        [
          store.commit(partition, [add("lost-counter")]),
          Effect.flip(store.commit(partition, [put("a", { expect: 5 })])),
          store.commit(partition, [add("n")], idempotency),
          store.commit(partition, [put("a"), add("lost-counter", 2)])
        ] as const,
        { concurrency: "unbounded" }
      )
      assert.strictEqual(proxy.cuts(), 1)
      const [first, stale, replay, second] = results
      assert.strictEqual(first.totals.get("lost-counter"), 1)
      assert.deepInclude(stale, { reason: "stale" })
      assert.deepStrictEqual([replay.replayed?.result, replay.totals.get("n")], ["r", 1])
      assert.deepStrictEqual([second.totals.get("lost-counter"), second.versions.get("a")], [3, 1])
      assert.deepStrictEqual(yield* store.counters(partition, ["lost-counter", "n"]), [3, 1])
    })
  )

  it.live("does not apply an old batch that arrives late", () =>
    Effect.gen(function* () {
      const postgres = yield* server
      const store = yield* open(postgres.url)
      for (let n = 0; n < 3; n++) yield* store.commit(partition, [add("n")])
      const [writer] = yield* postgres.query("SELECT writer, batch FROM tollgate.tollgate_writers")
      const sendAgain = (batch: number) =>
        postgres.query(
          `SELECT * FROM tollgate.tollgate_commit($1, $2, $3, NULL, 1000, false, '{}', '{n}', '{}', '{5,1,1,100,60000}', '{1}', NULL, NULL, NULL)`,
          [partition, writer?.["writer"], batch]
        )
      const last = Number(writer?.["batch"])
      yield* sendAgain(last - 1)
      const [again] = yield* sendAgain(last)
      assert.deepStrictEqual(again?.["outcomes"], ["0", "3"])
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [3])
    })
  )

  it.live("does not apply a late attempt of a batch that was refused when it was sent again", () =>
    Effect.gen(function* () {
      const postgres = yield* server
      const store = yield* open(postgres.url)
      const writer = "00000000-0000-4000-8000-000000000000"
      const send = (isRetry: boolean) =>
        postgres.query(
          `SELECT * FROM tollgate.tollgate_commit($1, $2, 1, NULL, 1000, $3, '{}', '{n}', '{}', '{5,1,1,5,60000}', '{1}', NULL, NULL, NULL)`,
          [partition, writer, isRetry]
        )
      yield* store.commit(partition, [add("n", 5)])
      const [refused] = yield* send(true)
      assert.deepStrictEqual(refused?.["outcomes"], ["5", "1"])
      yield* store.commit(partition, [Change.Add({ counter: "n", by: -5, ttl: 60_000 })])
      const [late] = yield* send(false)
      assert.deepStrictEqual(late?.["outcomes"], ["5", "1"])
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [0])
    })
  )

  it.live("retries a deadlock that another program causes, and applies the commit once", () =>
    Effect.gen(function* () {
      const postgres = yield* server
      const store = yield* open(postgres.url)
      yield* store.commit(partition, [add("n")])
      const other = yield* connect(postgres.url)
      yield* run(other, "BEGIN; SET LOCAL deadlock_timeout = '30s'")
      yield* run(other, "SELECT name FROM tollgate.tollgate_counters FOR UPDATE")
      const commit = yield* Effect.forkChild(store.commit(partition, [add("n")]), { startImmediately: true })
      // In one request: the server looks for a deadlock once, a second after the store began to wait.
      yield* run(other, `${awaitWaiting}; ${lockPartitions}; COMMIT`)
      assert.strictEqual((yield* Fiber.join(commit)).totals.get("n"), 2)
      const [row] = yield* Effect.repeat(
        postgres.query("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'"),
        { until: ([row]) => Number(row?.["deadlocks"]) > 0 }
      )
      assert.strictEqual(Number(row?.["deadlocks"]), 1)
    })
  )

  it.live("retries serialization failures, and counts exactly", () =>
    Effect.gen(function* () {
      const { url, query } = yield* server
      yield* query("ALTER ROLE postgres SET default_transaction_isolation = 'repeatable read'")
      const stores = [yield* open(url), yield* open(url), yield* open(url)]
      const consume = (store: StoreOperations) =>
        Effect.forEach(Array.from({ length: 30 }), () =>
          Effect.retry(store.commit(partition, [add("n")]), { times: 20 })
        )
      yield* Effect.all(stores.map(consume), { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* (yield* open(url)).counters(partition, ["n"]), [90])
    })
  )

  for (const isolation of ["read committed", "repeatable read", "serializable"]) {
    it.live(`checks what a counter is when it has the lock of the partition, with isolation ${isolation}`, () =>
      Effect.gen(function* () {
        const { url, query } = yield* server
        yield* query(`ALTER ROLE postgres SET default_transaction_isolation = '${isolation}'`)
        const store = yield* open(url)
        const other = yield* connect(url)
        const check = (expect: number) => Change.CheckCounter({ counter: "n", expect })
        yield* store.commit(partition, [put("a")])
        const counters = "tollgate.tollgate_counters"
        for (const changes of [[], [put("b")], [add("m")], [add("n")], [add("n", -5)]]) {
          yield* run(other, `DELETE FROM ${counters}`)
          for (const [value, change] of [
            [0, `INSERT INTO ${counters} SELECT id || ':n', NULL, 1, 9e15 FROM tollgate.tollgate_partitions`],
            [1, `UPDATE ${counters} SET value = 2 WHERE name LIKE '%:n'`],
            [2, `DELETE FROM ${counters} WHERE name LIKE '%:n'`]
          ] as const) {
            yield* run(other, `BEGIN ISOLATION LEVEL READ COMMITTED; ${lockPartitions}`)
            const conflict = yield* Effect.forkChild(Effect.flip(store.commit(partition, [check(value), ...changes])), {
              startImmediately: true
            })
            yield* run(other, `${awaitWaiting}; ${change}; COMMIT`)
            assert.deepInclude(yield* Fiber.join(conflict), { reason: "stale", subject: "n" })
          }
          // An add without a check counts from what the counter is then, too.
          yield* run(
            other,
            `INSERT INTO ${counters} SELECT id || ':k', NULL, 7, 9e15 FROM tollgate.tollgate_partitions`
          )
          yield* run(other, `BEGIN ISOLATION LEVEL READ COMMITTED; ${lockPartitions}`)
          const added = yield* Effect.forkChild(store.commit(partition, [add("k")]), { startImmediately: true })
          yield* run(other, `${awaitWaiting}; DELETE FROM ${counters} WHERE name LIKE '%:k'; COMMIT`)
          assert.strictEqual((yield* Fiber.join(added)).totals.get("k"), 1)
          yield* store.commit(partition, [check(0), ...changes])
          for (const record of yield* store.get(partition, ["b"])) {
            if (record !== undefined)
              yield* store.commit(partition, [Change.Delete({ key: "b", expect: record.version })])
          }
        }
      })
    )
  }

  it.live("reports a lock that another program holds, applies nothing, and goes on when it is gone", () =>
    Effect.gen(function* () {
      const postgres = yield* server
      // Long enough for the commit without a lock, on a busy machine.
      yield* postgres.query("ALTER ROLE postgres SET statement_timeout = '2s'")
      const store = yield* open(postgres.url)
      yield* store.commit(partition, [put("a")])
      const other = yield* connect(postgres.url)
      yield* run(other, `SET statement_timeout = 0; BEGIN; ${lockPartitions}`)
      const error = yield* Effect.flip(store.commit(partition, [add("n")]))
      assert.deepInclude(error, { _tag: "StoreUnavailable", outcome: "not-applied", retryable: true })
      assert.include(error.message, "statement_timeout")
      assert.strictEqual((yield* store.get(partition, ["a"]))[0]?.key, "a")
      yield* run(other, "COMMIT")
      assert.strictEqual((yield* store.commit(partition, [add("n")])).totals.get("n"), 1)
    })
  )

  it.live(
    "stops waiting for a lock before the query timeout, so that no back-end waits for a caller that has left",
    () =>
      Effect.gen(function* () {
        const postgres = yield* server
        const store = yield* open(postgres.url)
        yield* store.commit(partition, [put("a")])
        const other = yield* connect(postgres.url)
        yield* run(other, `BEGIN; ${lockPartitions}`)
        const error = yield* Effect.flip(store.commit(partition, [add("n")]))
        assert.deepInclude(error, { _tag: "StoreUnavailable", outcome: "not-applied", retryable: true })
        assert.include(error.message, "another session holds the lock of this partition")
        yield* run(other, "COMMIT")
      })
  )

  it.live("fails fast while the server is down, and recovers after its restart", () =>
    Effect.gen(function* () {
      const postgres = yield* server
      const store = yield* open(postgres.url)
      yield* surviveOutage(store, postgres)
    })
  )

  it.live("times out when the server stops responding, and continues on a new connection", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy(yield* server)
      const store = yield* open(proxy.url, { queryTimeout: 2_000, maxConnections: 1 })
      yield* store.get(partition, ["a"])
      proxy.silence()
      const error = yield* Effect.flip(store.commit(partition, [add("n")]))
      assert.deepInclude(error, { _tag: "StoreUnavailable", outcome: "unknown", retryable: true })
      assert.include(error.message, "did not respond within 2000 ms")
      const totals = yield* Effect.retry(store.counters(partition, ["n"]), { times: 10 })
      assert.deepStrictEqual(totals, [1])
    })
  )

  it.live("fails when the application holds all connections of its pool, and works when one is free", () =>
    Effect.gen(function* () {
      const { url } = yield* server
      const pool = yield* openPool(url, { max: 1 })
      const store = yield* open(pool, { queryTimeout: 2_000 })
      const client = yield* Effect.promise(() => pool.connect())
      const error = yield* Effect.flip(store.commit(partition, [add("n")]))
      assert.deepInclude(error, { _tag: "StoreUnavailable", outcome: "not-applied", retryable: true })
      assert.include(error.message, "no connection of the pool to PostgreSQL became free in time")
      client.release()
      yield* writeAndCheck(store, "a")
    })
  )

  it.live("leaves no waiting caller behind in the application's pool", () =>
    Effect.gen(function* () {
      const { url } = yield* server
      const pool = yield* openPool(url, { max: 1 })
      const store = yield* open(pool, { queryTimeout: 2_000 })
      const client = yield* Effect.promise(() => pool.connect())
      const list = store.list(partition, [{ indexTerms: ["t"], offset: 0, limit: 1 }])
      yield* Effect.all(
        Array.from({ length: 50 }, () => Effect.flip(list)),
        { concurrency: "unbounded" }
      )
      assert.isAtMost(pool.waitingCount, 1)
      client.release()
      yield* writeAndCheck(store, "a")
    })
  )

  it.live("fails calls that have waited too long for the ones before them", () =>
    Effect.gen(function* () {
      const postgres = yield* server
      const store = yield* open(postgres.url, { queryTimeout: 1_500 })
      yield* store.commit(partition, [put("a")])
      const other = yield* connect(postgres.url)
      yield* run(other, `BEGIN; ${lockPartitions}`)
      // Each takes a batch of its own, so they would wait one after another, for half a minute.
      const body = "x".repeat(400_000)
      const started = performance.now()
      const errors = yield* Effect.all(
        Array.from({ length: 20 }, (_, n) => Effect.flip(store.commit(partition, [put(`large${n}`, { body })]))),
        { concurrency: "unbounded" }
      )
      assert.isBelow(performance.now() - started, 15_000)
      assert.isTrue(errors.every((error) => "outcome" in error && error.outcome === "not-applied"))
      assert.isTrue(errors.some(({ message }) => message.includes("earlier calls have kept PostgreSQL busy")))
      yield* run(other, "COMMIT")
      yield* writeAndCheck(store, "b")
    })
  )

  it.live("leaves no more back-ends waiting for a lock than it has connections", () =>
    Effect.gen(function* () {
      const postgres = yield* server
      const store = yield* open(postgres.url, { queryTimeout: 2_000, maxConnections: 1 })
      yield* store.commit(partition, [put("a")])
      const other = yield* connect(postgres.url)
      yield* run(other, `BEGIN; ${lockPartitions}`)
      for (let n = 0; n < 3; n++) yield* Effect.flip(store.commit(partition, [add("n")]))
      const [row] = yield* postgres.query(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tollgate' AND state = 'active'"
      )
      assert.isAtMost(Number(row?.["count"]), 1)
      yield* run(other, "COMMIT")
    })
  )

  it.live("survives the loss of all its connections, also of idle ones of the application's pool", () =>
    Effect.gen(function* () {
      const postgres = yield* server
      const store = yield* open(yield* openPool(postgres.url))
      for (let round = 0; round < 3; round++) {
        yield* writeAndCheck(store, `r${round}`)
        yield* postgres.terminateBackends
      }
      yield* writeAndCheck(store, "last")
    })
  )

  it.live("names a missing permission without quoting data", () =>
    Effect.gen(function* () {
      const { url, query } = yield* server
      yield* open(url)
      yield* query("CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA tollgate TO reader")
      yield* query("GRANT SELECT ON ALL TABLES IN SCHEMA tollgate TO reader")
      const store = yield* open(url.replace("postgres@", "reader@"))
      const error = yield* Effect.flip(store.commit(partition, [put("secret-key", { body: "secret-body" })]))
      assert.deepInclude(error, { _tag: "StoreUnavailable", outcome: "not-applied", retryable: false })
      assert.include(error.message, "this role lacks permission")
      assert.notInclude(`${error.message} ${"cause" in error ? error.cause : ""}`, "secret")
    })
  )
})
