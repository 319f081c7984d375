import { Effect, type Exit } from "effect"
import { makeKeyedLocks } from "./keyedLocks.ts"

interface Item<A, B, E> {
  readonly value: A
  /** The result of the batch in which the value was. */
  exit?: Exit.Exit<B, E>
}

/**
 * Makes a function that runs values with the same key in batches: all that have arrived while the batch before was
 * running, up to `maxSize`. Each call has the result of its batch.
 */
export const makeBatches = <A, B, E, R>(
  run: (key: string, values: ReadonlyArray<A>) => Effect.Effect<B, E, R>,
  maxSize: number
) => {
  const waiting = new Map<string, Array<Item<A, B, E>>>()
  const lock = makeKeyedLocks()

  const take = (key: string): ReadonlyArray<Item<A, B, E>> => {
    const items = waiting.get(key) ?? []
    const batch = items.splice(0, maxSize)
    if (items.length === 0) waiting.delete(key)
    return batch
  }

  return (key: string, value: A): Effect.Effect<B, E, R> =>
    Effect.suspend(() => {
      const own: Item<A, B, E> = { value }
      waiting.set(key, [...(waiting.get(key) ?? []), own])
      const runNext: Effect.Effect<B, E, R> = Effect.suspend(() => {
        if (own.exit !== undefined) return own.exit
        const batch = take(key)
        const values = batch.map(({ value }) => value)
        const finish = Effect.map(Effect.exit(run(key, values)), (exit) => {
          for (const item of batch) item.exit = exit
        })
        // The batch belongs to all its callers: the interruption of the one that runs it must not end it.
        return Effect.andThen(Effect.uninterruptible(finish), runNext)
      })
      const leave = Effect.sync(() => {
        const items = (waiting.get(key) ?? []).filter((item) => item !== own)
        if (items.length > 0) waiting.set(key, items)
        else waiting.delete(key)
      })
      // First lets the other work of this turn of the event loop add its values.
      return Effect.onInterrupt(lock(key, Effect.andThen(Effect.yieldNow, runNext)), () => leave)
    })
}
