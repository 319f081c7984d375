/**
 * Stores that violate the contract of rate limits, `Raise`, negative `Add` and descending lists.
 */
import { Change, type Partition, StoreConflict, type StoreOperations, type StoreQuery } from "@tollgate/store"
import { Clock, Effect, Option } from "effect"
import type { BrokenStore } from "./brokenStores.ts"

type BreakStore = BrokenStore["breakStore"]
type Take = Extract<Change, { readonly _tag: "Take" }>

const isTake = (change: Change): change is Take => change._tag === "Take"

const rewriteTakes =
  (rewrite: (take: Take) => Partial<Take>): BreakStore =>
  (inner) => ({
    ...inner,
    commit: (partition, changes, idempotency) =>
      inner.commit(
        partition,
        changes.map((change) => (isTake(change) ? { ...change, ...rewrite(change) } : change)),
        idempotency
      )
  })

/** Takes each limit of the commit on its own, if it has enough. */
const takeSeparately = (inner: StoreOperations, partition: Partition.Partition, changes: ReadonlyArray<Change>) =>
  Effect.forEach(changes.filter(isTake), (take) => Effect.ignore(inner.commit(partition, [take])))

const changeRetryAfter =
  (change: (retryAfter: number) => number): BreakStore =>
  (inner) => ({
    ...inner,
    commit: (partition, changes, idempotency) =>
      Effect.mapError(inner.commit(partition, changes, idempotency), (error) => {
        if (error._tag !== "StoreConflict" || error.reason !== "rate-limited") return error
        return new StoreConflict({ ...error, subject: error.subject, retryAfter: change(error.retryAfter) })
      })
  })

/** Gives the store another clock. */
const changeClock = (change: (clock: Clock.Clock) => Clock.Clock): BreakStore => {
  const clocks = new WeakMap<Clock.Clock, Clock.Clock>()
  return (inner) => ({
    ...inner,
    commit: (partition, changes, idempotency) =>
      Effect.clockWith((clock) => {
        const changed = clocks.get(clock) ?? change(clock)
        clocks.set(clock, changed)
        return Effect.provideService(inner.commit(partition, changes, idempotency), Clock.Clock, changed)
      })
  })
}

/** Rounds the time down to a unit in nanoseconds. */
const roundTime = (unit: bigint): BreakStore =>
  changeClock((clock) => ({
    ...clock,
    sleep: (duration) => clock.sleep(duration),
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
    monotonicTimeNanosUnsafe: () => (clock.monotonicTimeNanosUnsafe() / unit) * unit
  }))

/** The arithmetic of a limit: the new state, or none if the limit refuses. */
type Judge = (take: Take, fullAt: number, now: number) => Option.Option<number>

const judge: Judge = ({ cost, interval, burst }, fullAt, now) => {
  const nextFullAt = Math.max(fullAt, now) + cost * interval
  return nextFullAt - now > burst * interval ? Option.none() : Option.some(nextFullAt)
}

/** Keeps limits itself, in a map. It supports only commits of one `Take`. */
const keepLimits =
  (judge: Judge, pause: Effect.Effect<void> = Effect.void): BreakStore =>
  (inner) => {
    const limits = new Map<string, number>()
    return {
      ...inner,
      commit: (partition, changes, idempotency) => {
        const [take] = changes
        if (take === undefined || !isTake(take)) return inner.commit(partition, changes, idempotency)
        return Effect.clockWith(
          Effect.fnUntraced(function* (clock) {
            const now = Number(clock.monotonicTimeNanosUnsafe() / 1_000n) + 1_795_000_000_000_000
            const name = `${partition} ${take.counter}`
            const fullAt = limits.get(name) ?? 0
            yield* pause
            const next = judge(take, fullAt, now)
            if (Option.isNone(next)) {
              const retryAfter = Math.max(fullAt, now) - now + (take.cost - take.burst) * take.interval
              return yield* new StoreConflict({ reason: "rate-limited", subject: take.counter, retryAfter })
            }
            limits.set(name, next.value)
            return { versions: new Map(), totals: new Map([[take.counter, next.value - now]]) }
          })
        )
      }
    }
  }

/** Stores the state of limits with fewer digits. */
const storeLimits = (store: (fullAt: number) => number): BreakStore =>
  keepLimits((take, fullAt, now) => Option.map(judge(take, fullAt, now), store))

