/**
 * A wire that can be cut at the worst moment: after a request has reached the server, before its reply is back.
 */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

export interface FaultyProxy {
  readonly port: number
  /** The next request that contains this text is let through, its reply is not: the connection ends instead. */
  readonly cutReplyTo: (text: string) => void
  /** Connections that are open now pass on requests, but no reply any more; later ones are sound. */
  readonly silence: () => void
  /** How many replies were cut. */
  readonly cuts: () => number
}

/** Stands before the server on a socket's path. */
export const startFaultyProxy = (socketPath: string): Effect.Effect<FaultyProxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    let wanted: string | undefined
    let cuts = 0
    let silenced = 0
    let connections = 0
    const open = new Set<Socket>()
    const server = createServer((client) => {
      const upstream = connect(socketPath)
      let cutting = false
      const number = ++connections
      for (const socket of [client, upstream]) {
        open.add(socket)
        socket.on("error", () => undefined)
        socket.on("close", () => {
          open.delete(socket)
          client.destroy()
          upstream.destroy()
        })
      }
      client.on("data", (data) => {
        if (wanted !== undefined && data.includes(wanted)) {
          wanted = undefined
          cutting = true
        }
        upstream.write(data)
      })
      upstream.on("data", (data) => {
        if (number <= silenced) return
        if (!cutting) return void client.write(data)
        cuts++
        client.destroy()
      })
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")),
      () =>
        Effect.promise(async () => {
          for (const socket of open) socket.destroy()
          server.close()
          await once(server, "close")
        })
    )
    const address = server.address()
    return {
      port: typeof address === "object" && address !== null ? address.port : 0,
      cutReplyTo: (text) => {
        wanted = text
      },
      silence: () => {
        silenced = connections
      },
      cuts: () => cuts
    }
  })
