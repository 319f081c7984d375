/**
 * Responses over HTTP/2 to clients that are still sending.
 */
import { once } from "node:events"
import type { ClientHttp2Session } from "node:http2"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { closeGracefully, isReset, openRaw, openSession, responding, sequenceOf, serve } from "./http2Support.ts"

const token = "a-management-token-for-tests"
const authorization = `Bearer ${token}`
const consumers = "/v1/accounts/acme/key-buckets/http2/consumers"
let gate: Tollgate

beforeAll(async () => {
  gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "a secret of the tests, and of nobody else",
    tokens: [{ token, account: "acme" }]
  })
})
afterAll(() => gate.close())

/** A request that never stops sending, and the response that it gets. */
const sendEndlessly = (session: ClientHttp2Session, headers: Record<string, string> = {}) => {
  const stream = session.request({ ":method": "POST", ":path": consumers, ...headers })
  const chunk = Buffer.alloc(65_536)
  const sendMore = () => {
    while (stream.writable && stream.write(chunk)) {}
  }
  stream.on("drain", sendMore).on("error", () => undefined)
  sendMore()
  const read = async () => {
    const ended = once(stream, "end")
    const [head] = await once(stream, "response")
    let text = ""
    stream.on("data", (chunk) => {
      text += chunk
    })
    await ended
    return { status: head[":status"], text }
  }
  return { stream, response: read() }
}

const ask = async (session: ClientHttp2Session, headers: Record<string, string>, body?: string) => {
  const stream = session.request({ authorization, ...headers })
  stream.end(body)
  const [head] = await once(stream, "response")
  let text = ""
  for await (const chunk of stream) text += chunk
  return { status: head[":status"], text }
}

describe.concurrent("an early response over HTTP/2", { timeout: 30_000 }, () => {
  it("is read whole by a client that never stops sending, and its stream is closed", async () => {
    const { server, port, requests } = await serve(gate)
    const session = openSession(port)
    const { stream, response } = sendEndlessly(session, { authorization })
    const { status, text } = await response
    expect(status).toBe(413)
    expect(JSON.parse(text)).toMatchObject({ status: 413 })
    const [request] = requests
    await request?.handled
    await request?.closed
    expect(request?.stream.rstCode).toBe(0)
    stream.destroy()
    await closeGracefully(session, server)
  })

  it.each([
    ["413", { authorization }],
    ["401", {}]
  ])("is a %s whose stream closes on both sides, though the client never ends it", async (status, headers) => {
    const { server, port } = await serve(gate)
    const session = openSession(port)
    const stream = session.request({ ":method": "POST", ":path": consumers, ...headers })
    stream.write(Buffer.alloc(2_000_000))
    const [head] = await once(stream.resume(), "response")
    expect(head[":status"]).toBe(Number(status))
    await once(stream, "close")
    expect(stream.rstCode).toBe(0)
    await closeGracefully(session, server)
  })

  it("is not followed by a reset if the client finishes in time", async () => {
    const { port } = await serve(gate)
    const raw = openRaw(port)
    raw.request(1, "POST", consumers)
    await raw.waitFor((frame) => frame.stream === 1 && frame.isLast)
    raw.finish(1)
    raw.request(3, "GET", "/healthz")
    raw.finish(3)
    await raw.waitFor((frame) => frame.stream === 3 && frame.isLast)
    expect(raw.bodyOf(1).toString()).toContain('"status":401')
    expect(sequenceOf(raw.frames, 1)).toEqual(["headers", "data", "data, end"])
  })

  it("to an upload without a token ends before the stream is reset with NO_ERROR", async () => {
    const { port, requests } = await serve(gate)
    const raw = openRaw(port)
    raw.request(1, "POST", consumers)
    raw.send(1, Buffer.alloc(10_000))
    await raw.waitFor(isReset(1))
    expect(sequenceOf(raw.frames, 1)).toEqual(["headers", "data", "data, end", "reset 0"])
    expect(raw.bodyOf(1).toString()).toContain('"status":401')
    await requests[0]?.closed
  })

  it("to HEAD ends before the stream is reset with NO_ERROR", async () => {
    const { port, requests } = await serve(gate)
    const raw = openRaw(port)
    raw.request(1, "HEAD", "/healthz")
    raw.send(1, Buffer.alloc(10_000))
    await raw.waitFor(isReset(1))
    expect(sequenceOf(raw.frames, 1)).toEqual(["headers, end", "reset 0"])
    await requests[0]?.closed
  })

  it.each([204, 304])("with status %i ends before the stream is reset with NO_ERROR", async (status) => {
    const { port } = await serve(responding(() => new Response(null, { status })))
    const raw = openRaw(port)
    raw.request(1, "POST", "/")
    raw.send(1, Buffer.alloc(10_000))
    await raw.waitFor(isReset(1))
    expect(sequenceOf(raw.frames, 1)).toEqual(["headers, end", "reset 0"])
  })

  it("with a large body leaves no stream behind on the server", async () => {
    const { port, requests } = await serve(responding(() => new Response("x".repeat(500_000))))
    const stream = openSession(port).request({ ":method": "POST", ":path": "/" })
    stream.write(Buffer.alloc(2_000_000))
    let received = 0
    for await (const chunk of stream) received += chunk.length
    expect(received).toBe(500_000)
    await requests[0]?.closed
  })

  it("is sent whole to a client that reads it late", async () => {
    const body = "x".repeat(50_000)
    const headers = { "content-length": "50000" }
    const { port, requests } = await serve(responding(() => new Response(body, { headers })))
    const raw = openRaw(port, 1_000)
    raw.request(1, "POST", "/")
    raw.send(1, Buffer.alloc(10_000))
    await raw.waitFor(() => raw.bodyOf(1).length === 1_000)
    // The server no longer waits for the rest of the request, and cannot send the rest of the response yet.
    await requests[0]?.handled
    expect(sequenceOf(raw.frames, 1)).toEqual(["headers", "data"])
    raw.openWindow(1, 60_000)
    await raw.waitFor(isReset(1))
    expect(raw.bodyOf(1).toString()).toBe(body)
    expect(sequenceOf(raw.frames, 1)).toEqual(["headers", "data", "data, end", "reset 0"])
  })

  it("does not disturb the other streams of its session", async () => {
    const { server, port, requests } = await serve(gate)
    const session = openSession(port)
    const endless = [sendEndlessly(session, { authorization }), sendEndlessly(session)]
    const created = Array.from({ length: 10 }, (_, index) =>
      ask(session, { ":method": "POST", ":path": consumers }, JSON.stringify({ name: `alongside-${index}` }))
    )
    expect((await Promise.all(created)).map(({ status }) => status)).toEqual(created.map(() => 200))
    const early = await Promise.all(endless.map(({ response }) => response))
    expect(early.map(({ status }) => status)).toEqual([413, 401])
    await Promise.all(requests.map(({ handled }) => handled))
    const listed = await ask(session, { ":path": consumers })
    expect(JSON.parse(listed.text).total).toBe(10)
    for (const { stream } of endless) stream.destroy()
    await closeGracefully(session, server)
  })

  it("is a 500 when the handler fails", async () => {
    const mounted = responding(async (request) => {
      await request.body?.getReader().read()
      throw new Error("of the handler")
    })
    const { port } = await serve(mounted)
    const raw = openRaw(port)
    raw.request(1, "POST", "/")
    raw.send(1, Buffer.alloc(10_000))
    await raw.waitFor(isReset(1))
    expect(sequenceOf(raw.frames, 1)).toEqual(["headers", "data, end", "reset 0"])
  })
})
