/**
 * The customers of a metering bucket that used most of a meter. All subscriptions are read for it, so a process remembers
 * the result for a minute, and reads once for all who ask meanwhile.
 */

import {
  BoundedMap,
  makeKeyedLocks,
  nextTurn,
  Store,
  type StoreOperations,
  type TrustedClock
} from "@tollgate/store/internal"
import { Effect } from "effect"
import type { Days } from "../model/clockSteps.ts"
import { rankCustomers, type TopCustomers } from "../model/SubscriptionUsage.ts"
import { readUsageOfDays } from "./usageOfDays.ts"

/** How many subscriptions are read at once: in SQLite, a read of so many records takes a few milliseconds of a turn. */
const pageSize = 500
/** For how long a result is remembered. */
const rememberedMs = 60_000
/** Maximum size of the results that a process remembers, in bytes. */
const maxCacheBytes = 4 * 1024 * 1024

const estimateSize = ({ data }: TopCustomers): number =>
  data.reduce((sum, { customerKey }) => sum + 100 + 2 * customerKey.length, 500)

export const makeTopCustomers = (store: StoreOperations, trustedClock: TrustedClock["Service"]) => {
  const withLock = makeKeyedLocks()
  const remembered = new BoundedMap<string, TopCustomers>(maxCacheBytes, estimateSize)

  const count = Effect.fnUntraced(
    function* (bucketId: string, meter: string, days: Days) {
      const asOf = yield* trustedClock.now
      const used = new Map<string, number>()
      let after: number | undefined
      do {
        const { data, next } = yield* readUsageOfDays(bucketId, days, { offset: 0, limit: pageSize, after, meter })
        for (const { customerKey, meters } of data) {
          used.set(customerKey, (used.get(customerKey) ?? 0) + (meters[meter] ?? 0))
        }
        yield* nextTurn
        after = next
      } while (after !== undefined)
      return { meter, asOf, data: rankCustomers(used) } satisfies TopCustomers
    },
    Effect.provideService(Store, store)
  )

  return (bucketId: string, meter: string, days: Days) => {
    const key = `${bucketId} ${days.start} ${days.end} ${meter}`
    return withLock(
      key,
      Effect.gen(function* () {
        const latest = remembered.get(key)
        const { epochMilliseconds } = yield* trustedClock.now
        if (latest !== undefined && epochMilliseconds < latest.asOf.epochMilliseconds + rememberedMs) return latest
        const top = yield* count(bucketId, meter, days)
        remembered.set(key, top)
        return top
      })
    )
  }
}
