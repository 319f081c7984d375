/**
 * Records the client sockets that this process opens, through any library.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { Socket } from "node:net"
import { Effect, type Scope } from "effect"

const channel = "net.client.socket"

export interface OpenedSocket {
  /** The port of the server, set on connect, because a closed socket no longer has it. */
  port?: number | undefined
}

/** Returns a list to which each new socket is added, connected or not, until the scope closes. */
export const recordSockets: Effect.Effect<ReadonlyArray<OpenedSocket>, never, Scope.Scope> = Effect.gen(function* () {
  const opened: Array<OpenedSocket> = []
  const record = (message: unknown): void => {
    if (typeof message !== "object" || message === null || !("socket" in message)) return
    const { socket } = message
    if (!(socket instanceof Socket)) return
    const entry: OpenedSocket = {}
    opened.push(entry)
    socket.once("connect", () => {
      entry.port = socket.remotePort
    })
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => subscribe(channel, record)),
    () => Effect.sync(() => void unsubscribe(channel, record))
  )
  return opened
})
