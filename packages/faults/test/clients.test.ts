/**
 * Clients that stop in the middle, over real connections: each suffers alone, and has its end.
 */
import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import { connect, type Socket } from "node:net"
import { Authenticator, createTollgate, Tollgate, toWebHandler } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { SqliteStore } from "@tollgate/sqlite"
import { temporaryFolder } from "@tollgate/testing"
import { Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { afterEach, beforeEach, expect, it } from "vitest"
import { secret } from "./stores.ts"

const token = "a-token-of-this-test"
const tokens = [{ token, account: "acme" }]
const authorization = `Bearer ${token}`
const path = "/v1/accounts/acme/key-buckets/b/consumers"
const head = `host: x\r\nauthorization: ${authorization}\r\n`
const half = `POST ${path} HTTP/1.1\r\n${head}content-length: 1000\r\n\r\n{"name":`

let scope: Scope.Closeable
let server: Server
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(async () => {
  server.close()
  server.closeAllConnections()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const listen = async (listener: RequestListener): Promise<number> => {
  server = createServer(listener).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

const open = (port: number, text: string): Socket => {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined)
  socket.write(text)
  return socket
}

/** All that is said to a connection until it ends. */
const saidTo = async (socket: Socket): Promise<string> => {
  let said = ""
  for await (const chunk of socket) said += chunk
  return said
}

const askAs = async (port: number, name: string): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}${path}/${name}`, { headers: { authorization } })).status

it("that stop reading, or stall their bodies, do not keep the others waiting", async () => {
  const folder = await Effect.runPromise(Scope.provide(temporaryFolder, scope))
  const store = await SqliteStore.open(`${folder}/store.db`)
  const gate = await createTollgate({ store, secret, tokens })
  await Promise.all(
    Array.from({ length: 800 }, (_, index) =>
      gate.consumers.create("acme", "b", { name: `c-${index}`, metadata: { padding: "x".repeat(1000) } })
    )
  )
  const port = await listen(toNodeHandler(gate))
  const bad = Array.from({ length: 100 }, (_, index) => {
    const socket = open(port, index % 2 === 0 ? `GET ${path} HTTP/1.1\r\n${head}\r\n` : half)
    return socket.pause()
  })
  let answered = 0
  for (let asked = 0; asked < 100; asked++) if ((await askAs(port, `c-${asked}`)) === 200) answered++
  console.log(`clients that stop: ${bad.length} connections held; ${answered} of 100 requests beside them answered`)
  expect(answered).toBe(100)
  for (const socket of bad) socket.destroy()
  await gate.close()
  await store.close()
}, 60_000)

it("that stall their bodies are answered with 408 after 30 seconds, and not before", async () => {
  const clock = await Effect.runPromise(Layer.buildWithScope(TestClock.layer(), scope))
  const services = Layer.mergeAll(Tollgate.layer({ secret }), Authenticator.layerBearer(tokens)).pipe(
    Layer.provideMerge(MemoryStore.layer),
    Layer.provideMerge(Layer.succeedContext(clock))
  )
  const { handler, dispatch, dispose } = toWebHandler(services)
  const pass = (time: `${number} seconds`) => Effect.runPromise(Effect.provide(TestClock.adjust(time), clock))
  let begun = 0
  const port = await listen((req, res) => {
    if (req.method === "POST" && req.headers["content-length"] === "1000") begun++
    return toNodeHandler({ handler, dispatch, matches: () => true })(req, res)
  })
  const name = JSON.stringify({ name: "alice" })
  const made = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { authorization },
    body: name
  })
  expect(made.status).toBe(200)

  const stalled = Array.from({ length: 50 }, () => open(port, half))
  const told = stalled.map(saidTo)
  let isTold = false
  void Promise.race(told).then(() => {
    isTold = true
  })
  await expect.poll(() => begun).toBe(stalled.length)
  // Whoever came after them has been served, so they are all being waited for.
  expect(await askAs(port, "alice")).toBe(200)
  await pass("29 seconds")
  expect(await askAs(port, "alice")).toBe(200)
  expect(isTold).toBe(false)
  await pass("1 seconds")
  const answers = await Promise.all(told)
  for (const answer of answers) {
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toMatch(/\r\nconnection: close\r\n/i)
    expect(answer).toContain("urn:tollgate:problem:request-timeout")
  }
  expect(await askAs(port, "alice")).toBe(200)
  console.log(`clients that stall: ${answers.length} of ${stalled.length} answered with 408 after 30 s, none before`)
  await dispose()
}, 30_000)
