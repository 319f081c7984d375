/**
 * Servers that receive webhooks and misbehave as a test asks. They count connections, also those that send nothing.
 */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { Effect } from "effect"

/** Starts a server on a free port. Closing the scope destroys its connections. */
export const listen = <S extends Server>(server: S, address = "127.0.0.1", port = 0) =>
  Effect.gen(function* () {
    const sockets: Array<Socket> = []
    server.on("connection", (socket: Socket) => {
      sockets.push(socket)
      socket.on("error", () => undefined)
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(port, address, () => resume(Effect.void))),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          for (const socket of sockets) socket.destroy()
        })
    )
    return { port: (server.address() as AddressInfo).port, sockets }
  })

/** Starts a TCP server that calls `respond` when the first bytes of a connection arrive. */
export const startEndpoint = (respond: (socket: Socket) => void, address?: string, port?: number) =>
  listen(
    createServer((socket) => {
      socket.once("data", () => {
        socket.resume()
        respond(socket)
      })
    }),
    address,
    port
  )

/** An endpoint that writes the same text to each connection and leaves it open. */
export const startTextEndpoint = (text: string) => startEndpoint((socket) => void socket.write(text))
