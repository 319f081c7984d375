/**
 * Tests HTTP/2 responses whose body fails, and clients that disconnect.
 */
import { once } from "node:events"
import { constants } from "node:http2"
import { toNodeHandler } from "@tollgate/node"
import { expect, it } from "vitest"
import { isReset, listFrames, makeSource, openRaw, openSession, serve, serveHandler } from "./http2Support.ts"

it("resets the stream with an error when a response body fails midway", async () => {
  let remaining = 3
  const failing = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (remaining-- > 0) controller.enqueue(new Uint8Array(1_000))
      else controller.error(new Error("body failed"))
    }
  })
  const { port } = await serve(makeSource(() => new Response(failing)))
  const raw = openRaw(port)
  raw.request(1, "GET", "/")
  raw.finish(1)
  await raw.waitFor(isReset(1))
  expect(listFrames(raw.frames, 1)).toEqual(["headers", "data", `reset ${constants.NGHTTP2_INTERNAL_ERROR}`])
})

it.each(["GET", "HEAD", "POST"])(
  "aborts the signal of a %s request when the client resets the stream",
  async (method) => {
    const started = Promise.withResolvers<Request>()
    const { port } = await serve(
      makeSource((request) => {
        started.resolve(request)
        return new Promise(() => undefined)
      })
    )
    const stream = openSession(port).request({ ":method": method, ":path": "/" })
    const { signal } = await started.promise
    stream.close(constants.NGHTTP2_CANCEL)
    if (!signal.aborted) await once(signal, "abort")
  }
)

it("serves sessions in turn, however many streams one of them has", async () => {
  const order: Array<string> = []
  const handle = toNodeHandler(
    makeSource((request) => {
      order.push(new URL(request.url).pathname)
      return new Response()
    })
  )
  // All requests are handled in one turn of the event loop, the one of the other session last.
  const [greedyArrived, allArrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { port, requests } = await serveHandler(async (req, res) => {
    if (requests.length === 49) greedyArrived.resolve()
    if (requests.length === 50) allArrived.resolve()
    await allArrived.promise
    await handle(req, res)
  })
  const get = (session: ReturnType<typeof openSession>, path: string) =>
    once(session.request({ ":path": path }).resume(), "end")
  const greedy = openSession(port)
  const responses = Array.from({ length: 50 }, () => get(greedy, "/greedy"))
  await greedyArrived.promise
  await Promise.all([...responses, get(openSession(port), "/polite")])
  expect(order.length).toBe(51)
  expect(order.indexOf("/polite")).toBe(1)
})

it("cancels the response body when the client disconnects", async () => {
  const cancelled = Promise.withResolvers<void>()
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    cancel: () => cancelled.resolve()
  })
  const { port, requests } = await serve(makeSource(() => new Response(endless)))
  const stream = openSession(port).request({ ":path": "/" })
  await once(stream, "response")
  stream.close(constants.NGHTTP2_CANCEL)
  await cancelled.promise
  await requests[0]?.handled
})

it("does not call the handler if the client disconnected before the handler was called", async () => {
  let calls = 0
  const handle = toNodeHandler(makeSource(() => new Response(String(calls++))))
  const received = Promise.withResolvers<void>()
  const { port, requests } = await serveHandler(async (req, res) => {
    received.resolve()
    await once(req, "close")
    await handle(req, res)
  })
  const stream = openSession(port).request({ ":method": "POST", ":path": "/" })
  stream.write("partial")
  await received.promise
  stream.close(constants.NGHTTP2_CANCEL)
  await requests[0]?.handled
  expect(calls).toBe(0)
})
