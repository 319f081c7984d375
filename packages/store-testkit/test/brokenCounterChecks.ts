/**
 * Stores that violate the contract of `CheckCounter`.
 */
import { Change, type CounterChange, isCounterChange, StoreConflict, type StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import type { BrokenStore } from "./brokenStores.ts"

type Check = Extract<Change, { readonly _tag: "CheckCounter" }>
type Commit = StoreOperations["commit"]

const isCheck = (change: Change): change is Check => change._tag === "CheckCounter"

const replaceCommit =
  (commit: (inner: StoreOperations) => Commit): BrokenStore["breakStore"] =>
  (inner) => ({ ...inner, commit: commit(inner) })

const rewriteChanges = (rewrite: (changes: ReadonlyArray<Change>) => ReadonlyArray<Change>) =>
  replaceCommit((inner) => (partition, changes, idempotency) => inner.commit(partition, rewrite(changes), idempotency))

/** Leaves out the checks that `isKept` does not accept. */
const omitChecks = (isKept: (check: Check, changes: ReadonlyArray<Change>) => boolean) =>
  rewriteChanges((changes) => changes.filter((change) => !isCheck(change) || isKept(change, changes)))

/** Checks against the values that a function computes, before a commit without the checks. */
const checkSeparately = (
  getValue: (value: number, check: Check, changes: ReadonlyArray<Change>) => number,
  pause: Effect.Effect<void> = Effect.void
) =>
  replaceCommit((inner) =>
    Effect.fnUntraced(function* (partition, changes, idempotency) {
      const checks = changes.filter(isCheck)
      if (checks.length === 0) return yield* inner.commit(partition, changes, idempotency)
      const values = yield* inner.counters(
        partition,
        checks.map(({ counter }) => counter)
      )
      for (const [index, check] of checks.entries()) {
        if (getValue(values[index] ?? 0, check, changes) !== check.expect) {
          return yield* new StoreConflict({ reason: "stale", subject: check.counter })
        }
      }
      yield* pause
      return yield* inner.commit(
        partition,
        changes.filter((change) => !isCheck(change)),
        idempotency
      )
    })
  )

const applyChange = (value: number, change: CounterChange): number =>
  change._tag === "Add" ? Math.max(0, value + change.by) : change._tag === "Raise" ? Math.max(value, change.to) : value

const isOfSameCounter =
  ({ counter }: Check) =>
  (change: Change): change is CounterChange =>
    isCounterChange(change) && change.counter === counter

const conflicts = "a check of a counter conflicts unless it has the expected value, and changes nothing"
const missing = "a counter that does not exist has the value 0"
const anyOrder = "a counter is checked against its value before the commit, in any order"
const decides = "the first change that conflicts decides whether a check of a counter refuses"
const replays = "a replay does not check counters again, and a refused check does not use up the id"

export const brokenCounterChecks: ReadonlyArray<BrokenStore> = [
  { fault: "a check of a counter is ignored", caughtBy: conflicts, breakStore: omitChecks(() => false) },
  {
    fault: "a check of a counter is ignored beside a change of the counter",
    caughtBy: anyOrder,
    breakStore: omitChecks((check, changes) => !changes.some(isOfSameCounter(check)))
  },
  {
    fault: "only the first check of a counter counts",
    caughtBy: anyOrder,
    breakStore: omitChecks(
      (check, changes) =>
        changes.find((change): change is Check => isCheck(change) && change.counter === check.counter) === check
    )
  },
  {
    fault: "a check of a counter is satisfied by a higher value",
    caughtBy: conflicts,
    breakStore: checkSeparately((value, { expect }) => Math.min(value, expect))
  },
  {
    fault: "a counter is checked after its change",
    caughtBy: anyOrder,
    breakStore: checkSeparately((value, check, changes) =>
      changes.filter(isOfSameCounter(check)).reduce(applyChange, value)
    )
  },
  {
    fault: "a counter is checked after the changes before the check",
    caughtBy: anyOrder,
    breakStore: checkSeparately((value, check, changes) =>
      changes.slice(0, changes.indexOf(check)).filter(isOfSameCounter(check)).reduce(applyChange, value)
    )
  },
  {
    fault: "a missing counter is not 0",
    caughtBy: missing,
    breakStore: checkSeparately((value) => (value === 0 ? Number.NaN : value))
  },
  {
    fault: "an expired counter has the value that it had",
    caughtBy: "an expired counter has the value 0",
    breakStore: (inner) => {
      const lastTotals = new Map<string, number>()
      return {
        ...inner,
        commit: Effect.fnUntraced(function* (partition, changes, idempotency) {
          for (const { counter, expect } of changes.filter(isCheck)) {
            if ((lastTotals.get(`${partition} ${counter}`) ?? 0) !== expect) {
              return yield* new StoreConflict({ reason: "stale", subject: counter })
            }
          }
          const result = yield* inner.commit(
            partition,
            changes.filter((change) => !isCheck(change)),
            idempotency
          )
          for (const [counter, total] of result.totals) lastTotals.set(`${partition} ${counter}`, total)
          return result
        })
      }
    }
  },
  {
    fault: "a check of a counter extends its time to live",
    caughtBy: "a check of a counter does not extend its time to live",
    breakStore: replaceCommit((inner) => (partition, changes, idempotency) => {
      const { counter } = changes.find(isCheck) ?? {}
      const commit = inner.commit(partition, changes, idempotency)
      if (counter === undefined) return commit
      return Effect.tap(commit, () => inner.commit(partition, [Change.Raise({ counter, to: 0, ttl: 600_000 })]))
    })
  },
  {
    fault: "a check creates the counter",
    caughtBy: missing,
    breakStore: replaceCommit(
      (inner) => (partition, changes, idempotency) =>
        Effect.tap(inner.commit(partition, changes, idempotency), () =>
          inner.commit(
            partition,
            changes.filter(isCheck).map(({ counter }) => Change.Raise({ counter, to: 0, ttl: 600_000 }))
          )
        )
    )
  },
  {
    fault: "counters are checked before everything else",
    caughtBy: decides,
    breakStore: rewriteChanges((changes) => [
      ...changes.filter(isCheck),
      ...changes.filter((change) => !isCheck(change))
    ])
  },
  {
    fault: "counters are checked after everything else",
    caughtBy: decides,
    breakStore: rewriteChanges((changes) => [
      ...changes.filter((change) => !isCheck(change)),
      ...changes.filter(isCheck)
    ])
  },
  {
    fault: "a refused check of a counter lets the other changes through",
    caughtBy: conflicts,
    breakStore: replaceCommit(
      (inner) => (partition, changes, idempotency) =>
        Effect.tapError(inner.commit(partition, changes, idempotency), () =>
          Effect.ignore(
            inner.commit(
              partition,
              changes.filter((change) => !isCheck(change))
            )
          )
        )
    )
  },
  {
    fault: "a replay checks its counters again",
    caughtBy: replays,
    breakStore: checkSeparately((value) => value)
  },
  {
    fault: "a counter changes between its check and its change",
    caughtBy: "one of many concurrent commits that check the same value succeeds",
    breakStore: checkSeparately((value) => value, Effect.yieldNow)
  },
  {
    fault: "a counter changes between its check and a record that is written",
    caughtBy: "no add comes between the check of a counter and the record that is written with it",
    breakStore: checkSeparately((value) => value, Effect.yieldNow)
  },
  {
    fault: "a large value is checked with single precision",
    caughtBy: "a check of a large value is exact",
    breakStore: checkSeparately((value, { expect }) => (Math.fround(value) === Math.fround(expect) ? expect : value))
  }
]