/** Keeps limits in the same way without a fault, which shows that the cases detect the faults and not the map. */
export const workingLimits: BreakStore = keepLimits(judge)

const changeDescending =
  (select: (oldestFirst: ReadonlyArray<string>, query: StoreQuery) => ReadonlyArray<string>): BreakStore =>
  (inner) => ({
    ...inner,
    list: (partition, queries) =>
      Effect.forEach(queries, (query) =>
        Effect.gen(function* () {
          if (!query.descending) return yield* Effect.map(inner.list(partition, [query]), ([page]) => page)
          const all = { ...query, offset: 0, limit: 1_000_000, descending: false }
          const [page] = yield* inner.list(partition, [all])
          const keys = select(
            (page?.records ?? []).map(({ key }) => key),
            query
          )
          return {
            records: (yield* inner.get(partition, keys)).flatMap((record) => record ?? []),
            total: page?.total ?? 0
          }
        })
      ).pipe(Effect.map((pages) => pages.flatMap((page) => page ?? [])))
  })

type Commit = ReturnType<StoreOperations["commit"]>
type CounterChange = Extract<Change, { readonly _tag: "Add" | "Raise" }>

/** Changes the commits whose last change is an `Add` or a `Raise`, given the counter's value before. */
const aroundCounter =
  (run: (change: CounterChange, value: number, commit: Commit, lower: (by: number) => Commit) => Commit): BreakStore =>
  (inner) => ({
    ...inner,
    commit: (partition, changes, idempotency) => {
      const commit = inner.commit(partition, changes, idempotency)
      const change = changes.at(-1)
      if (change?._tag !== "Add" && change?._tag !== "Raise") return commit
      const { counter } = change
      return Effect.flatMap(inner.counters(partition, [counter]), ([value = 0]) =>
        run(change, value, commit, (by) => inner.commit(partition, [Change.Add({ counter, by, ttl: 600_000 })]))
      )
    }
  })

/** Changes commits that end with a negative `Add`. */
const aroundNegativeAdd = (
  run: (change: Extract<Change, { readonly _tag: "Add" }>, value: number, commit: Commit) => Commit
): BreakStore =>
  aroundCounter((change, value, commit) =>
    change._tag === "Add" && change.by < 0 ? run(change, value, commit) : commit
  )

const isRemoval = (change: CounterChange, value: number): boolean =>
  change._tag === "Add" && change.by < 0 && value + change.by <= 0

/** Gives every `Add` the longest time to live that any had. */
const keepLongestTtl: BreakStore = (inner) => {
  let longest = 0
  return {
    ...inner,
    commit: (partition, changes, idempotency) => {
      for (const change of changes) if (change._tag === "Add") longest = Math.max(longest, change.ttl)
      return inner.commit(
        partition,
        changes.map((change) => (change._tag === "Add" ? { ...change, ttl: longest } : change)),
        idempotency
      )
    }
  }
}

const refuse = (counter: string): Commit =>
  Effect.fail(new StoreConflict({ reason: "counter-exceeded", subject: counter }))

const burstAtOnce = "a rate limit allows its burst at once, and then reports when to retry"
const exactWait = "waiting as long as reported is enough, and a microsecond less is not"
const noDrift = "a limit does not drift, however often it is taken"
const descending = "a descending query lists the newest records first, and counts its offset from the newest"

