/**
 * A TCP proxy that can cut a connection after the server has received a request and before the client gets the reply.
 */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

export interface FaultyProxy {
  readonly port: number
  /** Forwards the next request that contains this marker, and closes the connection instead of forwarding the reply. */
  readonly cutReplyTo: (marker: string) => void
  /** Stops forwarding replies on the connections that are open now. New connections work normally. */
  readonly silence: () => void
  /** The number of replies that were cut. */
  readonly cuts: () => number
}

/** Starts a proxy in front of a server on a Unix socket. */
export const startFaultyProxy = (socketPath: string): Effect.Effect<FaultyProxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    let marker: string | undefined
    let cuts = 0
    let lastSilenced = 0
    let connections = 0
    const sockets = new Set<Socket>()
    const server = createServer((client) => {
      const upstream = connect(socketPath)
      let isCutting = false
      const number = ++connections
      for (const socket of [client, upstream]) {
        sockets.add(socket)
        socket.on("error", () => undefined)
        socket.on("close", () => {
          sockets.delete(socket)
          client.destroy()
          upstream.destroy()
        })
      }
      client.on("data", (data) => {
        if (marker !== undefined && data.includes(marker)) {
          marker = undefined
          isCutting = true
        }
        upstream.write(data)
      })
      upstream.on("data", (data) => {
        if (number <= lastSilenced) return
        if (!isCutting) return void client.write(data)
        cuts++
        client.destroy()
      })
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
    return {
      port: typeof address === "object" && address !== null ? address.port : 0,
      cutReplyTo: (nextMarker) => {
        marker = nextMarker
      },
      silence: () => {
        lastSilenced = connections
      },
      cuts: () => cuts
    }
  })
