/**
 * When each API key was last used, to the minute. A check of a key only notes the minute in memory; a background fiber
 * writes the notes in batches, and runs only while there are any. A counter of the key bucket's partition holds the
 * minute, so that a use changes no record and no version.
 */
import { Array as Arr, Cause, Context, DateTime, Effect, Fiber, Layer } from "effect"
import type { KeyId } from "../records/ApiKey.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import type { Partition } from "../store/Partition.ts"
import { Change, Store } from "../store/Store.ts"
import type { StoreUnavailable } from "../store/StoreError.ts"

const millisPerMinute = 60_000
/** Uses become visible within 15 seconds: this delay, and the time of the commits. */
const flushDelay = "10 seconds"
/** How long the last flush may delay closing. With that of `countedStore.ts`, 5 seconds. */
const closeTimeout = "4 seconds"
const maxBatch = 200
/** Limits the memory while the store cannot be reached. Beyond it, uses of further keys are not noted. */
const maxPending = 100_000
const ttl = 400 * 24 * 60 * millisPerMinute

/** Part of the stored format. */
const toCounterName = (keyId: string): string => `used:${keyId}`

const make = Effect.gen(function* () {
  const store = yield* Store
  const context = yield* Effect.context<never>()
  /** The last minute that was noted for each key. Most checks of a busy key end here. */
  const lastNotedMinutes = new BoundedMap<string, number>(maxPending)
  const pending = new Map<Partition, Map<string, number>>()
  let pendingCount = 0
  let isClosed = false
  let isFailing = false
  let flushing: Fiber.Fiber<void> | undefined

  /** Writes the notes of one partition. A note is kept until its commit succeeds. */
  const flushPartition = Effect.fnUntraced(function* (partition: Partition, minutes: Map<string, number>) {
    for (const batch of Arr.chunksOf([...minutes], maxBatch)) {
      const changes = batch.map(([keyId, minute]) => Change.Raise({ counter: toCounterName(keyId), to: minute, ttl }))
      yield* store.commit(partition, changes)
      for (const [keyId, minute] of batch) {
        // A later minute may have been noted meanwhile.
        if (minutes.get(keyId) === minute && minutes.delete(keyId)) pendingCount--
      }
    }
    if (minutes.size === 0) pending.delete(partition)
  })

  const flush = Effect.gen(function* () {
    const errors: Array<unknown> = []
    for (const [partition, minutes] of [...pending]) {
      yield* Effect.catchCause(flushPartition(partition, minutes), (cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.sync(() => errors.push(Cause.squash(cause)))
      )
    }
    const [error] = errors
    // Logged once for each time that the store fails, not at every attempt. Its cause may quote stored data.
    if (error !== undefined && !isFailing) {
      const problem = error instanceof Error ? error.message : String(error)
      yield* Effect.logWarning(`Cannot write when API keys were last used: ${problem}`)
    }
    isFailing = error !== undefined
  })

  const scheduleFlush = (): void => {
    const rescheduleIfNeeded = Effect.sync(() => {
      flushing = undefined
      if (pendingCount > 0) scheduleFlush()
    })
    flushing = Effect.runForkWith(context)(
      Effect.sleep(flushDelay).pipe(Effect.andThen(flush), Effect.andThen(rescheduleIfNeeded))
    )
  }

  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      isClosed = true
      if (flushing !== undefined) yield* Fiber.interrupt(flushing)
      yield* Effect.timeoutOption(flush, closeTimeout)
    })
  )

  return KeyUse.of({
    note: (partition, keyId, now) => {
      const minute = Math.floor(now / millisPerMinute)
      if ((lastNotedMinutes.get(keyId) ?? -1) >= minute || pendingCount >= maxPending || isClosed) return
      lastNotedMinutes.set(keyId, minute)
      const minutes = pending.get(partition) ?? new Map<string, number>()
      if (!minutes.has(keyId)) pendingCount++
      pending.set(partition, minutes.set(keyId, minute))
      if (flushing === undefined) scheduleFlush()
    },
    read: (partition, keyIds) =>
      Effect.map(store.counters(partition, keyIds.map(toCounterName)), (minutes) =>
        minutes.map((minute) => (minute === 0 ? undefined : DateTime.makeUnsafe(minute * millisPerMinute)))
      )
  })
})

export class KeyUse extends Context.Service<
  KeyUse,
  {
    /** Notes that a key passed a check, at `now` in epoch milliseconds. */
    readonly note: (partition: Partition, keyId: KeyId, now: number) => void
    /** When these keys were last used, in their order, in one store call. */
    readonly read: (
      partition: Partition,
      keyIds: ReadonlyArray<KeyId>
    ) => Effect.Effect<ReadonlyArray<DateTime.Utc | undefined>, StoreUnavailable>
  }
>()("@tollgate/core/keys/KeyUse") {
  static readonly layer = Layer.effect(KeyUse, make)
}
