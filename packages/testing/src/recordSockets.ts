/**
 * Records the sockets that this process opens to servers, whatever library opens them.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { Socket } from "node:net"
import { Effect, type Scope } from "effect"

const channel = "net.client.socket"

/** A list that grows with each new socket until the scope ends. */
export const recordSockets: Effect.Effect<ReadonlyArray<Socket>, never, Scope.Scope> = Effect.gen(function* () {
  const sockets: Array<Socket> = []
  const record = (message: unknown): void => {
    if (typeof message === "object" && message !== null && "socket" in message && message.socket instanceof Socket) {
      sockets.push(message.socket)
    }
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => subscribe(channel, record)),
    () => Effect.sync(() => void unsubscribe(channel, record))
  )
  return sockets
})
