import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { toNodeHandler } from "@tollgate/node"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { getTollgate } from "../lib/tollgate.ts"

type Route = Readonly<Record<string, (request: Request) => Promise<Response>>>

const example = join(import.meta.dirname, "..")
const folder = mkdtempSync(join(tmpdir(), "tollgate-next-"))
let server: Server
let url: string

beforeAll(async () => {
  vi.stubEnv("TOLLGATE_DATABASE", join(folder, "tollgate.db"))
  vi.stubEnv("TOLLGATE_SECRET", "test-secret-with-at-least-32-characters")
  vi.stubEnv("TOLLGATE_TOKEN", "a-management-token-for-acme")
  const routes: Readonly<Record<string, Route>> = {
    "/api/orders": await import("../app/api/orders/route.ts"),
    "/api/reports": await import("../app/api/reports/route.ts")
  }
  const api: Route = await import("../app/api/dev/[...path]/route.ts")
  // Like Next: the path selects the module, and the method its function.
  const handler = async (request: Request): Promise<Response> => {
    const route = routes[new URL(request.url).pathname] ?? api
    return route[request.method]?.(request) ?? new Response(null, { status: 405 })
  }
  server = createServer(toNodeHandler({ handler, matches: () => true })).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
  vi.stubEnv("APP_URL", url)
})
afterAll(async () => {
  server.close()
  const { gate, store } = await getTollgate()
  await gate.close()
  await store.close()
  Reflect.deleteProperty(globalThis, "tollgate")
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

it("opens no gate when its modules are loaded, as in next build", () => {
  expect(globalThis).not.toHaveProperty("tollgate")
})

it("ends with a call that succeeds, and counts the calls of its protected routes", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined)
  await import("../setup.ts")
  const [[command] = []] = log.mock.calls
  log.mockRestore()
  const { stdout } = await promisify(execFile)("sh", ["-c", String(command)])
  expect(JSON.parse(stdout)).toEqual({ requests: 1 })

  const [authorization = ""] = /Bearer \w+/.exec(String(command)) ?? []
  const call = (path: string, init: RequestInit = {}) => fetch(`${url}${path}`, { headers: { authorization }, ...init })
  expect((await call("/api/reports", { method: "POST", body: "{}" })).status).toBe(400)
  const report = await call("/api/reports", { method: "POST", body: '{"month":"2026-11"}' })
  expect(await report.json()).toEqual({ month: "2026-11", for: "alice" })
  expect(report.headers.get("ratelimit")).toMatch(/^"requests";r=0;t=\d+$/)
  expect((await call("/api/orders")).status).toBe(429)
  expect((await call("/api/orders", { headers: {} })).status).toBe(401)
})

it("has the files that the guide shows", () => {
  const guide = readFileSync(join(example, "../../docs/guides/next.md"), "utf8")
  const files = [
    "lib/tollgate.ts",
    "app/api/dev/[...path]/route.ts",
    "app/api/orders/route.ts",
    "app/api/reports/route.ts"
  ]
  for (const file of files) {
    const shown = readFileSync(join(example, file), "utf8")
      .replace(/^(\/\*\*.*?\*\/\n)?(import .*\n)*\n/s, "")
      .replaceAll(/process\.env\["(\w+)"\]/g, "process.env.$1")
      .replace("export const GET", "const getOrders")
      .replace("export const POST", "const postReport")
      .replaceAll("export const", "const")
    expect(guide).toContain(`// ${file}`)
    expect(guide).toContain(shown)
  }
})
