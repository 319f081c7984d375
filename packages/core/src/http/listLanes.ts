/**
 * Lists of an account take turns: a few at once, from the first read of the store until the client has the last byte. So
 * what they hold in memory is bounded, however many connections ask for lists, and however slowly they read.
 */
import { ServerBusy, type TransportResponse, WorkOwner } from "@tollgate/store/internal"
import { Effect, Exit, Semaphore } from "effect"
import { watchBody } from "./watchBody.ts"

/** Lists of one account that run at once, and that wait. */
const maxRunning = 4
const maxWaiting = 256

interface Lane {
  readonly permits: Semaphore.Semaphore
  users: number
}

export const makeListLanes = () => {
  const lanes = new Map<string, Lane>()

  const leave = (owner: string, lane: Lane): void => {
    lane.users--
    if (lane.users === 0) lanes.delete(owner)
  }

  /** Runs a list of the current owner when it is its turn. Fails if too many wait. */
  return <E, R>(list: Effect.Effect<TransportResponse, E, R>): Effect.Effect<TransportResponse, E | ServerBusy, R> =>
    Effect.flatMap(WorkOwner, (owner): Effect.Effect<TransportResponse, E | ServerBusy, R> => {
      const lane = lanes.get(owner) ?? { permits: Semaphore.makeUnsafe(maxRunning), users: 0 }
      if (lane.users >= maxRunning + maxWaiting) return Effect.fail(new ServerBusy())
      lanes.set(owner, lane)
      lane.users++
      const release = Effect.andThen(
        lane.permits.release(1),
        Effect.sync(() => leave(owner, lane))
      )
      return Effect.uninterruptibleMask((restore) =>
        restore(lane.permits.take(1)).pipe(
          Effect.onError(() => Effect.sync(() => leave(owner, lane))),
          Effect.andThen(
            Effect.flatMap(Effect.exit(restore(list)), (exit) => {
              if (Exit.isFailure(exit)) return Effect.andThen(release, exit)
              const { body } = exit.value
              return body instanceof ReadableStream
                ? Effect.succeed({ ...exit.value, body: watchBody(body, () => Effect.runFork(release)) })
                : Effect.as(release, exit.value)
            })
          )
        )
      )
    })
}
