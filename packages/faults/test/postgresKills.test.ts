/**
 * Kills, stops and pauses a real PostgreSQL server under load. Acknowledged writes are not lost, no write is
 * partial, none is counted twice, and the store recovers without intervention.
 */
import { join } from "node:path"
import { createTollgate } from "@tollgate/core"
import { PostgresStore, type PostgresStoreOptions } from "@tollgate/postgres"
import { eventually, type PostgresServer, startFaultyProxy, startPostgres } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import pg from "pg"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { secret } from "./stores.ts"
import { startWriteLoad } from "./writeLoad.ts"

let scope: Scope.Closeable
const finalizers: Array<() => Promise<unknown>> = []
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(async () => {
  for (const close of finalizers.splice(0).reverse()) await close()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const start = (options?: Parameters<typeof startPostgres>[0]): Promise<PostgresServer> =>
  Effect.runPromise(Scope.provide(startPostgres(options), scope))

const openGate = async (source: string | pg.Pool, options?: PostgresStoreOptions) => {
  const store = await PostgresStore.open(source, options)
  finalizers.push(store.close)
  const gate = await createTollgate({
    store,
    secret,
    tokens: [{ token: "a-management-token-of-this-test", account: "acme" }]
  })
  finalizers.push(gate.close)
  return gate
}

/** The error of a call that has to fail, after at most this many milliseconds. */
const getFailure = async (call: Promise<unknown>, withinMs: number) => {
  const started = performance.now()
  const error = await call.then(
    () => expect.fail("The call succeeded"),
    (error) => error
  )
  expect(performance.now() - started).toBeLessThan(withinMs)
  return error
}

describe("a PostgreSQL server under load", () => {
  const endConnections = (server: PostgresServer) => server.terminateBackends
  const faults: ReadonlyArray<readonly [name: string, times: number, (server: PostgresServer) => Effect.Effect<void>]> =
    [
      ["killed five times", 5, (server) => server.restart],
      ["with one back-end killed five times", 5, (server) => server.killBackend],
      ["with all connections ended twenty times", 20, endConnections],
      ["shut down and started five times", 5, (server) => Effect.andThen(server.stop, server.restart)]
    ]

  it.each(faults)(
    "%s: no acknowledged write is lost or counted twice, and the store reconnects",
    async (name, times, fault) => {
      const server = await start()
      const load = await startWriteLoad(await openGate(server.url))
      for (let time = 0; time < times; time++) {
        await load.waitForWrites(100)
        await Effect.runPromise(fault(server))
      }
      await load.waitForWrites(50)
      const { rejected, summary } = await load.finish()
      console.log(`PostgreSQL ${name}: ${summary}`)
      // The server is up and accepts new connections: the store retries on one of them.
      if (fault === endConnections) expect(rejected).toBe(0)
    },
    120_000
  )
})

describe("a PostgreSQL server that is down", () => {
  it("leads to StoreUnavailable or 503 within three seconds, and calls succeed after a restart", async () => {
    const server = await start()
    const gate = await openGate(server.url)
    const keyBucket = gate.account("acme").keyBucket("b")
    await keyBucket.consumers.create({ name: "alice" })
    await Effect.runPromise(server.kill)
    const getConsumer = () =>
      gate.handler(
        new Request("http://gate/v1/accounts/acme/key-buckets/b/consumers/alice", {
          headers: { authorization: "Bearer a-management-token-of-this-test" }
        })
      )
    const started = performance.now()
    const response = await getConsumer()
    expect(performance.now() - started).toBeLessThan(3_000)
    expect(response.status).toBe(503)
    expect(response.headers.get("retry-after")).toBe("1")
    expect((await gate.handler(new Request("http://gate/readyz"))).status).toBe(503)
    expect((await gate.handler(new Request("http://gate/healthz"))).status).toBe(200)
    for (const call of [
      () => keyBucket.verify("a-key-of-sixteen-characters"),
      () => keyBucket.consumers.list(),
      () => keyBucket.consumers.create({ name: "bob" })
    ]) {
      expect(await getFailure(call(), 3_000)).toMatchObject({ _tag: "StoreUnavailable", outcome: "not-applied" })
    }
    await Effect.runPromise(server.restart)
    await eventually(async () => expect((await getConsumer()).status).toBe(200))
    expect((await gate.handler(new Request("http://gate/readyz"))).status).toBe(200)
  }, 60_000)
})

describe("a PostgreSQL server that does not answer", () => {
  it("leads to StoreUnavailable after the query timeout, and no write is lost or counted twice", async () => {
    const server = await start()
    const gate = await openGate(server.url, { queryTimeout: 1_000 })
    const keyBucket = gate.account("acme").keyBucket("b")
    const load = await startWriteLoad(gate)
    for (let pause = 0; pause < 3; pause++) {
      await load.waitForWrites(50)
      await Effect.runPromise(server.pause)
      const calls = [
        keyBucket.verify("a-key-of-sixteen-characters"),
        keyBucket.consumers.create({ name: `paused-${pause}` }, { withApiKey: true })
      ]
      for (const error of await Promise.all(calls.map((call) => getFailure(call, 5_000))))
        expect(error).toMatchObject({ _tag: "StoreUnavailable" })
      await Effect.runPromise(server.resume)
    }
    await load.waitForWrites(50)
    console.log(`PostgreSQL paused three times: ${(await load.finish()).summary}`)
  }, 120_000)

  it("to a commit that it has applied: the commit is applied once, and the call succeeds", async () => {
    const server = await start()
    const { port: serverPort } = new URL(server.url)
    const proxy = await Effect.runPromise(
      Scope.provide(startFaultyProxy(join(server.folder, `.s.PGSQL.${serverPort}`)), scope)
    )
    const url = new URL(server.url)
    url.port = String(proxy.port)
    const gate = await openGate(url.href)
    const keyBucket = gate.account("acme").keyBucket("b")
    for (let cut = 1; cut <= 20; cut++) {
      proxy.cutReplyTo("tollgate_commit", `c-${cut}`)
      await keyBucket.consumers.create({ name: `c-${cut}` }, { withApiKey: true })
      expect(proxy.cuts()).toBe(cut)
    }
    expect((await keyBucket.consumers.list({ limit: 1 })).total).toBe(20)
  }, 60_000)
})

describe("a connection pool of one", () => {
  it("carries the load of a store that opens it", async () => {
    const server = await start()
    const load = await startWriteLoad(await openGate(server.url, { maxConnections: 1 }))
    await load.waitForWrites(300)
    const [row] = await Effect.runPromise(
      server.query(
        "SELECT count(*)::int AS count FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
      )
    )
    expect(row).toEqual({ count: 1 })
    console.log(`PostgreSQL, one connection: ${(await load.finish()).summary}`)
  }, 60_000)

  it("carries the load of a store and of the host that passes it, and stays open", async () => {
    const server = await start()
    const pool = new pg.Pool({ connectionString: server.url, max: 1 })
    finalizers.push(() => pool.end())
    const store = await PostgresStore.open(pool)
    const gate = await createTollgate({ store, secret })
    const load = await startWriteLoad(gate)
    for (let query = 0; query < 100; query++) {
      expect((await pool.query("SELECT $1::int AS value", [query])).rows).toEqual([{ value: query }])
    }
    await load.waitForWrites(200)
    console.log(`PostgreSQL, one connection of the host: ${(await load.finish()).summary}`)
    await gate.close()
    await store.close()
    expect((await pool.query("SELECT 1 AS value")).rows).toEqual([{ value: 1 }])
    expect(pool.totalCount).toBe(1)
  }, 60_000)
})

describe("another session that locks the partitions", () => {
  it("makes writes fail without effect, within the statement timeout of the database, until it ends", async () => {
    const server = await start()
    // Shorter than the time for which the store itself waits for a lock.
    await Effect.runPromise(server.query("ALTER DATABASE postgres SET statement_timeout = '1s'"))
    const gate = await openGate(server.url)
    const keyBucket = gate.account("acme").keyBucket("b")
    await keyBucket.consumers.create({ name: "alice" })
    const session = new pg.Client({ connectionString: server.url })
    await session.connect()
    finalizers.push(() => session.end())
    await session.query("BEGIN")
    await session.query("SELECT * FROM tollgate.tollgate_partitions FOR UPDATE")
    const creates = ["bob", "carol"].map((name) => keyBucket.consumers.create({ name }))
    for (const error of await Promise.all(creates.map((create) => getFailure(create, 10_000)))) {
      const problem = expect.stringContaining("statement_timeout")
      expect(error).toMatchObject({ _tag: "StoreUnavailable", outcome: "not-applied", problem })
    }
    expect((await keyBucket.consumers.list()).total).toBe(1)
    await session.query("ROLLBACK")
    await keyBucket.consumers.create({ name: "bob" })
    expect((await keyBucket.consumers.list()).total).toBe(2)
  }, 60_000)
})
