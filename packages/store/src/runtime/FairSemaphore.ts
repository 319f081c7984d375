/**
 * Permits that keys share, such as accounts. A free permit goes to the key that holds the fewest and, among those, to the
 * one that has waited longest: while others wait, none gets a second one. Effect's `PartitionedSemaphore` takes turns as
 * well, but with it a key whose work is slow soon holds all permits.
 */
import { Effect, Latch } from "effect"
import { FairQueue } from "./FairQueue.ts"

/** Permits that keys share, such as accounts. */
export class FairSemaphore {
  readonly #waiting = new FairQueue<Latch.Latch>()
  readonly #held = new Map<string, number>()
  #free: number
  #isGranting = false

  constructor(permits: number) {
    this.#free = permits
  }

  /** Runs an effect as soon as the key has a permit for it. `awaitTurn` can bound the wait. */
  withPermit<A, E, R, E2 = never>(
    key: string,
    effect: Effect.Effect<A, E, R>,
    awaitTurn: (turn: Effect.Effect<void>) => Effect.Effect<void, E2> = (turn) => turn
  ): Effect.Effect<A, E | E2, R> {
    return Effect.uninterruptibleMask((restore) => {
      const turn = Latch.makeUnsafe()
      this.#waiting.add(key, turn)
      this.#grant()
      const leave = Effect.sync(() => {
        if (!this.#waiting.delete(key, turn)) this.#release(key)
      })
      return Effect.ensuring(restore(Effect.andThen(awaitTurn(turn.await), effect)), leave)
    })
  }

  #countHeld(key: string): number {
    return this.#held.get(key) ?? 0
  }

  /** What is granted may run at once, and end: then this loop goes on, instead of another inside it. */
  #grant(): void {
    if (this.#isGranting) return
    this.#isGranting = true
    while (this.#free > 0) {
      const next = this.#waiting.take((key) => this.#countHeld(key))
      if (next === undefined) break
      this.#free--
      this.#held.set(next.key, this.#countHeld(next.key) + 1)
      next.item.openUnsafe()
    }
    this.#isGranting = false
  }

  #release(key: string): void {
    const held = this.#countHeld(key) - 1
    if (held > 0) this.#held.set(key, held)
    else this.#held.delete(key)
    this.#free++
    this.#grant()
  }
}
