import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigurationError } from "@tollgate/core"
import { BackupError, type SqliteOptions, SqliteStore } from "@tollgate/sqlite"
import { Change, Partition, Store, StoreOpenError } from "@tollgate/store"
import { storeContract } from "@tollgate/store-testkit"
import { Contention, runWorkers, temporaryFolder } from "@tollgate/testing"
import Sqlite from "better-sqlite3"
import { Context, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { isAddonError } from "../src/classifyError.ts"

const partition = Partition.forKeyBucket("acme", "production")
const put = (key: string, fields: Partial<Extract<Change, { _tag: "Put" }>> = {}) =>
  Change.Put({ key, expect: 0, body: "body", indexTerms: ["t"], uniqueKeys: [], ...fields })

const temporaryPath = (name: string) => Effect.map(temporaryFolder, (folder) => join(folder, name))
/** Opens a store with untyped arguments, as JavaScript would. */
const getOpenError = (source: unknown, options?: unknown) =>
  Effect.flip(
    Effect.scoped(Layer.build(SqliteStore.layer(source as string | Sqlite.Database, options as SqliteOptions)))
  ).pipe(Effect.tap((error) => Effect.sync(() => assert.instanceOf(error, StoreOpenError))))
const getMode = (path: string) => statSync(path).mode & 0o777

storeContract("a SQLite file", Layer.unwrap(Effect.map(temporaryPath("store.db"), (path) => SqliteStore.layer(path))))

describe("opening a SQLite store", () => {
  it.effect("creates a file in WAL mode with a schema version", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const store = yield* Effect.promise(() => SqliteStore.open(path))
      yield* store.commit(partition, [put("a")])
      const database = new Sqlite(path)
      assert.strictEqual(database.pragma("journal_mode", { simple: true }), "wal")
      assert.strictEqual(database.pragma("user_version", { simple: true }), 3)
      database.close()
      yield* Effect.promise(() => store.close())
    })
  )

  it.effect("sets the size of the page cache", () =>
    Effect.gen(function* () {
      // A database in memory is not opened a second time, so its settings can be read.
      const database = new Sqlite(":memory:")
      const readSizeAfterOpening = (options: SqliteOptions) =>
        Effect.promise(async () => {
          const store = await SqliteStore.open(database, options)
          await store.close()
          return database.pragma("cache_size", { simple: true })
        })
      assert.strictEqual(yield* readSizeAfterOpening({}), -32 * 1024)
      assert.strictEqual(yield* readSizeAfterOpening({ pageCacheMebibytes: 256 }), -256 * 1024)
      database.close()
    })
  )

  it.effect("lists by several terms what another connection to the file has written", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const reader = yield* Effect.promise(() => SqliteStore.open(path))
      const writer = yield* Effect.promise(() => SqliteStore.open(path))
      const listKeys = Effect.map(
        reader.list(partition, [{ indexTerms: ["t", "u"], offset: 0, limit: 10 }]),
        ([page]) => [page?.records.map(({ key }) => key), page?.total]
      )
      const { versions } = yield* writer.commit(partition, [
        put("a", { indexTerms: ["t", "u"] }),
        put("b"),
        put("c", { indexTerms: ["u"] })
      ])
      assert.deepStrictEqual(yield* listKeys, [["a"], 1])
      // Each term has as many records as before.
      yield* writer.commit(partition, [
        put("b", { expect: versions.get("b") ?? 0, indexTerms: ["t", "u"] }),
        put("c", { expect: versions.get("c") ?? 0, indexTerms: [] })
      ])
      assert.deepStrictEqual(yield* listKeys, [["a", "b"], 2])
      yield* Effect.promise(() => Promise.all([reader.close(), writer.close()]))
    })
  )

  it.effect("reads records written before it was reopened", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const first = yield* Effect.promise(() => SqliteStore.open(path))
      yield* first.commit(partition, [put("a", { body: "kept" })])
      yield* Effect.promise(() => first.close())
      const second = yield* Effect.promise(() => SqliteStore.open(path, { durability: "normal" }))
      assert.strictEqual((yield* second.get(partition, ["a"]))[0]?.body, "kept")
      yield* Effect.promise(() => second.close())
    })
  )

  it.effect("rejects a file with a newer schema and leaves it unchanged", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const newer = new Sqlite(path)
      newer.pragma("user_version = 99")
      newer.close()
      const error = yield* getOpenError(path)
      assert.include(error.message, path)
      assert.include(error.message, "its schema version is 99")
      assert.include(error.message, "Upgrade @tollgate/sqlite")
      const untouched = new Sqlite(path)
      assert.deepStrictEqual(untouched.prepare("SELECT name FROM sqlite_schema").all(), [])
      untouched.close()
    })
  )

  it.effect("rejects a file of a preview and leaves it unchanged", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const store = yield* Effect.promise(() => SqliteStore.open(path))
      yield* store.commit(partition, [put("a")])
      yield* Effect.promise(() => store.close())
      // The first previews had no table for the version.
      for (const statement of [
        "UPDATE tollgate_schema SET version = 2",
        "UPDATE tollgate_schema SET version = 1",
        "DROP TABLE tollgate_schema"
      ]) {
        const preview = new Sqlite(path)
        preview.exec(statement)
        preview.pragma("user_version = 1")
        preview.close()
        const before = readFileSync(path)
        const error = yield* getOpenError(path)
        assert.include(error.message, path)
        assert.include(error.message, "a preview of Tollgate 0.1 wrote it")
        assert.include(error.message, "Start with an empty store")
        assert.isTrue(before.equals(readFileSync(path)))
      }
    })
  )

  it.effect("reports the problem with a path, the path and the remedy", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const missing = yield* getOpenError(join(folder, "none", "store.db"))
      assert.strictEqual(
        missing.message,
        `Cannot open the SQLite database ${join(folder, "none", "store.db")}: the folder ${join(folder, "none")} does not exist. Create it first.`
      )
      assert.isFalse(existsSync(join(folder, "none")))
      assert.include((yield* getOpenError("")).message, "the path is empty")
      mkdirSync(join(folder, "folder"))
      assert.include((yield* getOpenError(join(folder, "folder"))).message, "it is a folder")
    })
  )

  const sources = 'Pass a path, such as "data/tollgate.db", or ":memory:", or an open better-sqlite3 Database.'
  it.effect.each<readonly [name: string, source: unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a number", 5],
    ["a promise", Promise.resolve("store.db")],
    ["an array", ["store.db"]],
    ["a URL", new URL("file:///store.db")],
    ["an object", { filename: "store.db" }],
    ["a database of node:sqlite", new DatabaseSync(":memory:")]
  ])("rejects %s as a path and lists the accepted arguments", ([name, source]) =>
    Effect.gen(function* () {
      const { message } = yield* getOpenError(source)
      assert.strictEqual(message, `Cannot open the SQLite store: the first argument is ${name}. ${sources}`)
    })
  )

  it.effect("says to rebuild better-sqlite3 if its native addon is missing, or was built for another Node", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("addon.node")
      writeFileSync(path, "not an addon")
      // In other processes: in this one the addon is loaded already.
      const worker = new URL("./addon.worker.ts", import.meta.url)
      for (const message of yield* Effect.promise(() => runWorkers<string>(worker, [{ addon: path }, {}]))) {
        assert.include(message, `the native part of better-sqlite3 cannot be loaded by Node ${process.versions.node}`)
        assert.match(message, /Run npm rebuild better-sqlite3\.$/)
      }
      assert.isTrue(isAddonError(new Error("Could not locate the bindings file. Tried:\n → build/better_sqlite3.node")))
    })
  )

  it.effect.each<readonly [options: unknown, message: string]>([
    [
      { durabilty: "normal" },
      "durabilty: unknown option; the options are durability, pageCacheMebibytes, freeDiskReserveMebibytes, clock"
    ],
    [
      { durabilty: undefined },
      "durabilty: unknown option; the options are durability, pageCacheMebibytes, freeDiskReserveMebibytes, clock"
    ],
    [{ durability: "fast" }, 'durability: must be "full" or "normal"'],
    [{ durability: null }, 'durability: must be "full" or "normal"'],
    [{ pageCacheMebibytes: 0.5 }, "pageCacheMebibytes: must be a number of mebibytes, an integer from 1 to 1048576"],
    [
      { pageCacheMebibytes: 2 ** 21 },
      "pageCacheMebibytes: must be a number of mebibytes, an integer from 1 to 1048576"
    ],
    [
      { freeDiskReserveMebibytes: -1 },
      "freeDiskReserveMebibytes: must be a number of mebibytes, an integer of at least 0"
    ],
    [
      null,
      "options: must be an object; the options are durability, pageCacheMebibytes, freeDiskReserveMebibytes, clock"
    ],
    [
      "normal",
      "options: must be an object; the options are durability, pageCacheMebibytes, freeDiskReserveMebibytes, clock"
    ],
    [
      ["normal"],
      "options: must be an object; the options are durability, pageCacheMebibytes, freeDiskReserveMebibytes, clock"
    ]
  ])("rejects the options %o and creates no file", ([options, message]) =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const layer = SqliteStore.layer(path, options as SqliteOptions)
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
      assert.instanceOf(error, ConfigurationError)
      assert.strictEqual(error.message, message)
      assert.instanceOf(
        yield* Effect.promise(() => SqliteStore.open(path, options as SqliteOptions).catch((error: unknown) => error)),
        ConfigurationError
      )
      assert.isFalse(existsSync(path))
    })
  )

  it.effect("treats undefined as an option that is not set", () =>
    Effect.gen(function* () {
      const store = yield* Effect.promise(() => SqliteStore.open(":memory:", { durability: undefined }))
      yield* Effect.promise(() => store.close())
    })
  )

  it.effect("creates files that only their owner can read, also through a symbolic link", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [path, link] = [join(folder, "store.db"), join(folder, "link.db")]
      symlinkSync("store.db", link)
      const store = yield* Effect.promise(() => SqliteStore.open(link))
      yield* store.commit(partition, [put("a")])
      for (const file of [path, `${path}-wal`, `${path}-shm`]) assert.strictEqual(getMode(file), 0o600, file)
      yield* Effect.promise(() => store.backup(join(folder, "backup.db")))
      assert.strictEqual(getMode(join(folder, "backup.db")), 0o600)
      yield* Effect.promise(() => store.close())
    })
  )

  it.effect("keeps the mode of existing files", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [path, backup] = [join(folder, "store.db"), join(folder, "backup.db")]
      new Sqlite(path).exec("CREATE TABLE theirs (x)").close()
      writeFileSync(backup, "")
      chmodSync(path, 0o664)
      chmodSync(backup, 0o640)
      const host = new Sqlite(path)
      for (const source of [path, host]) {
        const store = yield* Effect.promise(() => SqliteStore.open(source))
        yield* store.commit(partition, [put(typeof source === "string" ? "a" : "b")])
        assert.strictEqual(getMode(path), 0o664)
        assert.strictEqual(getMode(`${path}-wal`), 0o664)
        yield* Effect.promise(() => store.backup(backup))
        assert.strictEqual(getMode(backup), 0o640)
        yield* Effect.promise(() => store.close())
      }
      host.close()
    })
  )

  it.effect("reports a symbolic link to a missing folder and a symbolic link loop", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      symlinkSync(join(folder, "none", "store.db"), join(folder, "astray.db"))
      symlinkSync("circle.db", join(folder, "circle.db"))
      assert.include((yield* getOpenError(join(folder, "astray.db"))).message, "the folder does not exist")
      assert.include((yield* getOpenError(join(folder, "circle.db"))).message, "ELOOP")
      assert.isFalse(existsSync(join(folder, "none")))
    })
  )

  it.effect("rejects a file that is not a database and leaves it unchanged", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("notes.txt")
      writeFileSync(path, "these are my notes, not a database. ".repeat(100))
      assert.include((yield* getOpenError(path)).message, "it is not a SQLite database, or it is corrupt")
      assert.isFalse(existsSync(`${path}-wal`))
    })
  )

  it.effect("reports a corrupt page at the first call that reads it", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const store = yield* Effect.promise(() => SqliteStore.open(path))
      yield* store.commit(
        partition,
        Array.from({ length: 500 }, (_, index) => put(`r${index}`))
      )
      yield* Effect.promise(() => store.close())
      const bytes = readFileSync(path)
      // The first pages, with the schema, stay intact.
      writeFileSync(path, Buffer.concat([bytes.subarray(0, 8_192), Buffer.alloc(bytes.length - 8_192, 0xaa)]))
      const opened = yield* Effect.exit(Layer.build(SqliteStore.layer(path)))
      if (Exit.isFailure(opened)) {
        assert.include(String(opened.cause), "StoreOpenError")
        return
      }
      const error = yield* Effect.flip(
        Context.get(opened.value, Store).list(partition, [{ indexTerms: ["t"], offset: 0, limit: 500 }])
      )
      assert.deepInclude(error, { _tag: "StoreUnavailable", retryable: false })
      assert.include(error.message, "the database is corrupt; restore a backup")
    })
  )

  it.effect("rejects a file that it has no permission to write", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      new Sqlite(path).exec("CREATE TABLE theirs (x)").close()
      chmodSync(path, 0o400)
      const reader = new Sqlite(path, { readonly: true })
      assert.include((yield* getOpenError(reader)).message, "read-only")
      reader.close()
      assert.include((yield* getOpenError(reader)).message, "closed")
      // The mode of a file does not restrict root.
      if (process.getuid?.() !== 0)
        assert.include((yield* getOpenError(path)).message, "no permission to read and write")
    })
  )

  it.effect("rejects an unsupported Node version before it loads the native addon", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const real = Object.getOwnPropertyDescriptor(process.versions, "napi") ?? {}
      Object.defineProperty(process.versions, "napi", { ...real, value: "9" })
      const error = yield* Effect.ensuring(
        getOpenError(path),
        Effect.sync(() => Object.defineProperty(process.versions, "napi", real))
      )
      assert.include(error.message, "better-sqlite3 needs Node-API 10")
      assert.include(error.message, "Run on Node 22.19 or later")
      assert.isFalse(existsSync(path))
    })
  )

  it.effect("rejects the promise with StoreOpenError", () =>
    Effect.gen(function* () {
      const error = yield* Effect.promise(() => SqliteStore.open("").catch((error: unknown) => error))
      assert.instanceOf(error, StoreOpenError)
    })
  )
})

