import { PostgresStore, type PostgresStoreOptions } from "@tollgate/postgres"
import { storeContract } from "@tollgate/store-testkit"
import { startPostgres } from "@tollgate/testing"
import { Effect, Layer } from "effect"

// The contract has commits of ten thousand changes, which exceed the default timeout on a busy machine.
const layer = (options?: PostgresStoreOptions) =>
  Layer.unwrap(Effect.map(startPostgres(), ({ url }) => PostgresStore.layer(url, { queryTimeout: 30_000, ...options })))

storeContract("Postgres", layer(), { clock: "server" })
storeContract("Postgres with the caller's clock", layer({ clock: "caller" }))
