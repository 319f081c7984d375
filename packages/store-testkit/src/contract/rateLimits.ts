/**
 * Cases of rate limits that hold whatever clock the store uses. The cases for one kind of clock are in
 * `callerRateLimits.ts` and `serverRateLimits.ts`.
 */
import { deepEqual, equal, ok } from "node:assert/strict"
import { Change, type Partition, StoreConflict } from "@tollgate/store"
import { Effect, Result } from "effect"
import { add, getVersions, makeIdempotency, put, raise } from "./ContractCase.ts"
import { hour, type RateLimitProgram, take } from "./rateLimitCases.ts"

const times = (count: number) => Array.from({ length: count }, (_, index) => index)
const day = 24 * hour

export const rateLimits: Record<string, RateLimitProgram> = {
  *"a rate limit allows its burst at once, and then reports when to retry"({ takeTotal, getRetryAfter, time }) {
    for (const taken of [1, 2, 3]) time.equal(yield* takeTotal(take("l")), taken * hour)
    time.equal(yield* getRetryAfter([take("l")]), hour)
    time.equal(yield* getRetryAfter([take("l")]), hour)
  },

  *"a take needs as much as it costs"({ takeTotal, getRetryAfter, time }) {
    const cost = (cost: number) => take("l", { cost, burst: 5 })
    time.equal(yield* takeTotal(cost(3)), 3 * hour)
    time.equal(yield* getRetryAfter([cost(3)]), hour)
    time.equal(yield* takeTotal(cost(2)), 5 * hour)
    time.equal(yield* getRetryAfter([cost(5)]), 5 * hour)
    time.equal(yield* getRetryAfter([cost(1)]), hour)
  },

  *"a limit that was idle allows its burst and no more"({ takeTotal, time }) {
    const limit = { interval: 1_000, burst: 4 }
    yield* takeTotal(take("l", limit))
    yield* time.advance(50_000)
    equal(yield* takeTotal(take("l", { ...limit, cost: 4 })), 4_000)
  },

  *"an interval may be 20 microseconds or 31 days"({ takeTotal, getRetryAfter, time }) {
    const fast = { interval: 20, burst: 1_000_000 }
    equal(yield* takeTotal(take("fast", fast)), 20)
    time.equal(yield* takeTotal(take("fast", { ...fast, cost: 999_999 })), 20_000_000)
    time.equal(yield* getRetryAfter([take("fast", { ...fast, cost: 1_000_000 })]), 20_000_000)
    const slow = { interval: 31 * day, burst: 11 }
    for (const taken of times(11)) time.equal(yield* takeTotal(take("slow", slow)), (taken + 1) * 31 * day)
    time.equal(yield* getRetryAfter([take("slow", slow)]), 31 * day)
  },

  *"a commit takes from all of its limits or from none"({ commit, takeTotal, getConflict, time }) {
    const [a, b] = [take("a"), take("b", { burst: 1 })]
    const { totals } = yield* commit([a, b])
    deepEqual([...totals.keys()], ["a", "b"])
    deepEqual(yield* getConflict([a, b]), { reason: "rate-limited", name: "b" })
    deepEqual(yield* getConflict([b, a]), { reason: "rate-limited", name: "b" })
    time.equal(yield* takeTotal(a), 2 * hour)
  },

  *"nothing is taken when another change is refused"({ commit, takeTotal, getConflict, time }) {
    yield* commit([put("a", { uniqueKeys: ["u"], indexTerms: ["t"] }), add("n", 5)])
    for (const [change, reason] of [
      [add("n", 1, 5), "counter-exceeded"],
      [Change.Check({ key: "a", expect: 0 }), "stale"],
      [Change.AtMost({ term: "t", atMost: 0 }), "too-many-records"],
      [put("b", { uniqueKeys: ["u"] }), "unique-key"]
    ] as const) {
      equal((yield* getConflict([take("l"), change])).reason, reason)
      equal((yield* getConflict([change, take("l")])).reason, reason)
      equal((yield* getConflict([take("l"), change], makeIdempotency("id"))).reason, reason)
    }
    equal(yield* takeTotal(take("l")), hour)
    time.equal(yield* takeTotal(take("l")), 2 * hour)
  },

  *"a refused take applies no other change"({ commit, get, store, partition, getConflict, list }) {
    yield* commit([take("l", { burst: 1 })])
    const refused = take("l", { burst: 1 })
    const others = [put("a", { indexTerms: ["t"] }), add("n", 1), raise("m", 5)]
    for (const idempotency of [undefined, makeIdempotency("id")]) {
      for (const changes of [
        [...others, refused],
        [refused, ...others],
        [add("n", 1), refused, raise("m", 5)]
      ]) {
        deepEqual(yield* getConflict(changes, idempotency), { reason: "rate-limited", name: "l" })
      }
    }
    equal(yield* get("a"), undefined)
    deepEqual(yield* list(["t"]), { keys: [], total: 0 })
    deepEqual(yield* store.counters(partition, ["n", "m"]), [0, 0])
  },

  *"the first change that conflicts decides whether a limit or a counter refuses"({ commit, getConflict }) {
    yield* commit([put("a"), take("l", { burst: 1 })])
    const limited = take("l", { burst: 1 })
    const exceeded = add("n", 2, 1)
    const stale = Change.Check({ key: "a", expect: 0 })
    deepEqual(yield* getConflict([limited, exceeded]), { reason: "rate-limited", name: "l" })
    deepEqual(yield* getConflict([exceeded, limited]), { reason: "counter-exceeded", name: "n" })
    deepEqual(yield* getConflict([stale, limited]), { reason: "stale", name: "a" })
    deepEqual(yield* getConflict([limited, stale]), { reason: "rate-limited", name: "l" })
    deepEqual(yield* getConflict([raise("m", 1), take("k"), exceeded]), { reason: "counter-exceeded", name: "n" })
  },

  *"a replay takes nothing and returns the first totals"({ commit, takeTotal, getRetryAfter, time }) {
    const changes = [take("l", { cost: 2, burst: 10 }), add("n", 1), put("a")]
    const first = yield* commit(changes, makeIdempotency("id"))
    time.equal(first.totals.get("l"), 2 * hour)
    yield* time.advance(2_000)
    for (const _ of times(3)) {
      const { versions, totals } = yield* commit(changes, makeIdempotency("id"))
      deepEqual({ versions, totals }, first)
    }
    time.equal(yield* takeTotal(take("l", { burst: 10 })), 3 * hour - 2_000)
    // Also when the limit has nothing left.
    time.equal(yield* takeTotal(take("l", { cost: 7, burst: 10 })), 10 * hour - 2_000)
    deepEqual((yield* commit(changes, makeIdempotency("id"))).totals, first.totals)
    time.equal(yield* getRetryAfter([take("l", { burst: 10 })], makeIdempotency("other")), hour - 2_000)
  },

  *"limits with different names, or in different partitions, are independent"(fixture) {
    const { store, takeTotal, getRetryAfter, time } = fixture
    for (const _ of times(3)) yield* takeTotal(take("l"))
    time.equal(yield* getRetryAfter([take("l")]), hour)
    equal(yield* takeTotal(take("L")), hour)
    equal(yield* takeTotal(take("l ")), hour)
    const other = `${fixture.partition}x` as Partition.Partition
    equal((yield* store.commit(other, [take("l")])).totals.get("l"), hour)
    yield* store.clear(other)
    equal((yield* store.commit(other, [take("l")])).totals.get("l"), hour)
    yield* store.clear(other)
    time.equal(yield* getRetryAfter([take("l")]), hour)
  },

  *"concurrent takes use a limit completely and never exceed it"({ commit, time }) {
    const outcomes = yield* Effect.forEach(times(200), () => Effect.result(commit([take("l", { burst: 50 })])), {
      concurrency: "unbounded"
    })
    const refusals = outcomes.filter(Result.isFailure).map(({ failure }) => failure)
    const totals = outcomes.filter(Result.isSuccess).map(({ success }) => success.totals.get("l") ?? 0)
    equal(totals.length, 50)
    for (const [index, total] of totals.sort((left, right) => left - right).entries()) {
      time.equal(total, (index + 1) * hour)
    }
    for (const error of refusals) {
      ok(error instanceof StoreConflict)
      equal(error.reason, "rate-limited")
      time.equal(error.retryAfter, hour)
    }
  },

  *"concurrent commits with checks, limits and counters succeed or conflict independently"(fixture) {
    const { commit, store, partition } = fixture
    const [version = 0] = getVersions(yield* commit([put("a")]))
    const outcomes = yield* Effect.forEach(
      times(300),
      (index) => {
        const isStale = index % 10 === 9
        const changes = [
          Change.Check({ key: "a", expect: isStale ? version + 1 : version }),
          ...(index % 2 === 0 ? [add("n", 1, 40)] : []),
          take("l", { burst: 100 }),
          take(`l${index % 3}`, { burst: 1_000 }),
          raise("highest", index)
        ]
        return Effect.match(commit(changes), {
          onFailure: (error) => (error instanceof StoreConflict ? error.reason : error),
          onSuccess: () => index
        })
      },
      { concurrency: "unbounded" }
    )
    const applied = outcomes.filter((outcome) => typeof outcome === "number")
    equal(outcomes.filter((outcome) => outcome === "stale").length, 30)
    equal(applied.length, 100)
    const applies = (isIncluded: (index: number) => boolean) => applied.filter(isIncluded).length
    deepEqual(yield* store.counters(partition, ["n", "highest"]), [
      applies((index) => index % 2 === 0),
      Math.max(...applied)
    ])
    for (const remainder of [0, 1, 2]) {
      const { totals } = yield* commit([take(`l${remainder}`, { burst: 1_000 })])
      fixture.time.equal(totals.get(`l${remainder}`), (applies((index) => index % 3 === remainder) + 1) * hour)
    }
  }
}
