/**
 * Connections of an attacker: one that sends a request at a time and reads its answers, and raw ones that send what they
 * like, and read it or not.
 */
import { Agent, request } from "node:http"
import { connect, type Socket } from "node:net"

export interface Answer {
  readonly status: number
  readonly text: string
}

export interface CallOptions {
  readonly token?: string
  readonly body?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

export interface Connection {
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<Answer>
  readonly close: () => void
}

/** One kept-alive connection. */
export const openConnection = (port: number): Connection => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    call: (method, path, { token, body, headers = {} } = {}) =>
      new Promise((resolve, reject) => {
        const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
        const length = { "content-length": String(Buffer.byteLength(body ?? "")) }
        const options = { host: "127.0.0.1", port, agent, method, path }
        const req = request({ ...options, headers: { ...authorization, ...length, ...headers } }, (res) => {
          const chunks: Array<Buffer> = []
          res.on("data", (chunk: Buffer) => {
            // The rest of a large list is read and forgotten.
            if (chunks.length < 64) chunks.push(chunk)
          })
          res.once("error", reject)
          res.once("end", () => resolve({ status: res.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
        })
        req.once("error", reject).end(body)
      }),
    close: () => agent.destroy()
  }
}

const makeRaw = (path: string, token?: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\n${token === undefined ? "" : `Authorization: Bearer ${token}\r\n`}\r\n`

export interface RawOptions {
  readonly path: string
  readonly token?: string
  /** How many requests are sent at once, again and again if the server takes them. */
  readonly pipelined?: number
  /** Whether the answers are read, or only the beginning of the first. */
  readonly reads?: boolean
  /** How long the connection is kept, if the server does not close it. */
  readonly keepMs?: number
  /** Then the connection is closed after its first answer. */
  readonly isOver: () => boolean
  readonly onStatus: (status: number) => void
}

/** Opens a connection, and resolves when it is closed. */
export const sendRaw = (port: number, options: RawOptions, sockets: Set<Socket>): Promise<void> =>
  new Promise((resolve) => {
    const { path, token, pipelined = 0, reads = false, keepMs, isOver, onStatus } = options
    const requests = Buffer.from(makeRaw(path, token).repeat(Math.max(1, pipelined)))
    const socket = connect(port, "127.0.0.1")
    sockets.add(socket)
    const write = () => {
      while (socket.write(requests) && pipelined > 0);
    }
    const timer = keepMs === undefined ? undefined : setTimeout(() => socket.destroy(), keepMs)
    socket
      .on("connect", write)
      .on("drain", () => pipelined > 0 && write())
      .on("data", (chunk: Buffer) => {
        for (const [, status] of chunk.toString("latin1").matchAll(/HTTP\/1\.1 (\d{3})/g)) onStatus(Number(status))
        if (isOver()) socket.destroy()
        else if (!reads) socket.pause()
      })
      .on("error", () => undefined)
      .on("close", () => {
        clearTimeout(timer)
        sockets.delete(socket)
        resolve()
      })
  })
