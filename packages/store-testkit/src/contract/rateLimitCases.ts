/**
 * Makes the cases of rate limits for the kind of clock that a store uses. Every store has to pass them for one kind.
 */
import { Change, type IdempotencyRecord, StoreConflict } from "@tollgate/store"
import { Clock, Effect } from "effect"
import { type ContractCase, makeFixture, type StoreFixture } from "./ContractCase.ts"
import { type ContractTime, ManualClock, makeManualTime, makeServerTime } from "./ContractTime.ts"

/** In microseconds. A case of so slow a limit does not depend on how fast the store is. */
export const hour = 3_600_000_000

type Take = Extract<Change, { readonly _tag: "Take" }>

/** A `Take` of 1 from a limit with a burst of 3 and an interval of an hour, unless `fields` says otherwise. */
export const take = (counter: string, fields: Partial<Omit<Take, "_tag" | "counter">> = {}): Take => {
  const { interval = hour, burst = 3 } = fields
  const ttl = Math.ceil((burst * interval) / 1_000) + 600_000
  return Change.Take({ counter, cost: 1, interval, burst, ttl, ...fields })
}

export interface RateLimitFixture extends StoreFixture {
  readonly time: ContractTime
  /** Takes and returns the microseconds until the limit is full again. */
  readonly takeTotal: (change: Take) => Effect.Effect<number | undefined, unknown>
  /** Commits and returns the microseconds after which to retry. Fails unless a limit refuses. */
  readonly getRetryAfter: (
    changes: ReadonlyArray<Change>,
    idempotency?: IdempotencyRecord
  ) => Effect.Effect<number, unknown>
}

type Program<Fixture> = (fixture: Fixture) => Generator<Effect.Effect<unknown, unknown>, void, never>
export type RateLimitProgram = Program<RateLimitFixture>
export type ManualRateLimitProgram = Program<RateLimitFixture & { readonly clock: ManualClock }>

const addTime = (fixture: StoreFixture, time: ContractTime): RateLimitFixture => ({
  ...fixture,
  time,
  takeTotal: (change) => Effect.map(fixture.commit([change]), ({ totals }) => totals.get(change.counter)),
  getRetryAfter: (changes, idempotency) =>
    Effect.flip(fixture.commit(changes, idempotency)).pipe(
      Effect.flatMap((error) =>
        error instanceof StoreConflict && error.reason === "rate-limited"
          ? Effect.succeed(error.retryAfter)
          : Effect.die(new Error(`The commit was not refused by a limit, but with: ${error.message}`))
      )
    )
})

const makeCases = <Fixture>(
  programs: Record<string, Program<Fixture>>,
  provide: (run: (fixture: Fixture) => Effect.Effect<void, unknown>) => ContractCase["run"]
): ReadonlyArray<ContractCase> =>
  Object.entries(programs).map(([name, run]) => ({
    group: "rate limits",
    name,
    run: provide((fixture) => Effect.gen(() => run(fixture)))
  }))

/** Cases that run on a manual clock. */
export const makeCallerCases = (programs: Record<string, ManualRateLimitProgram>): ReadonlyArray<ContractCase> =>
  makeCases(programs, (run) =>
    Effect.suspend(() => {
      const clock = new ManualClock()
      return Effect.flatMap(makeFixture, (fixture) => run({ ...addTime(fixture, makeManualTime(clock)), clock })).pipe(
        Effect.provideService(Clock.Clock, clock)
      )
    })
  )

/** Cases that run in real time. */
export const makeServerCases = (programs: Record<string, RateLimitProgram>): ReadonlyArray<ContractCase> =>
  makeCases(programs, (run) => Effect.flatMap(makeFixture, (fixture) => run(addTime(fixture, makeServerTime()))))
