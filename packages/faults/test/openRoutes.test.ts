/**
 * Routes with `onStoreUnavailable: "allow"` while a real Redis server does not answer, or is gone: they let in the keys
 * that the process knows, and no others.
 */
import { createTollgate } from "@tollgate/core"
import { requireApiKey } from "@tollgate/fetch"
import { RedisStore } from "@tollgate/redis"
import { eventually, type RedisServer, startRedis } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { secret } from "./stores.ts"

let scope: Scope.Closeable
let server: RedisServer
beforeEach(async () => {
  // Tollgate logs the outage under the request id.
  vi.spyOn(console, "error").mockImplementation(() => undefined)
  scope = Scope.makeUnsafe()
  server = await Effect.runPromise(Scope.provide(startRedis(), scope))
})
afterEach(async () => {
  vi.restoreAllMocks()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const outages: ReadonlyArray<readonly [name: string, begin: "pause" | "kill", end: "resume" | "restart"]> = [
  ["does not answer", "pause", "resume"],
  ["is gone", "kill", "restart"]
]

it.each(outages)("a server that %s: known keys pass, all others get 503", async (_, begin, end) => {
  const store = await RedisStore.open(server.url, { commandTimeout: 500 })
  const gate = await createTollgate({ store, secret })
  const production = gate.account("acme").keyBucket("production")
  const createKey = async (name: string, scopes: ReadonlyArray<string> = []) => {
    await production.consumers.create({ name })
    return (await production.keys.create(name, { scopes })).key ?? ""
  }
  const keys = {
    used: await createKey("used", ["orders:read"]),
    unused: await createKey("unused"),
    withoutScope: await createKey("without-scope", ["users:read"]),
    deleted: await createKey("deleted", ["orders:read"]),
    madeUp: "made-up-key-0123456789"
  }
  const check = requireApiKey(production, { scopes: ["orders:read"], onStoreUnavailable: "allow" })
  const call = async (key: string) => {
    const result = await check(new Request("http://localhost/", { headers: { authorization: `Bearer ${key}` } }))
    if (result.allowed) return [200, result.consumer?.name]
    return [result.response.status, result.response.headers.get("retry-after")]
  }
  expect(await call(keys.used)).toEqual([200, "used"])
  expect(await call(keys.withoutScope)).toEqual([403, null])
  expect(await call(keys.deleted)).toEqual([200, "deleted"])
  await production.consumers.remove("deleted")
  expect(await call(keys.deleted)).toEqual([401, null])
  expect(await call(keys.madeUp)).toEqual([401, null])

  await Effect.runPromise(server[begin])
  expect(await call(keys.used)).toEqual([200, undefined])
  for (const key of [keys.madeUp, keys.unused, keys.withoutScope, keys.deleted]) {
    expect(await call(key)).toEqual([503, "1"])
  }

  await Effect.runPromise(server[end])
  await eventually(async () => expect(await call(keys.unused)).toEqual([403, null]))
  expect(await call(keys.used)).toEqual([200, "used"])
  await gate.close()
  await store.close()
})
