/**
 * Tests HTTP/2 responses to clients that are still sending the request body.
 */
import { once } from "node:events"
import type { ClientHttp2Session } from "node:http2"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { closeGracefully, isReset, listFrames, makeSource, openRaw, openSession, serve } from "./http2Support.ts"

const token = "a-management-token-for-tests"
const authorization = `Bearer ${token}`
const consumers = "/v1/accounts/acme/key-buckets/http2/consumers"
let gate: Tollgate

beforeAll(async () => {
  gate = await createTollgate({
    store: MemoryStore.open(),
    secret: "test-secret-with-at-least-32-characters",
    tokens: [{ token, account: "acme" }]
  })
})
afterAll(() => gate.close())

/** Starts a request that never stops sending, and reads its response. */
const sendEndlessly = (session: ClientHttp2Session, headers: Record<string, string> = {}) => {
  const stream = session.request({ ":method": "POST", ":path": consumers, ...headers })
  const chunk = Buffer.alloc(65_536)
  const sendMore = () => {
    while (stream.writable && stream.write(chunk)) {}
  }
  stream.on("drain", sendMore).on("error", () => undefined)
  sendMore()
  const readResponse = async () => {
    const ended = once(stream, "end")
    const [head] = await once(stream, "response")
    let text = ""
    stream.on("data", (chunk) => {
      text += chunk
    })
    await ended
    return { status: head[":status"], text }
  }
  return { stream, response: readResponse() }
}

const send = async (session: ClientHttp2Session, headers: Record<string, string>, body?: string) => {
  const stream = session.request({ authorization, ...headers })
  stream.end(body)
  const [head] = await once(stream, "response")
  let text = ""
  for await (const chunk of stream) text += chunk
  return { status: head[":status"], text }
}

describe.concurrent("an early response over HTTP/2", () => {
  it("reaches a client that never stops sending, and the stream closes", async () => {
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
  ])("with status %s closes the stream on both sides although the client never ends it", async (status, headers) => {
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
    expect(raw.getBody(1).toString()).toContain('"status":401')
    expect(listFrames(raw.frames, 1)).toEqual(["headers", "data", "data, end"])
  })

  it("to a POST without a token ends before the stream is reset with NO_ERROR", async () => {
    const { port, requests } = await serve(gate)
    const raw = openRaw(port)
    raw.request(1, "POST", consumers)
    raw.send(1, Buffer.alloc(10_000))
    await raw.waitFor(isReset(1))
    expect(listFrames(raw.frames, 1)).toEqual(["headers", "data", "data, end", "reset 0"])
    expect(raw.getBody(1).toString()).toContain('"status":401')
    await requests[0]?.closed
  })

  it("to HEAD ends before the stream is reset with NO_ERROR", async () => {
    const { port, requests } = await serve(gate)
    const raw = openRaw(port)
    raw.request(1, "HEAD", "/healthz")
    raw.send(1, Buffer.alloc(10_000))
    await raw.waitFor(isReset(1))
    expect(listFrames(raw.frames, 1)).toEqual(["headers, end", "reset 0"])
    await requests[0]?.closed
  })

  it.each([204, 304])("with status %i ends before the stream is reset with NO_ERROR", async (status) => {
    const { port } = await serve(makeSource(() => new Response(null, { status })))
    const raw = openRaw(port)
    raw.request(1, "POST", "/")
    raw.send(1, Buffer.alloc(10_000))
    await raw.waitFor(isReset(1))
    expect(listFrames(raw.frames, 1)).toEqual(["headers, end", "reset 0"])
  })

  it("with a large body leaves no stream behind on the server", async () => {
    const { port, requests } = await serve(makeSource(() => new Response("x".repeat(500_000))))
    const stream = openSession(port).request({ ":method": "POST", ":path": "/" })
    stream.write(Buffer.alloc(2_000_000))
    let received = 0
    for await (const chunk of stream) received += chunk.length
    expect(received).toBe(500_000)
    await requests[0]?.closed
  })

  it("is complete for a client that reads slowly", async () => {
    const body = "x".repeat(50_000)
    const headers = { "content-length": "50000" }
    const { port, requests } = await serve(makeSource(() => new Response(body, { headers })))
    const raw = openRaw(port, 1_000)
    raw.request(1, "POST", "/")
    raw.send(1, Buffer.alloc(10_000))
    await raw.waitFor(() => raw.getBody(1).length === 1_000)
    // The server has stopped reading the request. Flow control prevents it from sending the rest of the response.
    await requests[0]?.handled
    expect(listFrames(raw.frames, 1)).toEqual(["headers", "data"])
    raw.openWindow(1, 60_000)
    await raw.waitFor(isReset(1))
    expect(raw.getBody(1).toString()).toBe(body)
    expect(listFrames(raw.frames, 1)).toEqual(["headers", "data", "data, end", "reset 0"])
  })

  it("does not affect other streams of the session", async () => {
    const { server, port, requests } = await serve(gate)
    const session = openSession(port)
    const endless = [sendEndlessly(session, { authorization }), sendEndlessly(session)]
    const created = Array.from({ length: 10 }, (_, index) =>
      send(session, { ":method": "POST", ":path": consumers }, JSON.stringify({ name: `concurrent-${index}` }))
    )
    expect((await Promise.all(created)).map(({ status }) => status)).toEqual(created.map(() => 200))
    const early = await Promise.all(endless.map(({ response }) => response))
    expect(early.map(({ status }) => status)).toEqual([413, 401])
    await Promise.all(requests.map(({ handled }) => handled))
    const listed = await send(session, { ":path": consumers })
    expect(JSON.parse(listed.text).total).toBe(10)
    for (const { stream } of endless) stream.destroy()
    await closeGracefully(session, server)
  })

  it("has status 500 when the handler fails", async () => {
    const source = makeSource(async (request) => {
      await request.body?.getReader().read()
      throw new Error("handler failed")
    })
    const { port } = await serve(source)
    const raw = openRaw(port)
    raw.request(1, "POST", "/")
    raw.send(1, Buffer.alloc(10_000))
    await raw.waitFor(isReset(1))
    expect(listFrames(raw.frames, 1)).toEqual(["headers", "data, end", "reset 0"])
  })
})
