/**
 * HTTP/2 servers and clients for the tests; whatever is still open when a test file ends is closed.
 */
import { once } from "node:events"
import { type ClientHttp2Session, connect, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2"
import { type HandlerSource, type NodeHandler, toNodeHandler } from "@tollgate/node"
import { afterAll } from "vitest"
import { connectRaw, type Frame, frameTypes } from "./rawHttp2.ts"

const closers: Array<() => void> = []
afterAll(() => {
  for (const close of closers) close()
})

interface Serving {
  readonly server: Http2Server
  readonly port: number
  readonly requests: Array<ServedRequest>
}

/** The server's side of a request. */
interface ServedRequest {
  readonly stream: ServerHttp2Stream
  /** Settles as the handler does. */
  readonly handled: Promise<void>
  /** Resolves when the stream has closed. */
  readonly closed: Promise<void>
}

export const serveHandler = async (handle: NodeHandler): Promise<Serving> => {
  const requests: Array<ServedRequest> = []
  const server = createServer((req, res) => {
    const { stream } = req
    const closed = new Promise<void>((resolve) => stream.once("close", resolve))
    requests.push({ stream, closed, handled: handle(req as never, res as never) })
  }).listen(0, "127.0.0.1")
  closers.push(() => void server.close())
  await once(server, "listening")
  const address = server.address()
  return { server, port: typeof address === "object" && address !== null ? address.port : 0, requests }
}

export const serve = (mounted: HandlerSource): Promise<Serving> => serveHandler(toNodeHandler(mounted))

export const responding = (respond: (request: Request) => Response | Promise<Response>): HandlerSource => ({
  matches: () => true,
  handler: async (request) => respond(request)
})

export const openSession = (port: number): ClientHttp2Session => {
  const session = connect(`http://127.0.0.1:${port}`)
  closers.push(() => session.destroy())
  return session
}

export const openRaw = (port: number, initialWindow?: number) => {
  const raw = connectRaw(port, initialWindow)
  closers.push(raw.close)
  return raw
}

/** Closes a session and then its server, both gracefully: an open stream would hold them up. */
export const closeGracefully = async (session: ClientHttp2Session, server: Http2Server): Promise<void> => {
  session.close()
  await once(session, "close")
  server.close()
  await once(server, "close")
}

export const isReset = (stream: number) => (frame: Frame) =>
  frame.type === frameTypes.rstStream && frame.stream === stream

/** The frames of a stream, in order, by name; `data` stands for all that precede the end of the response. */
export const sequenceOf = (frames: ReadonlyArray<Frame>, stream: number): ReadonlyArray<string> =>
  frames
    .filter((frame) => frame.stream === stream && frame.type !== frameTypes.windowUpdate)
    .map(({ type, isLast, payload }) => {
      if (type === frameTypes.rstStream) return `reset ${payload.readUInt32BE()}`
      return `${type === frameTypes.data ? "data" : "headers"}${isLast ? ", end" : ""}`
    })
    .filter((name, index, names) => name !== "data" || names[index - 1] !== "data")
