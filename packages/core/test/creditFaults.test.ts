/**
 * A process that uses credit dies at any of its store calls, before or after the call was applied, and another one goes on
 * with the same idempotency keys: everything is counted, charged and given back once. Or another one grants credit then.
 */
import { assert, describe, it } from "@effect/vitest"
import { Customers, Grants, Tollgate, UsageHistory } from "@tollgate/core/effect"
import { Store, type StoreOperations } from "@tollgate/store"
import { type Fault, makeFaultyStore } from "@tollgate/store-testkit"
import { Context, DateTime, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { secret, stores } from "./stores.ts"
import { setUp, startOn } from "./usageServices.ts"

const start = "2027-03-14T09:30:00Z"

/** What a process can do to the credit of alice. */
const startProcess = (store: StoreOperations, bucketId: string) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      Layer.fresh(Tollgate.layer({ secret, background: false })).pipe(Layer.provide(Layer.succeed(Store, store)))
    )
    const [customers, grants] = [Context.get(context, Customers), Context.get(context, Grants)]
    const params = { bucketId, customerKey: "alice" }
    const withKey = (idempotencyKey: string) => ({ params, headers: { idempotencyKey } })
    return {
      consume: (tokens: number, key: string) => customers.consume({ ...withKey(key), payload: { meters: { tokens } } }),
      reserve: (tokens: number, key: string) =>
        customers.reserve({ ...withKey(key), payload: { meters: { tokens }, expiresIn: 3_600 } }),
      settle: (reservationId: string, tokens: number, key: string) =>
        customers.settle({
          params: { ...params, reservationId },
          headers: { idempotencyKey: key },
          payload: { meters: { tokens } }
        }),
      grant: (payload: Parameters<Grants["Service"]["create"]>[0]["payload"]) => grants.create({ params, payload }),
      voidGrant: (grantId: string) => grants.void({ params: { ...params, grantId } }),
      read: Effect.gen(function* () {
        const { data } = yield* grants.list({ params, query: { limit: 100, offset: 0 } })
        const { meters } = yield* customers.get({ params })
        return {
          grants: data.map(({ externalId, used, remaining, state }) => ({ externalId, used, remaining, state })),
          remaining: meters["tokens"]?.remaining,
          used: meters["tokens"]?.allowance.used
        }
      })
    }
  })
type Process = Effect.Success<ReturnType<typeof startProcess>>

/** A read whose reply is lost leaves behind what a read that failed does. */
const isRead = (operation: string): boolean => operation !== "commit"

/** Uses credit from before it expires until the next period. Returns what is left behind. */
const run = Effect.fnUntraced(function* (call: number, fault: Fault) {
  const store = yield* Store
  const { bucketId, subscribe } = yield* setUp({ tokens: 5 })
  const began = yield* DateTime.now
  yield* subscribe({ quotaResetAnchor: began })
  const faulty = makeFaultyStore(store, fault === "lose-reply" ? isRead : undefined)
  const other = yield* startProcess(store, bucketId)
  let process = yield* startProcess(faulty.store, bucketId)
  faulty.injectAt(call, fault)
  const attempt = <A, E>(step: (process: Process) => Effect.Effect<A, E>) =>
    Effect.catch(step(process), () => {
      process = other
      return step(other)
    })

  yield* attempt(({ grant }) =>
    grant({ meter: "tokens", amount: 3, externalId: `${bucketId}-a`, expiresOn: DateTime.add(began, { hours: 1 }) })
  )
  const { id } = yield* attempt(({ grant }) =>
    grant({ meter: "tokens", amount: 4, externalId: `${bucketId}-b`, priority: 200 })
  )
  yield* attempt(({ consume }) => consume(7, "seven"))
  const reserved = yield* attempt(({ reserve }) => reserve(3, "reserved"))
  yield* TestClock.adjust("50 minutes")
  yield* attempt(({ consume }) => consume(1, "one"))
  yield* TestClock.adjust("9 minutes")
  // The first grant expires between the two.
  yield* attempt(({ settle }) => settle(reserved.value.id, 1, "settled"))
  yield* TestClock.adjust("2 minutes")
  yield* attempt(({ consume }) => consume(2, "two"))
  yield* attempt(({ voidGrant }) => voidGrant(id))
  const before = yield* other.read
  yield* TestClock.adjust("40 days")
  yield* attempt(({ consume }) => consume(5, "next period"))
  const isOver = faulty.calls() < call
  faulty.injectAt(0, "fail")
  const history = yield* (yield* UsageHistory).totals({
    params: { bucketId },
    query: { from: began, to: DateTime.add(began, { days: 1 }) }
  })
  const withoutBucket = <A extends { readonly grants: ReadonlyArray<{ readonly externalId?: string | undefined }> }>(
    state: A
  ) => ({ ...state, grants: state.grants.map((grant) => ({ ...grant, externalId: grant.externalId?.at(-1) })) })
  return {
    isOver,
    left: {
      before: withoutBucket(before),
      after: withoutBucket(yield* other.read),
      used: history.data.reduce((sum, { meters }) => sum + (meters["tokens"] ?? 0), 0)
    }
  }
})

