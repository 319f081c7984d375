/**
 * Responses over HTTP/2 that fail, and clients that leave.
 */
import { once } from "node:events"
import { constants } from "node:http2"
import { toNodeHandler } from "@tollgate/node"
import { expect, it } from "vitest"
import { isReset, openRaw, openSession, responding, sequenceOf, serve, serveHandler } from "./http2Support.ts"

it("resets the stream with an error when the body of a response fails half way", async () => {
  let left = 3
  const failing = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (left-- > 0) controller.enqueue(new Uint8Array(1_000))
      else controller.error(new Error("half way"))
    }
  })
  const { port } = await serve(responding(() => new Response(failing)))
  const raw = openRaw(port)
  raw.request(1, "GET", "/")
  raw.finish(1)
  await raw.waitFor(isReset(1))
  expect(sequenceOf(raw.frames, 1)).toEqual(["headers", "data", `reset ${constants.NGHTTP2_INTERNAL_ERROR}`])
})

it.each(["GET", "HEAD", "POST"])("aborts a %s whose client resets the stream", async (method) => {
  const started = Promise.withResolvers<Request>()
  const { port } = await serve(
    responding((request) => {
      started.resolve(request)
      return new Promise(() => undefined)
    })
  )
  const stream = openSession(port).request({ ":method": method, ":path": "/" })
  const { signal } = await started.promise
  stream.close(constants.NGHTTP2_CANCEL)
  if (!signal.aborted) await once(signal, "abort")
})

it("cancels the body of a response whose client leaves", async () => {
  const cancelled = Promise.withResolvers<void>()
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    cancel: () => cancelled.resolve()
  })
  const { port, requests } = await serve(responding(() => new Response(endless)))
  const stream = openSession(port).request({ ":path": "/" })
  await once(stream, "response")
  stream.close(constants.NGHTTP2_CANCEL)
  await cancelled.promise
  await requests[0]?.handled
})

it("does not begin for a client that left while the host was busy", async () => {
  let calls = 0
  const handle = toNodeHandler(responding(() => new Response(String(calls++))))
  const received = Promise.withResolvers<void>()
  const { port, requests } = await serveHandler(async (req, res) => {
    received.resolve()
    await once(req, "close")
    await handle(req, res)
  })
  const stream = openSession(port).request({ ":method": "POST", ":path": "/" })
  stream.write("begun")
  await received.promise
  stream.close(constants.NGHTTP2_CANCEL)
  await requests[0]?.handled
  expect(calls).toBe(0)
})
