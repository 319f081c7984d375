/**
 * A client that costs a fraction of what a server does, so that the server is always busy: it writes prepared requests to
 * sockets and looks only at the status and the length of each response. A client that is slower than the server would
 * let it wait, and waiting and waking up costs CPU time that is not the route's.
 */
import { once } from "node:events"
import { connect, type Socket } from "node:net"

/** Returns the number of bytes of a complete response, or 0 if more is to come. */
const measureResponse = (received: Buffer): number => {
  const end = received.indexOf("\r\n\r\n")
  if (end === -1) return 0
  const head = received.toString("latin1", 0, end)
  if (!head.startsWith("HTTP/1.1 200")) throw new Error(`the server responded with ${head.slice(0, 100)}`)
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error("the response has no length")
  const total = end + 4 + Number(length)
  return received.length >= total ? total : 0
}

/** Sends one request after the other over a socket until `next` returns none. */
const runConnection = (socket: Socket, next: () => string | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0)
    const sendNext = (): void => {
      const request = next()
      if (request === undefined) {
        socket.destroy()
        resolve()
      } else socket.write(request, "latin1")
    }
    socket.on("error", reject)
    socket.on("close", () => reject(new Error("the server closed a connection")))
    socket.on("data", (chunk) => {
      try {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
        const length = measureResponse(received)
        if (length === 0) return
        received = received.subarray(length)
        sendNext()
      } catch (error) {
        reject(error)
      }
    })
    sendNext()
  })

/** Sends `times` requests over `connections` connections. */
export const sendRequests = async (
  port: number,
  connections: number,
  times: number,
  toRequest: (index: number) => string
): Promise<void> => {
  let index = 0
  const next = () => (index < times ? toRequest(index++) : undefined)
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(port, "127.0.0.1").setNoDelay(true)
      await once(socket, "connect")
      await runConnection(socket, next)
    })
  )
}
