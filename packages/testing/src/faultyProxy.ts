/**
 * A TCP proxy that can cut a connection after the server has received a request and before the client gets the reply.
 */
import { Effect, type Scope } from "effect"
import { startProxy } from "./startProxy.ts"

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
    const { port } = yield* startProxy({ path: socketPath }, (client, upstream) => {
      let isCutting = false
      const number = ++connections
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
    return {
      port,
      cutReplyTo: (nextMarker) => {
        marker = nextMarker
      },
      silence: () => {
        lastSilenced = connections
      },
      cuts: () => cuts
    }
  })
