/**
 * Notes that are made in memory, and written in batches by a background fiber. The fiber runs only while there are any.
 */

import type { Partition } from "@tollgate/store/internal"
import { Cause, type Duration, Effect, Fiber } from "effect"

/** How long the last write may delay closing. With that of `countedStore.ts`, 5 seconds. */
const closeTimeout = "4 seconds"

interface WriteBehindOptions<Notes> {
  readonly delay: Duration.Input
  /** What cannot be done while `write` fails, for the log. */
  readonly warning: string
  /** Writes the notes of a partition, and takes what it has written from them. It is called again after it has failed. */
  readonly write: (partition: Partition.Partition, notes: Notes) => Effect.Effect<unknown, unknown>
  readonly isEmpty: (notes: Notes) => boolean
}

/** Writes what is left when the scope closes. */
export const makeWriteBehind = Effect.fnUntraced(function* <Notes>({
  delay,
  warning,
  write,
  isEmpty
}: WriteBehindOptions<Notes>) {
  const context = yield* Effect.context<never>()
  const pending = new Map<Partition.Partition, Notes>()
  let isClosed = false
  let isFailing = false
  let writing: Fiber.Fiber<void> | undefined

  const writeAll = Effect.gen(function* () {
    const errors: Array<unknown> = []
    for (const [partition, notes] of [...pending]) {
      yield* Effect.catchCause(write(partition, notes), (cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.sync(() => errors.push(Cause.squash(cause)))
      )
      if (isEmpty(notes)) pending.delete(partition)
    }
    const [error] = errors
    // Logged once for each time that the store fails, not at every attempt. Its cause may quote stored data.
    if (error !== undefined && !isFailing) {
      yield* Effect.logWarning(`${warning}: ${error instanceof Error ? error.message : String(error)}`)
    }
    isFailing = error !== undefined
  })

  const schedule = (): void => {
    const again = Effect.sync(() => {
      writing = undefined
      if (pending.size > 0) schedule()
    })
    writing = Effect.runForkWith(context)(Effect.sleep(delay).pipe(Effect.andThen(writeAll), Effect.andThen(again)))
  }

  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      isClosed = true
      if (writing !== undefined) yield* Fiber.interrupt(writing)
      yield* Effect.timeoutOption(writeAll, closeTimeout)
    })
  )

  return {
    /** Nothing is noted any more once this is closed. */
    isClosed: () => isClosed,
    /** What is to be written: for hot paths, which call no function to look at it. */
    pending: pending as ReadonlyMap<Partition.Partition, Notes>,
    size: (): number => pending.size,
    get: (partition: Partition.Partition): Notes | undefined => pending.get(partition),
    /** Adds notes that are to be written. */
    add: (partition: Partition.Partition, notes: Notes): void => {
      pending.set(partition, notes)
      if (writing === undefined) schedule()
    }
  }
})
