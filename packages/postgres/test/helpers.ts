/**
 * Stores, servers and changes for the tests of this package.
 */

import { type PostgresSource, PostgresStore, type PostgresStoreOptions } from "@tollgate/postgres"
import { Change, Partition, type StoreOperations } from "@tollgate/store"
import { createDatabase } from "@tollgate/testing"
import { Effect, Logger, References, type Scope } from "effect"
import { Pool, type PoolConfig } from "pg"
import { inject } from "vitest"

export const partition = Partition.forKeyBucket("acme", "production")

export const put = (key: string, fields: Partial<Extract<Change, { _tag: "Put" }>> = {}) =>
  Change.Put({ key, expect: 0, body: "body", indexTerms: ["t"], uniqueKeys: [], ...fields })

export const add = (counter: string, by = 1) => Change.Add({ counter, by, ttl: 60_000 })

export const open = (
  source: PostgresSource,
  options?: PostgresStoreOptions
): Effect.Effect<StoreOperations, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => PostgresStore.open(source, options)),
    (store) => Effect.promise(() => store.close())
  )

/** A new, empty database on the server of the test run. */
export const database = Effect.suspend(() => createDatabase(inject("postgresUrl")))

/** A pool of the application. */
export const openPool = (url: string, settings?: PoolConfig): Effect.Effect<Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new Pool({ connectionString: url, ...settings })),
    (pool) => Effect.promise(() => pool.end())
  )

/** Runs a program and returns the warnings that it logs. */
export const collectWarnings = Effect.fnUntraced(function* (program: Effect.Effect<unknown, unknown, Scope.Scope>) {
  const warnings: Array<string> = []
  const logger = Logger.make(({ message }) => void warnings.push(String(message)))
  yield* program.pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, "Warn"))
  return warnings
})
