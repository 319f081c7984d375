/**
 * A client that pipelines without end: the server reads on only as fast as it answers, and serves others.
 */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { connect } from "node:net"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { requireApiKey, toNodeHandler } from "@tollgate/node"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

let gate: Tollgate
beforeAll(async () => {
  gate = await createTollgate({ store: MemoryStore.open(), secret: "test-secret-with-at-least-32-characters" })
})
afterAll(() => gate.close())

/** Starts a server, and counts the requests that it has read and not answered. */
const start = async (listener: RequestListener) => {
  const state = { open: 0, maxOpen: 0 }
  const server = createServer((req, res) => {
    state.maxOpen = Math.max(state.maxOpen, ++state.open)
    res.once("close", () => state.open--)
    listener(req, res)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { state, server, port }
}

const frameworks: ReadonlyArray<readonly [string, () => RequestListener, number]> = [
  ["toNodeHandler", () => toNodeHandler(gate), 200],
  [
    "requireApiKey",
    () => {
      const protect = requireApiKey(gate.account("acme").keyBucket("production"))
      return (req, res) => void protect(req, res, () => res.end())
    },
    401
  ]
]

describe.each(frameworks)("one connection that pipelines into %s", (_, makeListener, status) => {
  it("has only some thousand requests read at a time, and delays no other client until it is done", async () => {
    const { state, server, port } = await start(makeListener())
    const socket = connect(port, "127.0.0.1")
    const requests = Buffer.from("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2_000))
    const total = 60_000
    let sent = 0
    let answered = 0
    let answeredAtReply = 0
    const write = () => {
      while (sent < total) {
        sent += 2_000
        if (!socket.write(requests)) return
      }
    }
    socket
      .on("connect", write)
      .on("drain", write)
      .on("error", () => undefined)
    const done = new Promise<void>((resolve) => {
      socket.on("close", () => resolve())
      socket.on("data", (chunk) => {
        answered += chunk.toString("latin1").split("HTTP/1.1 ").length - 1
        if (answered >= total) resolve()
      })
    })
    await expect.poll(() => answered, { timeout: 60_000 }).toBeGreaterThan(1_000)
    const reply = await fetch(`http://127.0.0.1:${port}/healthz`)
    answeredAtReply = answered
    expect(reply.status).toBe(status)
    await done
    // Without a pause it would have been almost all of them.
    expect(state.maxOpen).toBeLessThan(6_000)
    expect(answeredAtReply).toBeLessThan(total)
    socket.destroy()
    server.closeAllConnections()
    server.close()
  })
})
