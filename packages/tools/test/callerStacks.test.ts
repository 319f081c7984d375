import { afterAll, expect, it } from "@effect/vitest"
import { createTollgate, isTollgateError } from "tollgate"
import { createClient } from "tollgate/client"
import * as express from "tollgate/express"
import * as fastify from "tollgate/fastify"
import * as fetch from "tollgate/fetch"
import * as hono from "tollgate/hono"
import * as koa from "tollgate/koa"
import { MemoryStore } from "tollgate/memory"
import * as node from "tollgate/node"

const gate = await createTollgate({ store: MemoryStore.open(), secret: "a-secret-of-32-characters-for-tests" })
afterAll(() => gate.close())
const acme = gate.account("acme")
const production = acme.keyBucket("production")
const wrong = { charge: "never", limit: 0 } as never

/** Each takes requests of its framework. */
interface Binding {
  readonly requireApiKey: (bucket: never, options: never) => unknown
  readonly rateLimit: (bucket: never, options: never) => unknown
}
const bindings: Readonly<Record<string, Binding>> = { express, fastify, fetch, hono, koa, node }

const calls: Readonly<Record<string, () => unknown>> = {
  account: () => gate.account("no name"),
  keyBucket: () => acme.keyBucket("no name"),
  meteringBucket: () => acme.meteringBucket("no name"),
  createClient: () => createClient({ baseUrl: "no url", token: "" }),
  withApiKey: () => fetch.withApiKey(production, wrong, () => new Response()),
  ...Object.fromEntries(
    Object.entries(bindings).flatMap(([name, { requireApiKey, rateLimit }]) => [
      [`requireApiKey of ${name}`, () => requireApiKey(production as never, wrong)],
      [`rateLimit of ${name}`, () => rateLimit(production as never, wrong)]
    ])
  )
}

it.each(Object.keys(calls))("the stack of an error of %s begins in the caller's file", (name) => {
  try {
    calls[name]?.()
  } catch (error) {
    if (!isTollgateError(error)) throw error
    const [message, first] = (error.stack ?? "").split("\n")
    expect(message).toBe(`${error.name}: ${error.message}`)
    expect(first).toContain("callerStacks.test.ts")
    return
  }
  expect.fail("It did not throw")
})
