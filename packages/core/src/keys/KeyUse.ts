/**
 * When each API key was last used, to the minute. A check of a key only notes the minute in memory; a background fiber
 * writes the notes in batches, and runs only while there are any. A counter of the key bucket's partition holds the
 * minute, so that a use changes no record and no version.
 */

import { BoundedMap, Change, type Partition, Store, type StoreUnavailable } from "@tollgate/store/internal"
import { Array as Arr, Context, DateTime, Effect, Layer } from "effect"
import { makeWriteBehind } from "../jobs/writeBehind.ts"

const millisPerMinute = 60_000
/** Uses become visible within 15 seconds: this delay, and the time of the commits. */
const flushDelay = "10 seconds"
const maxBatch = 200
/** Limits the memory while the store cannot be reached. Beyond it, uses of further keys are not noted. */
const maxPending = 100_000
const ttl = 400 * 24 * 60 * millisPerMinute

/** Part of the stored format. */
const toCounterName = (keyId: string): string => `used:${keyId}`

const make = Effect.gen(function* () {
  const store = yield* Store
  /** The last minute that was noted for each key. Most checks of a busy key end here. */
  const lastNotedMinutes = new BoundedMap<string, number>(maxPending)
  let pendingCount = 0

  const uses = yield* makeWriteBehind<Map<string, number>>({
    delay: flushDelay,
    warning: "Cannot write when API keys were last used",
    isEmpty: ({ size }) => size === 0,
    // A note is kept until its commit succeeds.
    write: Effect.fnUntraced(function* (partition, minutes) {
      for (const batch of Arr.chunksOf([...minutes], maxBatch)) {
        const changes = batch.map(([keyId, minute]) => Change.Raise({ counter: toCounterName(keyId), to: minute, ttl }))
        yield* store.commit(partition, changes)
        for (const [keyId, minute] of batch) {
          // A later minute may have been noted meanwhile.
          if (minutes.get(keyId) === minute && minutes.delete(keyId)) pendingCount--
        }
      }
    })
  })

  return KeyUse.of({
    note: (partition, keyId, now) => {
      const minute = Math.floor(now / millisPerMinute)
      if ((lastNotedMinutes.get(keyId) ?? -1) >= minute || pendingCount >= maxPending || uses.isClosed()) return
      lastNotedMinutes.set(keyId, minute)
      const minutes = uses.get(partition) ?? new Map<string, number>()
      if (!minutes.has(keyId)) pendingCount++
      uses.add(partition, minutes.set(keyId, minute))
    },
    read: (partition, keyIds) =>
      Effect.map(store.counters(partition, keyIds.map(toCounterName)), (minutes) =>
        minutes.map((minute) => (minute === 0 ? undefined : DateTime.makeUnsafe(minute * millisPerMinute)))
      )
  })
})

/** Notes when keys and tokens were last used. */
export class KeyUse extends Context.Service<
  KeyUse,
  {
    /** Notes that a key, or a token, passed a check, at `now` in epoch milliseconds. */
    readonly note: (partition: Partition.Partition, keyId: string, now: number) => void
    /** When these keys were last used, in their order, in one store call. */
    readonly read: (
      partition: Partition.Partition,
      keyIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<DateTime.Utc | undefined>, StoreUnavailable>
  }
>()("@tollgate/core/keys/KeyUse") {
  static readonly layer = Layer.effect(KeyUse, make)
}
