/**
 * Stores on one PostgreSQL server for all tests of a file, because a server takes a second to start. Each layer has a
 * schema of its own whenever it is built, so that it is empty.
 */
import { randomBytes } from "node:crypto"
import type { Store } from "@tollgate/core/store"
import { PostgresStore, type PostgresStoreOptions } from "@tollgate/postgres"
import { startPostgres } from "@tollgate/testing"
import { Effect, Exit, Layer, Scope } from "effect"
import { afterAll } from "vitest"

const scope = Scope.makeUnsafe()
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const server = Effect.runSync(Effect.cached(Scope.provide(startPostgres(), scope)))

export const makePostgresLayer = (options: PostgresStoreOptions = {}): Layer.Layer<Store, unknown> =>
  Layer.unwrap(
    Effect.map(server, ({ url }) =>
      PostgresStore.layer(url, { ...options, schema: `test_${randomBytes(8).toString("hex")}` })
    )
  )