describe("a SQLite store on the host's connection", () => {
  it.effect("keeps the host's tables, user_version, settings and connection", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("host.db")
      const host = new Sqlite(path)
      host.exec("CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('acme')")
      host.pragma("user_version = 42")
      host.pragma("busy_timeout = 3000")
      yield* Effect.provide(
        Effect.flatMap(Store, (store) => store.commit(partition, [put("a")])),
        SqliteStore.layer(host)
      )
      assert.isTrue(host.open)
      assert.strictEqual(host.pragma("user_version", { simple: true }), 42)
      assert.strictEqual(host.pragma("busy_timeout", { simple: true }), 3000)
      assert.deepStrictEqual(host.prepare("SELECT name FROM customers").pluck().all(), ["acme"])
      const reopened = yield* Effect.promise(() => SqliteStore.open(host))
      assert.strictEqual((yield* reopened.get(partition, ["a"]))[0]?.key, "a")
      yield* Effect.promise(() => reopened.close())
      host.close()
    })
  )

  it.effect("waits while the host has a transaction open on an in-memory database", () =>
    Effect.gen(function* () {
      const host = new Sqlite(":memory:")
      const store = yield* Effect.promise(() => SqliteStore.open(host))
      host.exec("BEGIN")
      const commit = yield* Effect.forkChild(store.commit(partition, [put("a")]), { startImmediately: true })
      yield* Effect.promise(() => new Promise(setImmediate))
      assert.deepStrictEqual(yield* store.get(partition, ["a"]), [undefined])
      host.exec("COMMIT")
      yield* Fiber.join(commit)
      assert.strictEqual((yield* store.get(partition, ["a"]))[0]?.key, "a")
      yield* Effect.promise(() => store.close())
      assert.isTrue(host.open)
      host.close()
    })
  )

  it.effect("detects conflicts between two stores on one in-memory database", () =>
    Effect.gen(function* () {
      const host = new Sqlite(":memory:")
      const [one, other] = yield* Effect.all([
        Effect.promise(() => SqliteStore.open(host)),
        Effect.promise(() => SqliteStore.open(host))
      ])
      const version = (yield* one.commit(partition, [put("a")])).versions.get("a") ?? 0
      const use = [Change.Check({ key: "a", expect: version }), Change.Add({ counter: "n", by: 1, ttl: 60_000 })]
      yield* one.commit(partition, use)
      yield* other.commit(partition, [put("a", { expect: version })])
      assert.strictEqual((yield* Effect.flip(one.commit(partition, use)))._tag, "StoreConflict")
      assert.deepStrictEqual(yield* one.counters(partition, ["n"]), [1])
      host.close()
    })
  )
})

