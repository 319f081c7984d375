/**
 * Registers the store contract as vitest tests.
 *
 * @example
 * ```ts
 * import { storeContract } from "@tollgate/store-testkit"
 *
 * storeContract("my store", MyStore.layer)
 * ```
 */
import { layer as withLayer } from "@effect/vitest"
import type { Store } from "@tollgate/core/store"
import type { Layer } from "effect"
import { describe } from "vitest"
import type { ContractCase, ContractGroup } from "./contract/ContractCase.ts"
import { clear } from "./contract/clear.ts"
import { commits } from "./contract/commits.ts"
import { concurrency } from "./contract/concurrency.ts"
import { counters } from "./contract/counters.ts"
import { idempotency } from "./contract/idempotency.ts"
import { listing } from "./contract/listing.ts"
import { misuse } from "./contract/misuse.ts"
import { model } from "./contract/model.ts"
import { parents } from "./contract/parents.ts"
import { records } from "./contract/records.ts"
import { scale } from "./contract/scale.ts"
import { uniqueKeys } from "./contract/uniqueKeys.ts"

/** All cases of the contract. A store cannot opt out of any. */
export const contractCases: ReadonlyArray<ContractCase> = [
  ...records,
  ...uniqueKeys,
  ...listing,
  ...commits,
  ...parents,
  ...counters,
  ...idempotency,
  ...concurrency,
  ...clear,
  ...misuse,
  ...scale,
  ...model
]

const caseTimeoutMs = 120_000

/** Registers all cases with vitest. They share one store. */
export const storeContract = <E>(name: string, layer: Layer.Layer<Store, E>): void => {
  const byGroup = Map.groupBy(contractCases, ({ group }): ContractGroup => group)
  // Stores depend on real time, not on the TestClock.
  withLayer(layer, { excludeTestServices: true, timeout: "2 minutes" })(`${name} passes the store contract`, (it) => {
    for (const [group, cases] of byGroup) {
      describe(group, () => {
        for (const { name, run } of cases) it.effect(name, () => run, caseTimeoutMs)
      })
    }
  })
}
