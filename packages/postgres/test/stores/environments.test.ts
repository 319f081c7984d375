import { PostgresStore, type PostgresStoreOptions } from "@tollgate/postgres"
import { storeContract } from "@tollgate/store-testkit"
import { installOlderPostgres, startPgBouncer, startPostgres } from "@tollgate/testing"
import { Effect, Layer } from "effect"
import { expect, it } from "vitest"

const server = startPostgres()

// The contract has commits of ten thousand changes, which exceed the default timeout on a busy machine.
const layer = (url: string, options?: PostgresStoreOptions) =>
  PostgresStore.layer(url, { queryTimeout: 30_000, ...options })

storeContract(
  "Postgres with the caller's clock",
  Layer.unwrap(Effect.map(server, ({ url }) => layer(url, { clock: "caller" })))
)
storeContract(
  "Postgres behind PgBouncer in transaction mode",
  Layer.unwrap(Effect.map(Effect.flatMap(server, startPgBouncer), (url) => layer(url))),
  { clock: "server" }
)
storeContract(
  "Postgres with one connection, which isolates transactions as serializable",
  Layer.unwrap(
    Effect.gen(function* () {
      const { url, query } = yield* server
      yield* query("ALTER ROLE postgres SET default_transaction_isolation = 'serializable'")
      return layer(url, { maxConnections: 1 })
    })
  ),
  { clock: "server" }
)

const olderVersions = installOlderPostgres()

it("npm has the supported versions before the newest for this machine", () => {
  expect(olderVersions.map(({ version }) => Number.parseInt(version, 10))).toEqual([17, 16, 15])
})

for (const installation of olderVersions) {
  storeContract(
    `PostgreSQL ${installation.version}`,
    Layer.unwrap(Effect.map(startPostgres({ installation }), ({ url }) => layer(url))),
    { clock: "server" }
  )
}
