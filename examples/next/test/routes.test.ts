import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createClient } from "@tollgate/core/client"
import { toNodeHandler } from "@tollgate/node"
import { makeSubscription } from "@tollgate/testing"
import { afterAll, beforeAll, expect, it, vi } from "vitest"

type Route = Readonly<Record<string, (request: Request) => Promise<Response>>>

const folder = mkdtempSync(join(tmpdir(), "tollgate-next-"))
const token = "a-management-token-for-acme"
let server: Server
let url: string

beforeAll(async () => {
  vi.stubEnv("TOLLGATE_DATABASE", join(folder, "tollgate.db"))
  vi.stubEnv("TOLLGATE_SECRET", "test-secret-with-at-least-32-characters")
  vi.stubEnv("TOLLGATE_TOKEN", token)
  // The modules read the environment when they are loaded.
  const hello: Route = await import("../app/api/hello/route.ts")
  const api: Route = await import("../app/api/dev/[...path]/route.ts")
  // Like Next: the path selects the module, and the method its function.
  const handler = async (request: Request): Promise<Response> => {
    const route = new URL(request.url).pathname === "/api/hello" ? hello : api
    return route[request.method]?.(request) ?? new Response(null, { status: 405 })
  }
  server = createServer(toNodeHandler({ handler, matches: () => true })).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
})
afterAll(async () => {
  server.close()
  const { gate } = await import("../app/gate.ts")
  await gate.close()
  rmSync(folder, { recursive: true, force: true })
})

it("serves the HTTP API, and counts the calls of its protected route", async () => {
  const acme = createClient({ baseUrl: `${url}/api/dev`, token }).account("acme")
  const { apiKeys } = await acme.keyBucket("production").consumers.create({ name: "alice" }, { withApiKey: true })
  const billing = await acme.meteringBuckets.ensure("billing")
  const plan = await billing.plans.create({ label: "P", planExternalId: "p", meters: { requests: { max: 1 } } })
  await billing.subscriptions.create(makeSubscription(plan.id, "p", {}))

  const call = (headers: Readonly<Record<string, string>>) => fetch(`${url}/api/hello`, { headers })
  const authorization = `Bearer ${apiKeys?.[0]?.key}`
  const first = await call({ authorization })
  expect(await first.json()).toEqual({ hello: "alice", remaining: 0 })
  expect(first.headers.get("ratelimit")).toMatch(/^"requests";r=0;t=\d+$/)
  expect((await call({ authorization })).status).toBe(429)
  expect((await call({})).status).toBe(401)
})
