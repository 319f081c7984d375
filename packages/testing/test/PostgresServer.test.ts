import { assert, describe, it } from "@effect/vitest"
import { createDatabase, eventually, type PostgresServer, startPostgres } from "@tollgate/testing"
import { Effect } from "effect"
import { Client } from "pg"
import { ensurePostgres, listPostgres } from "../src/postgresBinary.ts"

const connect = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString: url })
      // A lost connection emits an error besides the failed query.
      client.on("error", () => undefined)
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end().catch(() => undefined))
  )

const writeNumber = (server: PostgresServer, number: number) =>
  server.query("INSERT INTO numbers VALUES ($1)", [number])

describe("a PostgreSQL server of the tests", () => {
  it.live("keeps committed rows through kills and a shutdown", () =>
    Effect.gen(function* () {
      const server = yield* startPostgres()
      yield* server.query("CREATE TABLE numbers (number integer)")
      yield* writeNumber(server, 1)
      yield* server.restart
      yield* writeNumber(server, 2)
      yield* server.kill
      yield* server.restart
      yield* writeNumber(server, 3)
      yield* server.stop
      yield* server.restart
      yield* writeNumber(server, 4)
      assert.deepStrictEqual(yield* server.query("SELECT number FROM numbers ORDER BY number"), [
        { number: 1 },
        { number: 2 },
        { number: 3 },
        { number: 4 }
      ])
    })
  )

  it.live("ends connections, and kills a back-end", () =>
    Effect.gen(function* () {
      const server = yield* startPostgres()
      for (const fault of [server.terminateBackends, server.killBackend]) {
        const client = yield* connect(server.url)
        const isLost = new Promise((resolve) => client.once("end", resolve))
        yield* fault
        yield* Effect.promise(() => isLost)
        yield* Effect.promise(() => eventually(() => Effect.runPromise(server.query("SELECT 1"))))
      }
    })
  )

  it.live("answers nothing while it is paused", () =>
    Effect.gen(function* () {
      const server = yield* startPostgres()
      const client = yield* connect(server.url)
      yield* server.pause
      const reply = client.query("SELECT 1 AS one")
      const first = yield* Effect.promise(() =>
        Promise.race([reply, new Promise((resolve) => setTimeout(resolve, 300, "silence"))])
      )
      assert.strictEqual(first, "silence")
      yield* server.resume
      assert.deepStrictEqual((yield* Effect.promise(() => reply)).rows, [{ one: 1 }])
    })
  )

  it.live("has databases that share no tables", () =>
    Effect.gen(function* () {
      const server = yield* startPostgres({ settings: { max_connections: "20" } })
      for (const { url } of [yield* createDatabase(server.url), yield* createDatabase(server.url)]) {
        const client = yield* connect(url)
        yield* Effect.promise(() => client.query("CREATE TABLE numbers (number integer)"))
      }
      assert.deepStrictEqual(yield* server.query("SHOW max_connections"), [{ max_connections: "20" }])
    })
  )

  it("that cannot be installed: the error says what to install", () => {
    let installs = 0
    const list = () => listPostgres(["/no/such/folder", import.meta.dirname])
    assert.throws(
      () => ensurePostgres(undefined, list, () => installs++),
      /sudo apt-get install postgresql; macOS: brew install postgresql@17/
    )
    assert.strictEqual(installs, 1)
  })
})
