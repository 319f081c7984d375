import { Effect, Semaphore } from "effect"

/** Makes a function that runs effects with the same key one after the other. */
export const makeKeyedLocks = () => {
  const locks = new Map<string, { readonly semaphore: Semaphore.Semaphore; users: number }>()
  return <A, E, R>(key: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const lock = locks.get(key) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
      locks.set(key, lock)
      lock.users++
      const release = Effect.sync(() => {
        lock.users--
        if (lock.users === 0) locks.delete(key)
      })
      return Effect.ensuring(lock.semaphore.withPermit(effect), release)
    })
}
