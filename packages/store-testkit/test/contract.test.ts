import { readFileSync } from "node:fs"
import { Store } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { makeContractCases, ReferenceModel } from "@tollgate/store-testkit"
import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import { brokenStores } from "./brokenStores.ts"

const contractCases = makeContractCases()

describe("the reference model passes the contract", () => {
  // The model copies everything on every commit, so it is too slow for the large cases.
  const cases = contractCases.filter(({ group: concern }) => concern !== "scale" && concern !== "model")
  it.each(cases.map(({ group: concern, name, run }) => [concern, name, run] as const))(
    "%s: %s",
    (_concern, _name, run) => Effect.runPromise(Effect.provideService(run, Store, ReferenceModel.make()))
  )
})

describe("the contract catches", () => {
  it.each(brokenStores.map((broken) => [broken.fault, broken] as const))("%s", async (_, { caughtBy, breakStore }) => {
    const contractCase = contractCases.find(({ name }) => name === caughtBy)
    if (contractCase === undefined) throw new Error(`There is no case named "${caughtBy}"`)
    const onWorkingStore = await Effect.runPromiseExit(Effect.provide(contractCase.run, MemoryStore.layer))
    const onBrokenStore = await Effect.runPromiseExit(
      Effect.provideServiceEffect(
        contractCase.run,
        Store,
        Effect.sync(() => breakStore(MemoryStore.open()))
      )
    )
    expect(Exit.isSuccess(onWorkingStore), "the case passes on a working store").toBe(true)
    expect(Exit.isFailure(onBrokenStore), `"${caughtBy}" fails on the broken store`).toBe(true)
  })
})

describe("the contract", () => {
  it("has no duplicate case names", () => {
    const names = contractCases.map(({ group: concern, name }) => `${concern}: ${name}`)
    expect(new Set(names).size).toBe(names.length)
  })

  it("has the number of cases that docs/stores.md states", () => {
    const page = readFileSync(new URL("../../../docs/stores.md", import.meta.url), "utf8")
    expect(page).toContain(`${contractCases.length} named promises`)
    expect(page).toContain(`${brokenStores.length} stores, each wrong in one way`)
  })

  it("finds faults with the model that no single case checks", async () => {
    const model = contractCases.filter(({ group: concern }) => concern === "model")
    // Drops the first index term, but only in a commit that also adds to a counter.
    const dropFirstTerm = (inner: Store["Service"]): Store["Service"] => ({
      ...inner,
      commit: (partition, changes, idempotency) =>
        inner.commit(
          partition,
          changes.some(({ _tag }) => _tag === "Add")
            ? changes.map((change) =>
                change._tag === "Put" ? { ...change, indexTerms: change.indexTerms.slice(1) } : change
              )
            : changes,
          idempotency
        )
    })
    for (const { run } of model) {
      const exit = await Effect.runPromiseExit(Effect.provideService(run, Store, dropFirstTerm(MemoryStore.open())))
      expect(String(exit)).toContain("Replay: ")
    }
  })
})
