import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { PostgresStore, type PostgresStoreOptions } from "@tollgate/postgres"
import { StoreOpenError } from "@tollgate/store"
import { findFreePort, startPostgres } from "@tollgate/testing"
import { Effect, Layer } from "effect"
import { Client, type PoolConfig } from "pg"
import { add, collectWarnings, open, openPool, partition, put } from "./helpers.ts"

const server = startPostgres()

const getError = (source: unknown, options?: PostgresStoreOptions) =>
  Effect.flip(Effect.scoped(Layer.build(PostgresStore.layer(source as string, options))))

const getOpenError = (source: unknown, options?: PostgresStoreOptions) =>
  Effect.tap(getError(source, options), (error) => Effect.sync(() => assert.instanceOf(error, StoreOpenError)))

describe("opening a Postgres store", () => {
  it.live("reports the problem, the location and the remedy, but never the password", () =>
    Effect.gen(function* () {
      const port = yield* findFreePort
      const unreachable = yield* getOpenError(`postgres://user:s3cret@127.0.0.1:${port}/app`)
      assert.strictEqual(
        unreachable.message,
        `Cannot open the PostgreSQL database app at 127.0.0.1:${port}: it does not respond. Start the server, or check host, port and TLS.`
      )
      assert.notInclude(inspect(unreachable, { depth: 10 }) + JSON.stringify(unreachable), "s3cret")
      for (const [source, problem] of [
        ["", "the URL is not valid"],
        ["localhost/app?password=s3cret", "the URL is not valid"],
        ["http://user:s3cret@localhost", "http:// is not a PostgreSQL URL"],
        ["redis://user:s3cret@localhost", "redis:// is not a PostgreSQL URL"],
        ["postgres://user:s3cret@local host:x/app", "the URL is not valid"],
        ["postgres://user:s3cret@localhost/app?sslrootcert=/missing/s3cret.pem", "a file that it names cannot be read"]
      ] as const) {
        const error = yield* getOpenError(source)
        assert.include(error.message, problem)
        assert.include(error.message, "Use postgres://user:password@host:port/database")
        assert.notInclude(inspect(error, { depth: 10 }) + JSON.stringify(error), "s3cret")
      }
    })
  )

  it.live("rejects other arguments with what to pass instead", () =>
    Effect.gen(function* () {
      const { url } = yield* server
      const pool = yield* openPool(url)
      for (const [source, problem] of [
        [undefined, "the first argument is undefined"],
        [{ host: "localhost" }, "the first argument is an object. Pass a postgres:// URL as a string, or a pg Pool"],
        [Promise.resolve(pool), "the first argument is a promise"],
        [new Client(url), "the first argument is one connection. Pass a pg Pool"],
        [[url], "the first argument is an array"]
      ] as const) {
        assert.include((yield* getOpenError(source)).message, problem)
      }
      assert.include((yield* getOpenError(pool, { maxConnections: 5 })).message, "Set max in the options of the pool")
      assert.include(
        (yield* getOpenError(yield* openPool(url, { binary: true } as PoolConfig))).message,
        "without the option binary"
      )
      for (const schema of ["", " ", "s".repeat(64), "a$function$b", "o'clock"]) {
        assert.include((yield* getError(url, { schema })).message, "must be the name of a schema")
      }
    })
  )

  it.live("reports a wrong password and a missing database", () =>
    Effect.gen(function* () {
      const { url, folder, query } = yield* server
      yield* query("CREATE ROLE alice LOGIN SUPERUSER PASSWORD 'right'")
      const accessFile = join(folder, "data", "pg_hba.conf")
      writeFileSync(accessFile, `host all alice all scram-sha-256\n${readFileSync(accessFile, "utf8")}`)
      yield* query("SELECT pg_reload_conf()")
      const wrong = yield* Effect.repeat(getOpenError(url.replace("postgres@", "alice:wr0ng@")), {
        until: ({ message }) => message.includes("rejects")
      })
      assert.include(wrong.message, "it rejects the user or the password. Check the credentials in the URL")
      assert.notInclude(inspect(wrong, { depth: 10 }) + JSON.stringify(wrong), "wr0ng")
      yield* open(url.replace("postgres@", "alice:right@"))
      assert.include((yield* getOpenError(`${url}2`)).message, "the database does not exist")
    })
  )

  it.live("refuses a database with another encoding, and a standby", () =>
    Effect.gen(function* () {
      const { url, query, folder, restart } = yield* server
      yield* query("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
      const error = yield* getOpenError(url.replace(/postgres$/, "ascii"))
      assert.include(error.message, "its encoding is SQL_ASCII. Create the database with ENCODING 'UTF8'")
      appendFileSync(join(folder, "data", "standby.signal"), "")
      yield* restart
      assert.include((yield* getOpenError(url)).message, "its server is a standby, which is read-only")
    })
  )

  it.live("warns in one line about settings that may lose acknowledged writes", () =>
    Effect.gen(function* () {
      const { url, query } = yield* startPostgres({ settings: { fsync: "off", synchronous_commit: "off" } })
      const location = `The PostgreSQL database postgres at 127.0.0.1:${new URL(url).port}`
      assert.deepStrictEqual(yield* collectWarnings(Layer.build(PostgresStore.layer(url))), [
        `${location} runs with fsync off: a crash of its machine may lose or corrupt all data. Set fsync on`,
        `${location} runs with synchronous_commit off: a crash may lose the latest acknowledged writes. Set it on for this role`
      ])
      yield* query("ALTER ROLE postgres SET synchronous_commit = on")
      assert.strictEqual((yield* collectWarnings(Layer.build(PostgresStore.layer(url)))).length, 1)
    })
  )

  it.live("creates its tables once when many processes open it at the same time", () =>
    Effect.gen(function* () {
      const { url, query } = yield* server
      const stores = yield* Effect.all(
        Array.from({ length: 8 }, () => open(url)),
        { concurrency: "unbounded" }
      )
      yield* Effect.forEach(stores, (store) => store.commit(partition, [add("n")]), { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* query("SELECT version FROM tollgate.tollgate_schema"), [{ version: 5 }])
      const [row] = yield* query("SELECT value FROM tollgate.tollgate_counters")
      assert.strictEqual(row?.["value"], "8")
    })
  )

  it.live("isolates stores in different schemas, whatever their names are", () =>
    Effect.gen(function* () {
      const { url, query } = yield* server
      yield* query('CREATE SCHEMA "My Schema"')
      const schemas = ["My Schema", 'quoted"name', "public", "ünïcode"]
      for (const schema of schemas) {
        const store = yield* open(url, { schema })
        yield* store.commit(partition, [put("a", { body: schema, uniqueKeys: ["u"] })])
      }
      for (const schema of schemas) {
        const store = yield* open(url, { schema })
        assert.strictEqual((yield* store.getByUniqueKey(partition, ["u"]))[0]?.record.body, schema)
      }
    })
  )

  it.live("refuses tables that a newer version has migrated, and changes nothing", () =>
    Effect.gen(function* () {
      const { url, query } = yield* server
      yield* open(url)
      yield* query("UPDATE tollgate.tollgate_schema SET version = 6")
      assert.include(
        (yield* getOpenError(url)).message,
        "a newer version of Tollgate has migrated it: its schema version is 6, and this version supports 5. Upgrade @tollgate/postgres, or restore a backup from this version."
      )
      assert.deepStrictEqual(yield* query("SELECT version FROM tollgate.tollgate_schema"), [{ version: 6 }])
    })
  )

  it.live("refuses tables of a preview, and changes nothing", () =>
    Effect.gen(function* () {
      const { url, query } = yield* server
      const store = yield* open(url)
      yield* store.commit(partition, [put("a")])
      const readAll = Effect.all([
        query("SELECT * FROM tollgate.tollgate_schema"),
        query("SELECT * FROM tollgate.tollgate_records"),
        query("SELECT oid, prosrc FROM pg_proc WHERE pronamespace = 'tollgate'::regnamespace ORDER BY oid")
      ])
      for (const version of [1, 2, 3, 4]) {
        yield* query(`UPDATE tollgate.tollgate_schema SET version = ${version}`)
        const before = yield* readAll
        assert.include(
          (yield* getOpenError(url)).message,
          "a preview of Tollgate 0.1 wrote it, and this version does not read the formats of previews. Start with an empty store"
        )
        assert.deepStrictEqual(yield* readAll, before)
      }
    })
  )

  it.live("leaves nothing behind if a migration fails, and succeeds when the cause is gone", () =>
    Effect.gen(function* () {
      const { url, query } = yield* server
      yield* query("CREATE SCHEMA tollgate; CREATE TABLE tollgate.tollgate_terms (mine int)")
      assert.include((yield* getOpenError(url)).message, "42P07")
      const tables = "SELECT relname FROM pg_class WHERE relnamespace = 'tollgate'::regnamespace"
      assert.deepStrictEqual(yield* query(tables), [{ relname: "tollgate_terms" }])
      yield* query("DROP TABLE tollgate.tollgate_terms")
      yield* open(url)
    })
  )

  it.live("gives the migration as SQL that an administrator can run", () =>
    Effect.gen(function* () {
      const { url, query } = yield* server
      yield* query("CREATE ROLE limited LOGIN")
      const limitedUrl = url.replace("postgres@", "limited@")
      const error = yield* getOpenError(limitedUrl, { schema: "gate" })
      assert.include(error.message, "this role lacks permission on the tables or functions of the store")
      assert.include(error.message, "PostgresStore.migrationSql()")
      yield* query(PostgresStore.migrationSql({ schema: "gate" }))
      yield* query(
        `GRANT USAGE ON SCHEMA gate TO limited;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA gate TO limited`
      )
      const store = yield* open(limitedUrl, { schema: "gate" })
      yield* store.commit(partition, [put("a"), add("n")])
      for (const fromVersion of [4, 5]) {
        assert.throws(() => PostgresStore.migrationSql({ fromVersion }), "must be 0, the version of an empty database")
      }
    })
  )

  it.live("uses the application's pool and leaves it as it was", () =>
    Effect.gen(function* () {
      const { url } = yield* server
      const pool = yield* openPool(url, { max: 1 })
      const listeners = pool.listenerCount("error")
      const store = yield* Effect.promise(() => PostgresStore.open(pool))
      yield* Effect.forEach(Array.from({ length: 50 }), () => store.commit(partition, [add("n")]), {
        concurrency: "unbounded"
      })
      yield* Effect.promise(() => store.close())
      assert.strictEqual(pool.listenerCount("error"), listeners)
      assert.deepStrictEqual([pool.ended, pool.totalCount, pool.idleCount], [false, 1, 1])
      const { rows } = yield* Effect.promise(() => pool.query("SELECT 1::int AS one"))
      assert.deepStrictEqual(rows, [{ one: 1 }])
    })
  )

  it.live("closes its own connections", () =>
    Effect.gen(function* () {
      const { url, query } = yield* server
      const store = yield* Effect.promise(() => PostgresStore.open(url))
      yield* store.commit(partition, [add("n")])
      yield* Effect.promise(() => store.close())
      const connections = query("SELECT pid FROM pg_stat_activity WHERE application_name = 'tollgate'")
      assert.deepStrictEqual(yield* Effect.repeat(connections, { until: (rows) => rows.length === 0 }), [])
    })
  )
})
