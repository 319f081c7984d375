import { Effect, Exit, Scope } from "effect"
import type { TestProject } from "vitest/node"
import { startPostgres } from "../src/PostgresServer.ts"
import "../src/selectedStores.ts"

/** Starts one PostgreSQL for the tests of a project that do not stop it, because a server takes a second to start. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const scope = Scope.makeUnsafe()
  const start = startPostgres({ settings: { max_connections: "300" } })
  provide("postgresUrl", (await Effect.runPromise(Scope.provide(start, scope))).url)
  return () => Effect.runPromise(Scope.close(scope, Exit.void))
}
