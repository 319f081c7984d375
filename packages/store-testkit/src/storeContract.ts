/**
 * The contract as tests: one line in an adapter's test file.
 *
 * @example
 * ```ts
 * import { storeContract } from "@tollgate/store-testkit"
 *
 * storeContract("my store", MyStore.layer)
 * ```
 */
import { layer as withLayer } from "@effect/vitest"
import type { Store } from "@tollgate/core"
import type { Layer } from "effect"
import { describe } from "vitest"
import type { Concern, ContractCase } from "./ContractCase.ts"
import { clear } from "./contract/clear.ts"
import { commits } from "./contract/commits.ts"
import { concurrency } from "./contract/concurrency.ts"
import { counters } from "./contract/counters.ts"
import { listing } from "./contract/listing.ts"
import { misuse } from "./contract/misuse.ts"
import { model } from "./contract/model.ts"
import { remembering } from "./contract/once.ts"
import { parents } from "./contract/parents.ts"
import { records } from "./contract/records.ts"
import { scale } from "./contract/scale.ts"
import { claims } from "./contract/uniqueKeys.ts"

/** Every promise of the contract. There is no way to opt out of one. */
export const contractCases: ReadonlyArray<ContractCase> = [
  ...records,
  ...claims,
  ...listing,
  ...commits,
  ...parents,
  ...counters,
  ...remembering,
  ...concurrency,
  ...clear,
  ...misuse,
  ...scale,
  ...model
]

const caseTimeout = 120_000

/** Registers the whole contract with vitest, on one store that is built once for all cases. */
export const storeContract = <E>(name: string, layer: Layer.Layer<Store, E>): void => {
  const byConcern = Map.groupBy(contractCases, ({ concern }): Concern => concern)
  // Stores wait for machines, not for a test's clock.
  withLayer(layer, { excludeTestServices: true, timeout: "2 minutes" })(`${name} keeps the store contract`, (it) => {
    for (const [concern, cases] of byConcern) {
      describe(concern, () => {
        for (const { name, run } of cases) it.effect(name, () => run, caseTimeout)
      })
    }
  })
}
