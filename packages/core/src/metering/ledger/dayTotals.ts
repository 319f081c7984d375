/**
 * The totals of all subscriptions of a metering bucket, per meter and day. Every commit that counts adds to them.
 */
import { Effect } from "effect"
import { BoundedMap } from "../../runtime/BoundedMap.ts"
import type { Change } from "../../store/Store.ts"
import { StoreConflict } from "../../store/StoreError.ts"
import { dayTtlMs, getDayCounter, isDayCounter } from "../model/usageCounters.ts"

/** The counter of a meter on the day that was counted last. */
const latestCounters = new BoundedMap<string, { readonly day: number; readonly counter: string }>(10_000)

const findDayCounter = (meter: string, day: number): string => {
  const latest = latestCounters.get(meter)
  if (latest?.day === day) return latest.counter
  const counter = getDayCounter(meter, day)
  latestCounters.set(meter, { day, counter })
  return counter
}

/** A change that adds to the total of a meter on a day. */
export const addToDay = (meter: string, by: number, day: number): Change => ({
  _tag: "Add",
  counter: findDayCounter(meter, day),
  by,
  ttl: dayTtlMs
})

const isTotalFull = (error: unknown): error is StoreConflict =>
  error instanceof StoreConflict && error.reason === "counter-exceeded" && isDayCounter(error.subject)

/**
 * Commits changes. If a total would exceed 2^53 - 1, it stays as it is: the usage of one customer must not stop that of
 * the others.
 */
export const commitWithTotals = <A, E>(
  changes: ReadonlyArray<Change>,
  commit: (changes: ReadonlyArray<Change>) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.catchEager(commit(changes), (error) =>
    isTotalFull(error)
      ? commitWithTotals(
          changes.filter((change) => !("counter" in change) || change.counter !== error.subject),
          commit
        )
      : Effect.fail(error)
  )
