/**
 * The console in other frameworks, below a prefix and behind helmet().
 */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { Readable } from "node:stream"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { tollgate as expressTollgate } from "@tollgate/express"
import { tollgate as koaTollgate } from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import express from "express"
import helmet from "helmet"
import Koa from "koa"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { withAllModules } from "../../core/test/allModules.ts"
import { consoleModule } from "../src/consoleModule.ts"
import { closePages, launchBrowser, openConsole } from "./browser.ts"
import { loadConsole, writeToken } from "./consoleServer.ts"

/** The overview asks for what they have. */
const withModules = withAllModules()
let browser: Browser
let gate: Tollgate
const stops: Array<() => void> = []

beforeAll(async () => {
  browser = await launchBrowser()
  gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "test-secret-with-at-least-32-characters",
    tokens: [{ token: writeToken, account: "*" }],
    ...withModules,
    modules: [consoleModule(await loadConsole()), ...withModules.modules]
  })
  await gate.account("acme").keyBucket("production").consumers.create({ name: "alice" })
})
afterAll(async () => {
  await closePages(browser)
  for (const stop of stops) stop()
  await gate?.close()
})

/** Listens on a free port; returns the origin. */
const listen = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, "127.0.0.1")
  stops.push(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, "listening")
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
}

/** Serves a function from `Request` to `Response` with Node's own objects. */
const toListener =
  (handle: (request: Request) => Promise<Response>): RequestListener =>
  async (req, res) => {
    const headers = new Headers()
    for (const [name, value] of Object.entries(req.headers)) if (value !== undefined) headers.set(name, String(value))
    const body = ["GET", "HEAD"].includes(req.method ?? "")
      ? null
      : await new Response(Readable.toWeb(req) as ReadableStream).arrayBuffer()
    const response = await handle(
      new Request(`http://${req.headers.host}${req.url}`, { method: req.method ?? "GET", headers, body })
    )
    res.writeHead(response.status, Object.fromEntries(response.headers))
    res.end(Buffer.from(await response.arrayBuffer()))
  }

const servers: Readonly<Record<string, () => { readonly listener: RequestListener; readonly prefix: string }>> = {
  "in Express below a prefix and behind helmet()": () => {
    const app = express()
    app.use(helmet())
    app.use("/api/dev", expressTollgate(gate))
    return { listener: app, prefix: "/api/dev" }
  },
  "in Koa below a prefix": () => {
    const app = new Koa()
    app.use(koaTollgate(gate, { prefix: "/api/dev" }))
    return { listener: app.callback(), prefix: "/api/dev" }
  },
  "in Koa": () => {
    const app = new Koa()
    app.use(koaTollgate(gate))
    return { listener: app.callback(), prefix: "" }
  },
  "with gate.handler, from Request to Response": () => ({
    listener: toListener((request) => gate.handler(request)),
    prefix: ""
  }),
  "with Node's own server": () => {
    const handle = toNodeHandler(gate)
    return { listener: (req, res) => void handle(req, res), prefix: "" }
  }
}

describe("the console", () => {
  it.each(Object.entries(servers))("works %s", async (_, start) => {
    const { listener, prefix } = start()
    const origin = await listen(listener)
    const { page, errors, close } = await openConsole(browser, origin, { prefix })
    // There is only one account, and one key bucket in it.
    await page.waitForURL(/#\/accounts\/acme$/)
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Consumers" }).click()
    await page.getByRole("heading", { level: 1, name: "Consumers in production" }).waitFor()
    // Without the slash at the end, and again from the browser's cache.
    await page.goto("about:blank")
    const response = await page.goto(`${origin}${prefix}/console`)
    expect(response?.url()).toBe(`${origin}${prefix}/console/`)
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
    await page.reload()
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
    expect(errors).toEqual([])
    await close()
  })
})
