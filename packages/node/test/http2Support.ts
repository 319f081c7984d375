/**
 * HTTP/2 servers and clients for the tests. They are closed when the test file ends.
 */
import { once } from "node:events"
import { type ClientHttp2Session, connect, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2"
import { type HandlerSource, type NodeHandler, toNodeHandler } from "@tollgate/node"
import { afterAll } from "vitest"
import { connectRaw, type Frame, frameTypes } from "./rawHttp2.ts"

const finalizers: Array<() => void> = []
afterAll(() => {
  for (const close of finalizers) close()
})

interface RunningServer {
  readonly server: Http2Server
  readonly port: number
  readonly requests: Array<ServedRequest>
}

/** A request, seen from the server. */
interface ServedRequest {
  readonly stream: ServerHttp2Stream
  /** Settles when the handler does. */
  readonly handled: Promise<void>
  /** Resolves when the stream has closed. */
  readonly closed: Promise<void>
}

export const serveHandler = async (handle: NodeHandler): Promise<RunningServer> => {
  const requests: Array<ServedRequest> = []
  const server = createServer((req, res) => {
    const { stream } = req
    const closed = new Promise<void>((resolve) => stream.once("close", resolve))
    requests.push({ stream, closed, handled: handle(req as never, res as never) })
  }).listen(0, "127.0.0.1")
  finalizers.push(() => void server.close())
  await once(server, "listening")
  const address = server.address()
  return { server, port: typeof address === "object" && address !== null ? address.port : 0, requests }
}

export const serve = (source: HandlerSource): Promise<RunningServer> => serveHandler(toNodeHandler(source))

export const makeSource = (respond: (request: Request) => Response | Promise<Response>): HandlerSource => ({
  matches: () => true,
  handler: async (request) => respond(request)
})

export const openSession = (port: number): ClientHttp2Session => {
  const session = connect(`http://127.0.0.1:${port}`)
  finalizers.push(() => session.destroy())
  return session
}

export const openRaw = (port: number, initialWindow?: number) => {
  const raw = connectRaw(port, initialWindow)
  finalizers.push(raw.close)
  return raw
}

/** Closes a session and then its server. Both wait for open streams, so a leaked stream fails the test. */
export const closeGracefully = async (session: ClientHttp2Session, server: Http2Server): Promise<void> => {
  session.close()
  await once(session, "close")
  server.close()
  await once(server, "close")
}

export const isReset = (stream: number) => (frame: Frame) =>
  frame.type === frameTypes.rstStream && frame.stream === stream

/** The names of a stream's frames, in order. Consecutive data frames are listed once. */
export const listFrames = (frames: ReadonlyArray<Frame>, stream: number): ReadonlyArray<string> =>
  frames
    .filter((frame) => frame.stream === stream && frame.type !== frameTypes.windowUpdate)
    .map(({ type, isLast, payload }) => {
      if (type === frameTypes.rstStream) return `reset ${payload.readUInt32BE()}`
      return `${type === frameTypes.data ? "data" : "headers"}${isLast ? ", end" : ""}`
    })
    .filter((name, index, names) => name !== "data" || names[index - 1] !== "data")
