/**
 * Work of an account takes turns: so much at once, from its beginning until the client has the last byte. So what it holds in
 * memory is bounded, however many connections ask for it, and however slowly they send and read.
 */
import { ServerBusy, type TransportResponse, WorkOwner } from "@tollgate/store/internal"
import { Effect, Exit, Semaphore } from "effect"
import { watchBody } from "./watchBody.ts"

/** What an account may have at once, and how many of its requests may wait for it. */
interface LaneOptions {
  readonly max: number
  readonly maxWaiting: number
}

interface Lane {
  readonly permits: Semaphore.Semaphore
  running: number
  waiting: number
}

const maxLists = 4
export const listLanes: LaneOptions = { max: maxLists, maxWaiting: 256 }

/** Bytes of the bodies of an account that are received, or handled, without those that are short. */
const maxBodyBytes = 32 * 1024 * 1024
export const bodyLanes: LaneOptions = { max: maxBodyBytes, maxWaiting: 256 }

export const makeLanes = ({ max, maxWaiting }: LaneOptions) => {
  const lanes = new Map<string, Lane>()

  const forget = (owner: string, lane: Lane): void => {
    if (lane.running + lane.waiting === 0) lanes.delete(owner)
  }

  /** Does work of the current owner when it is its turn. Fails if too many wait. `size` is how much of `max` it takes. */
  return <E, R>(
    work: Effect.Effect<TransportResponse, E, R>,
    size = 1
  ): Effect.Effect<TransportResponse, E | ServerBusy, R> =>
    Effect.flatMap(WorkOwner, (owner): Effect.Effect<TransportResponse, E | ServerBusy, R> => {
      const lane = lanes.get(owner) ?? { permits: Semaphore.makeUnsafe(max), running: 0, waiting: 0 }
      if (lane.waiting >= maxWaiting) return Effect.fail(new ServerBusy())
      lanes.set(owner, lane)
      lane.waiting++
      const taken = Math.min(size, max)
      const start = Effect.sync(() => {
        lane.waiting--
        lane.running++
      })
      const giveUp = Effect.sync(() => {
        lane.waiting--
        forget(owner, lane)
      })
      const release = Effect.andThen(
        lane.permits.release(taken),
        Effect.sync(() => {
          lane.running--
          forget(owner, lane)
        })
      )
      return Effect.uninterruptibleMask((restore) =>
        restore(lane.permits.take(taken)).pipe(
          Effect.onError(() => giveUp),
          Effect.andThen(start),
          Effect.andThen(
            Effect.flatMap(Effect.exit(restore(work)), (exit) => {
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
