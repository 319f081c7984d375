/**
 * Clients that do not read their responses: their connections are closed, and what was kept for them is given back.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import { constants } from "node:http2"
import { connect, type Socket } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import { toNodeHandler } from "@tollgate/node"
import { eventually, measureHeapAfterGc } from "@tollgate/testing"
import { afterAll, describe, expect, it } from "vitest"
import { isReset, listFrames, makeSource, openRaw, serveHandler } from "./http2Support.ts"

const finalizers: Array<() => unknown> = []
afterAll(() => {
  for (const close of finalizers) close()
})

/** A response of 20 MB: more than the buffers of the operating system hold. */
const respondWith20Mb = () => {
  const data = Array.from({ length: 400 }, (_, index) => `${index}`.padEnd(50_000, "x"))
  return new Response(JSON.stringify({ data, total: data.length }))
}

const start = async (sendTimeout: number) => {
  const state = { closed: 0 }
  const server = createServer(toNodeHandler(makeSource(respondWith20Mb), { sendTimeout })).listen(0, "127.0.0.1")
  server.on("connection", (socket) => socket.once("close", () => state.closed++))
  finalizers.push(() => server.close().closeAllConnections())
  await once(server, "listening")
  const address = server.address()
  return { state, port: typeof address === "object" && address !== null ? address.port : 0 }
}

/** Asks for it on a connection that is not read. */
const askFor20Mb = (port: number): Socket => {
  const socket = connect(port, "127.0.0.1").pause()
  socket.on("error", () => undefined)
  finalizers.push(() => socket.destroy())
  socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
  return socket
}

describe("a response of 20 MB", () => {
  it("is dropped, and its connection closed, if the client reads nothing", async () => {
    const { state, port } = await start(1_000)
    const measure = () => measureHeapAfterGc() + process.memoryUsage().arrayBuffers
    const before = measure()
    for (let client = 0; client < 8; client++) askFor20Mb(port)
    await eventually(() => expect(state.closed).toBe(8))
    const keptBytes = measure() - before
    console.log(`kept of 8 responses of 20 MB: ${(keptBytes / 1e6).toFixed(1)} MB`)
    expect(keptBytes).toBeLessThan(20_000_000)
  })

  it("is sent to its end, however long that takes, if the client reads slowly", async () => {
    const sendTimeout = 2_000
    const { port } = await start(sendTimeout)
    const socket = askFor20Mb(port)
    const started = performance.now()
    let [received, tail] = [0, Buffer.alloc(0)]
    const read = (chunk: Buffer) => {
      received += chunk.length
      tail = Buffer.concat([tail, chunk]).subarray(-200)
    }
    // 5 MB a second, as measured by what the client takes out of its socket.
    socket.on("readable", () => undefined)
    while (!socket.readableEnded && !socket.destroyed) {
      for (let bytes = 0; bytes < 500_000; ) {
        const chunk: Buffer | null = socket.read()
        if (chunk === null) break
        read(chunk)
        bytes += chunk.length
      }
      await delay(20)
    }
    expect(received).toBeGreaterThan(20_000_000)
    expect(tail.toString()).toContain('"total":400')
    expect(tail.toString()).toMatch(/0\r\n\r\n$/)
    expect(performance.now() - started).toBeGreaterThan(sendTimeout)
  })
})

describe("over HTTP/2, a stream whose client opens no window", () => {
  it.each([
    ["a stream", () => new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(100_000)) }))],
    ["a long text", () => new Response("x".repeat(1_000_000))],
    ["a short text", () => new Response("x".repeat(1_000))]
  ])("is reset if the response is %s", async (_, respond) => {
    const { port } = await serveHandler(toNodeHandler(makeSource(respond), { sendTimeout: 500 }))
    const raw = openRaw(port, 0)
    raw.request(1, "GET", "/")
    raw.finish(1)
    await raw.waitFor(isReset(1))
    expect(listFrames(raw.frames, 1)).toEqual(["headers", `reset ${constants.NGHTTP2_INTERNAL_ERROR}`])
  })

  it("gets everything if it opens the window step by step", async () => {
    const { port } = await serveHandler(
      toNodeHandler(
        makeSource(() => new Response("x".repeat(1_000_000))),
        { sendTimeout: 2_000 }
      )
    )
    const raw = openRaw(port, 0)
    raw.request(1, "GET", "/")
    raw.finish(1)
    for (let step = 0; step < 50; step++) {
      raw.openWindow(1, 20_000)
      await eventually(() => expect(raw.getBody(1).length).toBe((step + 1) * 20_000))
    }
    expect(raw.frames.some(isReset(1))).toBe(false)
  })
})