export const brokenCounters: ReadonlyArray<BrokenStore> = [
  {
    fault: "a limit forgets its burst",
    caughtBy: burstAtOnce,
    breakStore: rewriteTakes(({ cost }) => ({ burst: cost }))
  },
  {
    fault: "a limit never refuses",
    caughtBy: burstAtOnce,
    breakStore: rewriteTakes(({ interval }) => ({ burst: Math.floor((366 * 86_400_000_000) / interval) }))
  },
  {
    fault: "every take costs 1",
    caughtBy: "a take needs as much as it costs",
    breakStore: rewriteTakes(() => ({ cost: 1 }))
  },
  {
    fault: "a limit starts again at each take",
    caughtBy: burstAtOnce,
    breakStore: keepLimits((take, _, now) => judge(take, now, now))
  },
  {
    fault: "a limit saves up while it is idle",
    caughtBy: "a limit that was idle allows its burst and no more",
    breakStore: keepLimits((take, fullAt, now) =>
      Option.map(judge(take, fullAt, now), (next) => (fullAt === 0 ? next : fullAt + take.cost * take.interval))
    )
  },
  { fault: "a limit counts in milliseconds", caughtBy: noDrift, breakStore: roundTime(1_000_000n) },
  { fault: "a limit counts in seconds", caughtBy: exactWait, breakStore: roundTime(1_000_000_000n) },
  {
    fault: "a limit drifts by a microsecond at each take",
    caughtBy: noDrift,
    breakStore: storeLimits((fullAt) => fullAt + 1)
  },
  {
    fault: "a limit is stored with 14 digits",
    caughtBy: "a limit is exact after a year, and in a year's time",
    breakStore: storeLimits((fullAt) => Number(fullAt.toPrecision(14)))
  },
  {
    fault: "a limit is stored with single precision",
    caughtBy: "an interval may be 20 microseconds or 31 days",
    breakStore: storeLimits(Math.fround)
  },
  {
    fault: "concurrent takes exceed a limit",
    caughtBy: "concurrent takes use a limit completely and never exceed it",
    breakStore: keepLimits(judge, Effect.yieldNow)
  },
  {
    fault: "a limit is taken although another change is refused",
    caughtBy: "nothing is taken when another change is refused",
    breakStore: (inner) => ({
      ...inner,
      commit: (partition, changes, idempotency) =>
        Effect.tapError(inner.commit(partition, changes, idempotency), () => takeSeparately(inner, partition, changes))
    })
  },
  {
    fault: "a limit is taken although another limit refuses",
    caughtBy: "a commit takes from all of its limits or from none",
    breakStore: (inner) => ({
      ...inner,
      commit: (partition, changes, idempotency) =>
        Effect.tapError(inner.commit(partition, changes, idempotency), () => takeSeparately(inner, partition, changes))
    })
  },
  {
    fault: "a refused take lets the other changes through",
    caughtBy: "a refused take applies no other change",
    breakStore: (inner) => ({
      ...inner,
      commit: (partition, changes, idempotency) =>
        Effect.tapError(inner.commit(partition, changes, idempotency), () =>
          Effect.ignore(
            inner.commit(
              partition,
              changes.filter((change) => !isTake(change))
            )
          )
        )
    })
  },
  {
    fault: "limits are judged after everything else",
    caughtBy: "the first change that conflicts decides whether a limit or a counter refuses",
    breakStore: (inner) => ({
      ...inner,
      commit: (partition, changes, idempotency) =>
        inner.commit(
          partition,
          [...changes.filter((change) => !isTake(change)), ...changes.filter(isTake)],
          idempotency
        )
    })
  },
  {
    fault: "a replay takes again",
    caughtBy: "a replay takes nothing and returns the first totals",
    breakStore: (inner) => ({
      ...inner,
      commit: (partition, changes, idempotency) =>
        Effect.tap(inner.commit(partition, changes, idempotency), ({ replayed }) =>
          replayed === undefined ? Effect.void : takeSeparately(inner, partition, changes)
        )
    })
  },
  {
    fault: "a refusal reports when the limit is full, not when to retry",
    caughtBy: "a take needs as much as it costs",
    breakStore: changeRetryAfter((retryAfter) => retryAfter + 4 * 3_600_000_000)
  },
  {
    fault: "a refusal reports milliseconds",
    caughtBy: burstAtOnce,
    breakStore: changeRetryAfter((retryAfter) => Math.ceil(retryAfter / 1_000))
  },
  {
    fault: "a refusal rounds the time to wait",
    caughtBy: exactWait,
    breakStore: changeRetryAfter((retryAfter) => Math.ceil(retryAfter / 1_000) * 1_000)
  },
  {
    fault: "a limit follows a clock that is set back",
    caughtBy: "a clock that is set back neither blocks a limit nor opens it",
    breakStore: changeClock((clock) => ({
      ...clock,
      sleep: (duration) => clock.sleep(duration),
      currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
      monotonicTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe()
    }))
  },
  {
    fault: "partitions share their limits",
    caughtBy: "limits with different names, or in different partitions, are independent",
    breakStore: (inner) => ({
      ...inner,
      commit: (partition, changes, idempotency) =>
        inner.commit(
          changes.some(isTake) ? (partition.slice(0, 20) as Partition.Partition) : partition,
          changes,
          idempotency
        )
    })
  },
  {
    fault: "raise lowers a counter",
    caughtBy: "raise sets a counter unless it is higher",
    breakStore: aroundCounter((change, value, commit, lower) =>
      change._tag === "Raise" && change.to < value ? Effect.andThen(commit, lower(change.to - value)) : commit
    )
  },
  {
    fault: "raise adds",
    caughtBy: "raise sets a counter unless it is higher",
    breakStore: (inner) => ({
      ...inner,
      commit: (partition, changes, idempotency) =>
        inner.commit(
          partition,
          changes.map((change) =>
            change._tag === "Raise" ? Change.Add({ ...change, by: Math.max(1, change.to) }) : change
          ),
          idempotency
        )
    })
  },
  {
    fault: "a negative add goes below 0",
    caughtBy: "a negative add lowers a counter to 0 at most",
    breakStore: aroundNegativeAdd(({ counter, by }, value, commit) =>
      Effect.map(commit, (result) => ({ ...result, totals: new Map([...result.totals, [counter, value + by]]) }))
    )
  },
  {
    fault: "a negative add below 0 is refused",
    caughtBy: "a negative add to a missing counter leaves it at 0",
    breakStore: aroundNegativeAdd(({ counter, by }, value, commit) => (value + by < 0 ? refuse(counter) : commit))
  },
  {
    fault: "a negative add is refused by its maximum",
    caughtBy: "a negative add is never refused, also above its maximum",
    breakStore: aroundNegativeAdd(({ counter, by, max = Number.MAX_SAFE_INTEGER }, value, commit) =>
      value + by > max ? refuse(counter) : commit
    )
  },
  {
    fault: "a counter that returns to 0 is kept",
    caughtBy: "a counter that a negative add brings to 0 is removed",
    breakStore: (inner) => ({
      ...inner,
      commit: (partition, changes, idempotency) =>
        Effect.tap(inner.commit(partition, changes, idempotency), ({ totals }) =>
          Effect.forEach(totals, ([counter, total]) =>
            total > 0 ? Effect.void : inner.commit(partition, [Change.Raise({ counter, to: 0, ttl: 600_000 })])
          )
        )
    })
  },
  {
    fault: "a counter is removed after its commit, with what was added meanwhile",
    caughtBy: "the last of several concurrent commits decides whether a counter is removed",
    breakStore: aroundCounter((change, value, commit, lower) =>
      isRemoval(change, value)
        ? Effect.tap(commit, Effect.andThen(Effect.yieldNow, lower(-Number.MAX_SAFE_INTEGER)))
        : commit
    )
  },
  {
    fault: "raise removes a counter that it leaves at 0",
    caughtBy: "raise keeps a counter that it leaves at 0",
    breakStore: aroundCounter((change, value, commit, lower) =>
      change._tag === "Raise" && change.to + value === 0 ? Effect.tap(commit, lower(-1)) : commit
    )
  },
  {
    fault: "a new counter has the expiry of the removed one",
    caughtBy: "a counter that was removed starts again with its own time to live",
    breakStore: keepLongestTtl
  },
  {
    fault: "a descending query is ascending",
    caughtBy: descending,
    breakStore: changeDescending((keys, { offset, limit }) => keys.slice(offset, offset + limit))
  },
  {
    fault: "a descending query only reverses the page",
    caughtBy: descending,
    breakStore: changeDescending((keys, { offset, limit }) => keys.slice(offset, offset + limit).reverse())
  },
  {
    fault: "a descending query counts its offset from the oldest",
    caughtBy: descending,
    breakStore: changeDescending((keys, { offset, limit }) => keys.slice(offset).reverse().slice(0, limit))
  },
  {
    fault: "a descending query with several terms uses only the first",
    caughtBy: descending,
    breakStore: (inner) => ({
      ...inner,
      list: (partition, queries) =>
        inner.list(
          partition,
          queries.map((query) => (query.descending ? { ...query, indexTerms: query.indexTerms.slice(0, 1) } : query))
        )
    })
  }
]
