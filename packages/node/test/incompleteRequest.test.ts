/**
 * Tests HTTP/1.1 responses to clients that are still sending the request body.
 */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { connect } from "node:net"
import { toNodeHandler } from "@tollgate/node"
import express, { type ErrorRequestHandler } from "express"
import { expect, it } from "vitest"

const failing = toNodeHandler({
  matches: () => true,
  handler: async (request) => {
    await request.body?.getReader().read()
    throw new Error("handler failed")
  }
})

const makeExpressApp = () => {
  const app = express()
  app.use(failing)
  return app.use(((_error, _req, res, _next) => void res.status(500).end()) as ErrorRequestHandler)
}

it.each<readonly [string, () => RequestListener]>([
  ["node:http", () => failing],
  ["Express, through its error handler", makeExpressApp]
])("sends a 500 to a client that is still sending when the handler fails, in %s", async (_, listener) => {
  const server = createServer(listener()).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const socket = connect(typeof address === "object" && address !== null ? address.port : 0, "127.0.0.1")
  socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 20000000\r\n\r\n")
  // Many clients send the whole body before they read the response.
  await new Promise((resolve, reject) => {
    socket.once("error", reject)
    socket.write(Buffer.alloc(20_000_000), resolve)
  })
  const [data] = await once(socket, "data")
  expect(String(data)).toMatch(/^HTTP\/1\.1 500 /)
  socket.destroy()
  server.close()
})
