/**
 * Registers the store contract as vitest tests.
 *
 * @example
 * ```ts
 * import { storeContract } from "@tollgate/store-testkit"
 *
 * storeContract("my store", MyStore.layer)
 * storeContract("my store on a server", MyServerStore.layer, { clock: "server" })
 * ```
 */
import { layer as withLayer } from "@effect/vitest"
import type { Store, StoreContents } from "@tollgate/store"
import type { Layer } from "effect"
import { describe } from "vitest"
import type { ContractCase, ContractGroup } from "./contract/ContractCase.ts"
import type { ClockSource } from "./contract/ContractTime.ts"
import { callerRateLimits } from "./contract/callerRateLimits.ts"
import { clear } from "./contract/clear.ts"
import { commits } from "./contract/commits.ts"
import { concurrency } from "./contract/concurrency.ts"
import { contents } from "./contract/contents.ts"
import { counterChecks } from "./contract/counterChecks.ts"
import { counterRemoval } from "./contract/counterRemoval.ts"
import { counters } from "./contract/counters.ts"
import { idempotency } from "./contract/idempotency.ts"
import { listing } from "./contract/listing.ts"
import { misuse } from "./contract/misuse.ts"
import { makeModelCases } from "./contract/model.ts"
import { parents } from "./contract/parents.ts"
import { makeCallerCases, makeServerCases } from "./contract/rateLimitCases.ts"
import { rateLimits } from "./contract/rateLimits.ts"
import { records } from "./contract/records.ts"
import { scale } from "./contract/scale.ts"
import { searching } from "./contract/searching.ts"
import { serverRateLimits } from "./contract/serverRateLimits.ts"
import { uniqueKeys } from "./contract/uniqueKeys.ts"

/** The options of `storeContract` and `makeContractCases`. */
export interface ContractOptions {
  /**
   * Whose clock the store uses for rate limits: Effect's `Clock` in the caller (the default), or that of a server. It
   * decides how the cases control time, not whether they run.
   */
  readonly clock?: ClockSource | undefined
}

/** All cases of the contract. A store cannot opt out of any. */
export const makeContractCases = ({ clock = "caller" }: ContractOptions = {}): ReadonlyArray<ContractCase> => [
  ...records,
  ...uniqueKeys,
  ...listing,
  ...searching,
  ...commits,
  ...parents,
  ...counters,
  ...counterRemoval,
  ...counterChecks,
  ...(clock === "caller"
    ? makeCallerCases({ ...rateLimits, ...callerRateLimits })
    : makeServerCases({ ...rateLimits, ...serverRateLimits })),
  ...idempotency,
  ...concurrency,
  ...clear,
  ...misuse,
  ...contents,
  ...scale,
  ...makeModelCases(clock)
]

const caseTimeoutMs = 120_000

/** Registers all cases with vitest. They share one store. */
export const storeContract = <E>(
  name: string,
  layer: Layer.Layer<Store | StoreContents, E>,
  options?: ContractOptions
): void => {
  const byGroup = Map.groupBy(makeContractCases(options), ({ group }): ContractGroup => group)
  // Stores depend on real time, not on the TestClock.
  withLayer(layer, { excludeTestServices: true, timeout: "2 minutes" })(`${name} passes the store contract`, (it) => {
    for (const [group, cases] of byGroup) {
      describe(group, () => {
        for (const { name, run } of cases) it.effect(name, () => run, caseTimeoutMs)
      })
    }
  })
}
