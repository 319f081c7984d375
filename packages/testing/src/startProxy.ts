/**
 * A TCP proxy on a free port. Closing the scope closes it and its connections.
 */
import { once } from "node:events"
import { connect, createServer, type NetConnectOpts, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

/** `forward` connects the data of both sides of a new connection. When one side closes, so does the other. */
export const startProxy = (
  target: NetConnectOpts,
  forward: (client: Socket, upstream: Socket) => void
): Effect.Effect<{ readonly port: number }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sockets = new Set<Socket>()
    const server = createServer((client) => {
      const upstream = connect(target)
      for (const socket of [client, upstream]) {
        sockets.add(socket)
        socket.on("error", () => undefined)
        socket.on("close", () => {
          sockets.delete(socket)
          client.destroy()
          upstream.destroy()
        })
      }
      forward(client, upstream)
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")),
      () =>
        Effect.promise(async () => {
          for (const socket of sockets) socket.destroy()
          server.close()
          await once(server, "close")
        })
    )
    const address = server.address()
    return { port: typeof address === "object" && address !== null ? address.port : 0 }
  })
