/**
 * Clients that stop sending or reading, over real connections. They do not affect other clients, and they time out.
 */
import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import { connect, type Socket } from "node:net"
import { createTollgate } from "@tollgate/core"
import { Authenticator, Tollgate, toWebHandler } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { SqliteStore } from "@tollgate/sqlite"
import { temporaryFolder } from "@tollgate/testing"
import { Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { afterEach, beforeEach, expect, it } from "vitest"
import { secret } from "./stores.ts"

const token = "a-management-token-of-this-test"
const tokens = [{ token, account: "acme" }]
const authorization = `Bearer ${token}`
const path = "/v1/accounts/acme/key-buckets/b/consumers"
const head = `host: x\r\nauthorization: ${authorization}\r\n`
const partialRequest = `POST ${path} HTTP/1.1\r\n${head}content-length: 1000\r\n\r\n{"name":`

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

const openSocket = (port: number, text: string): Socket => {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined)
  socket.write(text)
  return socket
}

/** Everything that the server sends until the connection closes. */
const readAll = async (socket: Socket): Promise<string> => {
  let received = ""
  for await (const chunk of socket) received += chunk
  return received
}

const getStatus = async (port: number, name: string): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}${path}/${name}`, { headers: { authorization } })).status

it("clients that stop reading or sending do not delay other clients", async () => {
  const folder = await Effect.runPromise(Scope.provide(temporaryFolder, scope))
  const store = await SqliteStore.open(`${folder}/store.db`)
  const gate = await createTollgate({ store, secret, tokens })
  const keyBucket = gate.account("acme").keyBucket("b")
  await Promise.all(
    Array.from({ length: 800 }, (_, index) =>
      keyBucket.consumers.create({ name: `c-${index}`, metadata: { padding: "x".repeat(1000) } })
    )
  )
  const port = await listen(toNodeHandler(gate))
  const stalledSockets = Array.from({ length: 100 }, (_, index) => {
    const socket = openSocket(port, index % 2 === 0 ? `GET ${path} HTTP/1.1\r\n${head}\r\n` : partialRequest)
    return socket.pause()
  })
  let succeeded = 0
  for (let index = 0; index < 100; index++) if ((await getStatus(port, `c-${index}`)) === 200) succeeded++
  console.log(
    `stalled clients: ${stalledSockets.length} connections open; ${succeeded} of 100 other requests succeeded`
  )
  expect(succeeded).toBe(100)
  for (const socket of stalledSockets) socket.destroy()
  await gate.close()
  await store.close()
}, 60_000)

it("clients that stop sending get a 408 after 30 seconds, and not before", async () => {
  const clock = await Effect.runPromise(Layer.buildWithScope(TestClock.layer(), scope))
  const services = Authenticator.layerBearer(tokens).pipe(
    Layer.provideMerge(Tollgate.layer({ secret })),
    Layer.provideMerge(MemoryStore.layer),
    Layer.provideMerge(Layer.succeedContext(clock))
  )
  const { handler, dispatch, dispose } = toWebHandler(services)
  const advanceClock = (time: `${number} seconds`) => Effect.runPromise(Effect.provide(TestClock.adjust(time), clock))
  let received = 0
  const port = await listen((req, res) => {
    if (req.method === "POST" && req.headers["content-length"] === "1000") received++
    return toNodeHandler({ handler, dispatch, matches: () => true })(req, res)
  })
  const body = JSON.stringify({ name: "alice" })
  const created = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { authorization },
    body
  })
  expect(created.status).toBe(200)

  const stalled = Array.from({ length: 50 }, () => openSocket(port, partialRequest))
  const responses = stalled.map(readAll)
  let hasResponded = false
  void Promise.race(responses).then(() => {
    hasResponded = true
  })
  await expect.poll(() => received, { timeout: 30_000 }).toBe(stalled.length)
  // A later request has been served, so the server is now waiting for all stalled bodies.
  expect(await getStatus(port, "alice")).toBe(200)
  await advanceClock("29 seconds")
  expect(await getStatus(port, "alice")).toBe(200)
  expect(hasResponded).toBe(false)
  await advanceClock("1 seconds")
  const timedOut = await Promise.all(responses)
  for (const response of timedOut) {
    expect(response).toMatch(/^HTTP\/1\.1 408 /)
    expect(response).toMatch(/\r\nconnection: close\r\n/i)
    expect(response).toContain("urn:tollgate:problem:request-timeout")
  }
  expect(await getStatus(port, "alice")).toBe(200)
  console.log(`stalled clients: ${timedOut.length} of ${stalled.length} got a 408 after 30 s, none before`)
  await dispose()
}, 30_000)
