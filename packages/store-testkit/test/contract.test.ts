import { readFileSync } from "node:fs"
import { Store } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { contractCases, ReferenceModel } from "@tollgate/store-testkit"
import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import { brokenStores } from "./brokenStores.ts"

describe("the reference model keeps the contract", () => {
  // It copies everything for every commit, so it is not asked for speed.
  const cases = contractCases.filter(({ concern }) => concern !== "scale" && concern !== "model")
  it.each(cases.map(({ concern, name, run }) => [concern, name, run] as const))("%s: %s", (_concern, _name, run) =>
    Effect.runPromise(Effect.provideService(run, Store, ReferenceModel.make()))
  )
})

describe("the contract catches", () => {
  it.each(brokenStores.map((broken) => [broken.fault, broken] as const))("%s", async (_, { caughtBy, breaking }) => {
    const promise = contractCases.find(({ name }) => name === caughtBy)
    if (promise === undefined) throw new Error(`There is no case named "${caughtBy}"`)
    const onSound = await Effect.runPromiseExit(Effect.provide(promise.run, MemoryStore.layer))
    const onBroken = await Effect.runPromiseExit(
      Effect.provideServiceEffect(
        promise.run,
        Store,
        Effect.sync(() => breaking(MemoryStore.open()))
      )
    )
    expect(Exit.isSuccess(onSound), "the case passes on a sound store").toBe(true)
    expect(Exit.isFailure(onBroken), `"${caughtBy}" fails on the broken one`).toBe(true)
  })
})

describe("the contract", () => {
  it("states every promise once", () => {
    const names = contractCases.map(({ concern, name }) => `${concern}: ${name}`)
    expect(new Set(names).size).toBe(names.length)
  })

  it("is described in docs/stores.md by its real size", () => {
    const page = readFileSync(new URL("../../../docs/stores.md", import.meta.url), "utf8")
    expect(page).toContain(`${contractCases.length} named promises`)
    expect(page).toContain(`${brokenStores.length} stores, each wrong in one way`)
  })

  it("has the model find faults that no single case is written for", async () => {
    const model = contractCases.filter(({ concern }) => concern === "model")
    // Drops the first term, but only in a commit that also raises a counter.
    const forgetful = (sound: Store["Service"]): Store["Service"] => ({
      ...sound,
      commit: (partition, changes, once) =>
        sound.commit(
          partition,
          changes.some(({ _tag }) => _tag === "Add")
            ? changes.map((change) =>
                change._tag === "Put" ? { ...change, indexTerms: change.indexTerms.slice(1) } : change
              )
            : changes,
          once
        )
    })
    for (const { run } of model) {
      const exit = await Effect.runPromiseExit(Effect.provideService(run, Store, forgetful(MemoryStore.open())))
      expect(String(exit)).toContain("Replay: ")
    }
  })
})