describe("a SQLite store", () => {
  it.effect("completes pending commits on close, and rejects calls after it", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const store = yield* Effect.promise(() => SqliteStore.open(path))
      const pending = yield* Effect.forkChild(store.commit(partition, [put("a")]), { startImmediately: true })
      yield* Effect.promise(() => store.close())
      assert.strictEqual((yield* Fiber.join(pending)).versions.size, 1)
      for (const call of [store.commit(partition, [put("b")]), store.get(partition, ["a"])]) {
        const error = yield* Effect.flip(call as Effect.Effect<unknown, { readonly message: string }>)
        assert.include(error.message, "the store is closed")
      }
      yield* Effect.promise(() => store.close())
      assert.deepStrictEqual(
        readdirSync(join(path, "..")).filter((name) => name !== "store.db"),
        []
      )
    })
  )

  it.effect("writes nothing for a caller that is interrupted before the transaction", () =>
    Effect.gen(function* () {
      const store = yield* Effect.promise(() => SqliteStore.open(":memory:"))
      const fiber = yield* Effect.forkChild(store.commit(partition, [put("a")]), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      yield* store.commit(partition, [put("b")])
      assert.deepStrictEqual(
        (yield* store.get(partition, ["a", "b"])).map((record) => record?.key),
        [undefined, "b"]
      )
      yield* Effect.promise(() => store.close())
    })
  )

  it.effect("rejects a stale version after a write on this or another connection", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const [one, other] = yield* Effect.all([
        Effect.promise(() => SqliteStore.open(path)),
        Effect.promise(() => SqliteStore.open(path))
      ])
      let version = (yield* one.commit(partition, [put("a")])).versions.get("a") ?? 0
      const use = (store: typeof one) =>
        store.commit(partition, [
          Change.Check({ key: "a", expect: version }),
          Change.Add({ counter: "n", by: 1, ttl: 60_000 })
        ])
      for (const writer of [other, one, other]) {
        yield* Effect.all([use(one), use(other)])
        const written = (yield* writer.commit(partition, [put("a", { expect: version })])).versions.get("a") ?? 0
        assert.strictEqual((yield* Effect.flip(use(one)))._tag, "StoreConflict")
        assert.strictEqual((yield* Effect.flip(use(other)))._tag, "StoreConflict")
        version = written
      }
      yield* other.commit(partition, [Change.Delete({ key: "a", expect: version })])
      assert.strictEqual((yield* Effect.flip(use(one)))._tag, "StoreConflict")
      assert.deepStrictEqual(yield* one.counters(partition, ["n"]), [6])
      yield* Effect.promise(() => Promise.all([one.close(), other.close()]))
    })
  )

  it.effect("groups the commits of one event loop turn into one transaction", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const store = yield* Effect.promise(() => SqliteStore.open(path))
      yield* store.commit(partition, [put("first")])
      const reader = new Sqlite(path)
      const before = Number(reader.pragma("data_version", { simple: true }))
      yield* Effect.forEach(Array.from({ length: 50 }), (_, index) => store.commit(partition, [put(`r${index}`)]), {
        concurrency: "unbounded"
      })
      assert.strictEqual(Number(reader.pragma("data_version", { simple: true })), before + 1)
      reader.close()
      yield* Effect.promise(() => store.close())
    })
  )

  it.effect("expires counters and idempotency ids", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const store = yield* Effect.promise(() => SqliteStore.open(path))
      const idempotency = { id: "id", fingerprint: "", result: "", ttl: 1_000 }
      yield* store.commit(partition, [Change.Add({ counter: "n", by: 3, ttl: 1_000 })], idempotency)
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [3])
      assert.isDefined((yield* store.commit(partition, [], idempotency)).replayed)
      // A counter is kept for up to an eighth longer.
      yield* TestClock.adjust("126 millis")
      assert.deepStrictEqual(yield* store.counters(partition, ["n"]), [0])
      assert.isUndefined(
        (yield* store.commit(partition, [Change.Add({ counter: "m", by: 1, ttl: 1_000 })], idempotency)).replayed
      )
      const reader = new Sqlite(path)
      assert.deepStrictEqual(reader.prepare("SELECT name FROM tollgate_counters").pluck().all(), ["m"])
      reader.close()
      yield* Effect.promise(() => store.close())
    })
  )

  it.live("does not reuse the id of a partition whose creation was rolled back", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const store = yield* Effect.promise(() => SqliteStore.open(path))
      const [p, q] = [Partition.forKeyBucket("acme", "p"), Partition.forKeyBucket("acme", "q")]
      const host = new Sqlite(path)
      host.exec(
        "CREATE TRIGGER refuse BEFORE INSERT ON tollgate_records WHEN NEW.key = 'x' BEGIN SELECT RAISE(ABORT, 'refused'); END"
      )
      host.close()
      // In one transaction: a commit that creates a partition, a clear that must not cache its id, and a commit that
      // rolls both back.
      const [, , refused] = yield* Effect.all(
        [store.commit(p, [put("p")]), store.clear(p), Effect.flip(store.commit(q, [put("x")]))],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(refused._tag, "StoreUnavailable")
      const { versions } = yield* store.commit(p, [put("acknowledged")])
      assert.isAbove(versions.get("acknowledged") ?? 0, 0)
      yield* store.commit(q, [put("q")])
      const [page] = yield* store.list(q, [{ indexTerms: ["t"], offset: 0, limit: 10 }])
      assert.deepStrictEqual(
        page?.records.map(({ key }) => key),
        ["q"]
      )
      yield* Effect.promise(() => store.close())
      const reopened = yield* Effect.promise(() => SqliteStore.open(path))
      assert.strictEqual((yield* reopened.get(p, ["acknowledged"]))[0]?.key, "acknowledged")
      yield* Effect.promise(() => reopened.close())
    })
  )

  it.effect("opens a file with the latest schema without writing to it", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const first = yield* Effect.promise(() => SqliteStore.open(path))
      const blocker = new Sqlite(path)
      blocker.exec("BEGIN IMMEDIATE")
      const second = yield* Effect.promise(() => SqliteStore.open(path))
      assert.deepStrictEqual(yield* second.get(partition, ["a"]), [undefined])
      blocker.exec("ROLLBACK")
      blocker.close()
      yield* Effect.promise(() => Promise.all([first.close(), second.close()]))
    })
  )

  it.effect("leaves no rows after all records are deleted", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const store = yield* Effect.promise(() => SqliteStore.open(path))
      const { versions } = yield* store.commit(partition, [put("a", { uniqueKeys: ["c"], indexTerms: ["t", "u"] })])
      yield* store.commit(partition, [Change.Delete({ key: "a", expect: versions.get("a") ?? 0 })])
      const reader = new Sqlite(path)
      for (const table of ["records", "claims", "terms", "postings"]) {
        assert.strictEqual(reader.prepare(`SELECT count(*) FROM tollgate_${table}`).pluck().get(), 0, table)
      }
      reader.close()
      yield* Effect.promise(() => store.close())
    })
  )

  it.live("waits for a lock without blocking the event loop, and fails after the timeout", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const store = yield* Effect.promise(() => SqliteStore.open(path))
      const blocker = new Sqlite(path)
      blocker.exec("BEGIN IMMEDIATE")
      const waiting = yield* Effect.forkChild(store.commit(partition, [put("a")]), { startImmediately: true })
      let turns = 0
      while (turns < 20) {
        yield* Effect.promise(() => new Promise(setImmediate))
        turns++
      }
      blocker.exec("COMMIT")
      assert.strictEqual((yield* Fiber.join(waiting)).versions.size, 1)
      blocker.exec("BEGIN IMMEDIATE")
      const error = yield* Effect.flip(store.commit(partition, [put("b")]))
      assert.include(error.message, "locked for 5 seconds")
      assert.deepInclude(error, { _tag: "StoreUnavailable", retryable: true, outcome: "not-applied" })
      blocker.exec("ROLLBACK")
      blocker.close()
      yield* store.commit(partition, [put("b")])
      yield* Effect.promise(() => store.close())
    })
  )

  it.live("is consistent when four processes share it: unique names, no counter over its maximum, no lock errors", () =>
    Effect.gen(function* () {
      const path = yield* temporaryPath("store.db")
      const results = yield* Effect.promise(() =>
        runWorkers<Contention.ContentionResult>(new URL("contender.worker.ts", import.meta.url), [
          path,
          path,
          path,
          path
        ])
      )
      const store = yield* Effect.promise(() => SqliteStore.open(path))
      yield* Effect.promise(() => Contention.assertConsistent(store, results))
      yield* Effect.promise(() => store.close())
    })
  )
})

