/**
 * The console below the path at which each framework mounts the HTTP API.
 */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { adminConsole, type ConsoleModule } from "@tollgate/console"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { tollgate as expressTollgate } from "@tollgate/express"
import { tollgate as fastifyTollgate } from "@tollgate/fastify"
import { tollgate as koaTollgate } from "@tollgate/koa"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import express from "express"
import Fastify from "fastify"
import Koa from "koa"
import { afterEach, beforeEach, expect, it } from "vitest"

const prefix = "/api/dev"
let gate: Tollgate<ConsoleModule>
const closers: Array<() => unknown> = []

beforeEach(async () => {
  gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "test-secret-with-at-least-32-characters",
    modules: [adminConsole()]
  })
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  await gate.close()
})

const listen = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, "127.0.0.1")
  closers.push(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, "listening")
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
}

const frameworks: ReadonlyArray<readonly [name: string, start: () => Promise<string>]> = [
  ["node:http", () => listen(toNodeHandler(gate, { prefix }))],
  ["Express", () => listen(express().use(express.json()).use(prefix, expressTollgate(gate)))],
  ["Koa", () => listen(new Koa().use(koaTollgate(gate, { prefix })).callback())],
  [
    "Fastify",
    async () => {
      const app = Fastify()
      closers.push(() => app.close())
      await app.register(fastifyTollgate(gate), { prefix })
      return app.listen({ port: 0, host: "127.0.0.1" })
    }
  ]
]

it.each(frameworks)("%s serves it below the prefix", async (_name, start) => {
  const url = `${await start()}${prefix}`
  const page = await fetch(`${url}/console?theme=dark`)
  expect([page.status, page.redirected, page.url]).toEqual([200, true, `${url}/console/?theme=dark`])
  expect(page.headers.get("content-encoding")).toBe("gzip")
  expect(await page.text()).toContain("<title>Tollgate console</title>")
  expect((await fetch(`${url}/console/missing.js`)).status).toBe(404)

  const code = (await gate.createConsoleLink()).url.split("#code=")[1]
  const session = await fetch(new URL("session", page.url), {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    body: JSON.stringify({ code })
  })
  const { token } = (await session.json()) as { token: string }
  const me = await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${token}` } })
  expect(await me.json()).toMatchObject({ accountName: "*", access: "write" })
})