describe.each(stores)("credit, on %s", (name, store) => {
  const startAt = startOn(store)
  /** In memory, each commit and every third call. Elsewhere every twelfth: each takes a second on a busy machine. */
  const strides = name === "memory" ? { fail: 3, "lose-reply": 1 } : { fail: 12, "lose-reply": 12 }

  it.effect.each([["fail"], ["lose-reply"]] as const)(
    "is charged and given back once, whichever store call of a process is its last (%s)",
    ([fault]) =>
      Effect.gen(function* () {
        const { left: expected } = yield* run(0, fault)
        assert.deepStrictEqual(expected, {
          before: {
            grants: [
              { externalId: "a", used: 3, remaining: 0, state: "depleted" },
              { externalId: "b", used: 3, remaining: 1, state: "voided" }
            ],
            remaining: 0,
            used: 5
          },
          after: {
            grants: [
              { externalId: "a", used: 3, remaining: 0, state: "depleted" },
              { externalId: "b", used: 3, remaining: 1, state: "voided" }
            ],
            remaining: 0,
            used: 5
          },
          used: 11
        })
        for (let call = 1, isOver = false; !isOver; call += strides[fault]) {
          const result = yield* Effect.scoped(run(call, fault))
          assert.deepStrictEqual(result.left, expected, `call ${call}`)
          isOver = result.isOver
        }
      }).pipe(startAt(start, { background: false }))
  )

  it.effect("is granted by another process at any store call of a count, which then counts in the new segment", () =>
    Effect.gen(function* () {
      const store = yield* Store
      for (let call = 1, isOver = false; !isOver; call++) {
        const { bucketId, subscribe } = yield* setUp({ tokens: 5 })
        yield* subscribe()
        const faulty = makeFaultyStore(store)
        const other = yield* startProcess(store, bucketId)
        const process = yield* startProcess(faulty.store, bucketId)
        const grant = Effect.andThen(TestClock.adjust("1 second"), other.grant({ meter: "tokens", amount: 3 }))
        // A retry has another clock.
        faulty.injectAt(call, {
          interleave: Effect.orDie(Effect.provideContext(grant, yield* Effect.context<never>()))
        })
        yield* process.consume(2, "two")
        isOver = faulty.calls() < call
        if (isOver) break
        yield* process.reserve(6, "six")
        assert.deepStrictEqual(
          yield* other.read,
          {
            grants: [{ externalId: undefined, used: 3, remaining: 0, state: "depleted" }],
            remaining: 0,
            used: 5
          },
          `call ${call}`
        )
      }
    }).pipe(Effect.scoped, startAt(start, { background: false }))
  )
})
