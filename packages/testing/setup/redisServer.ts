import { Effect, Exit, Scope } from "effect"
import type { TestProject } from "vitest/node"
import { startRedis } from "../src/RedisServer.ts"
import "../src/selectedStores.ts"

/** Starts one Redis for the tests of a project that do not stop it. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const scope = Scope.makeUnsafe()
  provide("redisUrl", (await Effect.runPromise(Scope.provide(startRedis(), scope))).url)
  return () => Effect.runPromise(Scope.close(scope, Exit.void))
}
