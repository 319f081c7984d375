/**
 * A role that may not create anything uses a store that an administrator has prepared, as docs/guides/postgres.md says.
 */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { PostgresStore } from "@tollgate/postgres"
import { StoreOpenError } from "@tollgate/store"
import { startPostgres } from "@tollgate/testing"
import { Effect } from "effect"
import { Client } from "pg"

const page = readFileSync(new URL("../../../docs/guides/postgres.md", import.meta.url), "utf8")
const grants = (/```sql\n(.*?)```/s.exec(page)?.[1] ?? "").trim().split("\n")

/** Starts a server on which only the administrator may create or call anything, with a role for the application. */
const startRestrictedServer = Effect.gen(function* () {
  const { url, query } = yield* startPostgres()
  yield* query(`CREATE ROLE app LOGIN;
    REVOKE CREATE, TEMPORARY ON DATABASE postgres FROM PUBLIC;
    REVOKE ALL ON SCHEMA public FROM PUBLIC;
    ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;`)
  return { asAdministrator: query, urlOfApp: url.replace("postgres@", "app@") }
})

/** Creates, consumes, lists and deletes. Returns what it has seen. */
const exercise = async (gate: Tollgate) => {
  const acme = gate.account("acme")
  const production = acme.keyBucket("production")
  const alice = await production.consumers.create({ name: "alice", tags: { team: "blue" } }, { withApiKey: true })
  const metering = await acme.meteringBuckets.ensure("default")
  await metering.plans.create({ label: "pro", meters: { requests: { max: 1 } } })
  await metering.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
  const authorize = () =>
    production.authorize(alice.apiKeys[0].key ?? "", {
      rateLimit: { limit: 10, per: "second" },
      metering: { meteringBucketId: metering.id, meters: { requests: 1 } }
    })
  const [first, second] = [await authorize(), await authorize()]
  const listed = await production.consumers.list({ tags: { team: "blue" } })
  await production.consumers.remove("alice")
  const { valid } = await production.verify(alice.apiKeys[0].key ?? "")
  await acme.meteringBuckets.remove(metering.id)
  return { allowed: [first.allowed, second.allowed], listed: listed.data.map(({ name }) => name), valid }
}

const useStore = async (url: string) => {
  const gate = await createTollgate({
    store: PostgresStore.layer(url),
    secret: "a secret that only these tests use"
  })
  return exercise(gate).finally(() => gate.close())
}

const runSql = async (url: string, sql: string): Promise<void> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

/** The error with which a promise rejects. */
const getError = (run: () => Promise<unknown>) =>
  Effect.promise(() =>
    run().then(
      () => undefined,
      (error: unknown) => error
    )
  )

describe("a role that may not create anything", () => {
  it.live("cannot prepare the store itself, and learns what to do", () =>
    Effect.gen(function* () {
      const { urlOfApp } = yield* startRestrictedServer
      const error = yield* getError(() => PostgresStore.open(urlOfApp))
      assert.instanceOf(error, StoreOpenError)
      assert.include(error.message, "PostgresStore.migrationSql()")
    })
  )

  it.live("uses the store with the documented grants, and still may not create anything", () =>
    Effect.gen(function* () {
      const { asAdministrator, urlOfApp } = yield* startRestrictedServer
      yield* asAdministrator(PostgresStore.migrationSql())
      yield* asAdministrator(grants.join("\n"))
      const seen = yield* Effect.promise(() => useStore(urlOfApp))
      assert.deepStrictEqual(seen, { allowed: [true, false], listed: ["alice"], valid: false })
      for (const sql of ["CREATE SCHEMA other", "CREATE TABLE tollgate.other ()", "CREATE TABLE public.other ()"]) {
        const error = yield* getError(() => runSql(urlOfApp, sql))
        assert.include(String(error), "permission denied")
      }
    })
  )

  it.live("needs each of the documented grants", () =>
    Effect.gen(function* () {
      const { asAdministrator, urlOfApp } = yield* startRestrictedServer
      yield* asAdministrator(PostgresStore.migrationSql())
      assert.strictEqual(grants.length, 3)
      for (const grant of grants) {
        yield* asAdministrator(grants.join("\n"))
        yield* asAdministrator(grant.replace("GRANT", "REVOKE").replace("TO app", "FROM app"))
        const error = yield* getError(() => useStore(urlOfApp))
        assert.match(String(error), /permission|may not/, grant)
      }
    })
  )
})

describe("a role that may create in its schema only", () => {
  it.live("prepares the store itself", () =>
    Effect.gen(function* () {
      const { asAdministrator, urlOfApp } = yield* startRestrictedServer
      yield* asAdministrator("CREATE SCHEMA tollgate; GRANT USAGE, CREATE ON SCHEMA tollgate TO app")
      const seen = yield* Effect.promise(() => useStore(urlOfApp))
      assert.deepStrictEqual(seen, { allowed: [true, false], listed: ["alice"], valid: false })
    })
  )
})
