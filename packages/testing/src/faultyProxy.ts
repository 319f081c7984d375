/**
 * A TCP proxy that can cut a connection after the server has received a request and before the client gets the reply.
 */
import { Effect, type Scope } from "effect"
import { startProxy } from "./startProxy.ts"

export interface FaultyProxy {
  readonly port: number
  /** Forwards the next request that contains all these texts, and closes the connection instead of forwarding the reply. */
  readonly cutReplyTo: (...texts: ReadonlyArray<string>) => void
  /** Stops forwarding replies on the connections that are open now. New connections work normally. */
  readonly silence: () => void
  /** The number of replies that were cut. */
  readonly cuts: () => number
}

/** Starts a proxy in front of a server on a Unix socket. */
export const startFaultyProxy = (socketPath: string): Effect.Effect<FaultyProxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    let marks: ReadonlyArray<string> | undefined
    let cuts = 0
    let lastSilenced = 0
    let connections = 0
    const { port } = yield* startProxy({ path: socketPath }, (client, upstream) => {
      let isCutting = false
      const number = ++connections
      client.on("data", (data) => {
        if (marks?.every((text) => data.includes(text))) {
          marks = undefined
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
      cutReplyTo: (...texts) => {
        marks = texts
      },
      silence: () => {
        lastSilenced = connections
      },
      cuts: () => cuts
    }
  })