layer(Layer.unwrap(Effect.map(temporaryPath("store.db"), (path) => SqliteStore.layer(path))))("a backup", (it) => {
  it.effect("is a consistent snapshot of the store", () =>
    Effect.gen(function* () {
      const store = yield* SqliteStore
      const folder = yield* temporaryFolder
      yield* store.commit(
        partition,
        Array.from({ length: 2_000 }, (_, index) => put(`r${index}`))
      )
      const path = join(folder, "backup.db")
      yield* store.backup(path)
      yield* store.commit(partition, [put("later")])
      const copy = yield* Effect.promise(() => SqliteStore.open(path))
      const [page] = yield* copy.list(partition, [{ indexTerms: ["t"], offset: 0, limit: 0 }])
      assert.strictEqual(page?.total, 2_000)
      yield* Effect.promise(() => copy.close())
      assert.deepStrictEqual(
        readdirSync(folder).filter((name) => name.endsWith(".partial")),
        []
      )
      // SQLite must not read a stale -wal file as the backup's log. Concurrent backups to one path are allowed.
      writeFileSync(`${path}-wal`, "stale")
      yield* Effect.all([store.backup(path), store.backup(path)], { concurrency: "unbounded" })
      const reopened = yield* Effect.promise(() => SqliteStore.open(path))
      const [secondPage] = yield* reopened.list(partition, [{ indexTerms: ["t"], offset: 0, limit: 0 }])
      assert.strictEqual(secondPage?.total, 2_001)
      yield* Effect.promise(() => reopened.close())
    })
  )

  it.effect("fails with BackupError and leaves no file", () =>
    Effect.gen(function* () {
      const store = yield* SqliteStore
      const folder = yield* temporaryFolder
      const path = join(folder, "none", "backup.db")
      const exit = yield* Effect.exit(store.backup(path))
      assert.isTrue(Exit.isFailure(exit))
      const error = yield* Effect.flip(store.backup(path))
      assert.instanceOf(error, BackupError)
      assert.strictEqual(error.message, `Cannot create the backup ${path}: the folder does not exist`)
      for (const invalidPath of ["", undefined]) {
        const invalid = yield* Effect.flip(store.backup(invalidPath as string))
        assert.include(invalid.message, 'the path is not a non-empty string; pass one, such as "data/backup.db"')
      }
      assert.deepStrictEqual(readdirSync(folder), [])
    })
  )
})
