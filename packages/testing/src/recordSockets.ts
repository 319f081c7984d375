/**
 * Records the sockets that this process opens to servers, whatever library opens them.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { Socket } from "node:net"
import { Effect, type Scope } from "effect"

const channel = "net.client.socket"

export interface OpenedSocket {
  /** The server's port, once it is connected; a closed socket would no longer know it. */
  port?: number | undefined
}

/** A list that grows with each socket, connected or not, until the scope ends. */
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
