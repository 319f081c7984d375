/**
 * A TCP proxy in front of PostgreSQL that ends connections as soon as they are open, as an administrator or a restart
 * may: the client gets the end in the same packet as the server's readiness for the first query.
 */
import { Effect, type Scope } from "effect"
import { startProxy } from "./startProxy.ts"

export interface TerminatingProxy {
  /** The URL of the server behind the proxy. */
  readonly url: string
  /** Ends the next connections when they are open. */
  readonly terminateNext: (connections: number) => void
  /** The number of connections that were ended. */
  readonly terminations: () => number
}

const readyForQuery = Buffer.from("Z\0\0\0\u0005I", "latin1")

const makeFatalError = (): Buffer => {
  const fields = "SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
  const message = Buffer.alloc(5 + fields.length)
  message.write("E")
  message.writeInt32BE(4 + fields.length, 1)
  message.write(fields, 5)
  return message
}

/** Starts a proxy in front of the server at this URL. */
export const startTerminatingProxy = (serverUrl: string): Effect.Effect<TerminatingProxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    const url = new URL(serverUrl)
    let [remaining, terminations] = [0, 0]
    const { port } = yield* startProxy({ port: Number(url.port), host: url.hostname }, (client, upstream) => {
      let isOpen = false
      client.on("data", (data) => upstream.write(data))
      upstream.on("data", (data) => {
        const isOpening = !isOpen && data.subarray(-readyForQuery.length).equals(readyForQuery)
        isOpen ||= isOpening
        if (!isOpening || remaining === 0) return void client.write(data)
        remaining--
        terminations++
        client.end(Buffer.concat([data, makeFatalError()]))
      })
    })
    url.port = String(port)
    return {
      url: url.href,
      terminateNext: (connections) => {
        remaining = connections
      },
      terminations: () => terminations
    }
  })
