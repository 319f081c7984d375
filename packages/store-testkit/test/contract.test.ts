import { readFileSync } from "node:fs"
import { MemoryStore } from "@tollgate/memory"
import { Store, type StoreWithContents } from "@tollgate/store"
import { type ContractCase, makeContractCases, ReferenceModel } from "@tollgate/store-testkit"
import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import { brokenContents } from "./brokenContents.ts"
import { brokenCounterChecks } from "./brokenCounterChecks.ts"
import { brokenCounters, workingLimits } from "./brokenCounters.ts"
import { brokenStores } from "./brokenStores.ts"

const contractCases = makeContractCases()
const serverCases = makeContractCases({ clock: "server" }).filter(({ group }) => group === "rate limits")

type BreakStore = (store: StoreWithContents) => StoreWithContents

const allBrokenStores: ReadonlyArray<{
  readonly fault: string
  readonly caughtBy: string
  readonly breakStore: BreakStore
}> = [
  ...[...brokenStores, ...brokenCounters, ...brokenCounterChecks].map(({ breakStore, ...broken }) => ({
    ...broken,
    breakStore: (store: StoreWithContents) => ({ ...breakStore(store), contents: store.contents })
  })),
  ...brokenContents.map(({ breakContents, ...broken }) => ({
    ...broken,
    breakStore: (store: StoreWithContents) => ({ ...store, contents: breakContents(store.contents, store) })
  }))
]

/** Runs a case on a new store. */
const run = ({ run }: ContractCase, makeStore: () => StoreWithContents) =>
  Effect.runPromiseExit(Effect.provide(run, Store.layer(Effect.sync(makeStore))))

describe("the reference model passes the contract", () => {
  // The model copies everything on every commit, so it is too slow for the large cases.
  const cases = contractCases.filter(({ group: concern }) => concern !== "scale" && concern !== "model")
  it.each(cases.map((contractCase) => [contractCase.group, contractCase.name, contractCase] as const))(
    "%s: %s",
    async (_group, _name, contractCase) => {
      expect(String(await run(contractCase, ReferenceModel.make))).toContain("Success")
    }
  )
})

describe("the contract catches", () => {
  it.each(allBrokenStores.map((broken) => [broken.fault, broken] as const))(
    "%s",
    async (_, { caughtBy, breakStore }) => {
      // A memory store on the real clock stands in for a store on the clock of a server.
      const found = [contractCases, serverCases].flatMap((cases) => cases.filter(({ name }) => name === caughtBy))
      expect(found.length, `There is a case named "${caughtBy}"`).toBeGreaterThan(0)
      for (const contractCase of found) {
        const onWorking = await run(contractCase, MemoryStore.open)
        expect(Exit.isSuccess(onWorking), "the case passes on a working store").toBe(true)
        const onBroken = await run(contractCase, () => breakStore(MemoryStore.open()))
        expect(Exit.isFailure(onBroken), `"${caughtBy}" fails on the broken store`).toBe(true)
      }
    }
  )

  it("no fault in limits that are kept in another way, but work", async () => {
    const makeStore = () => {
      const store = MemoryStore.open()
      return { ...workingLimits(store), contents: store.contents }
    }
    const names = new Set(brokenCounters.map(({ caughtBy }) => caughtBy))
    const ownLimits = ["drift", "exact", "burst", "20 microseconds", "concurrent takes"]
    const relevant = contractCases.filter(
      ({ name, group }) => group === "rate limits" && names.has(name) && ownLimits.some((word) => name.includes(word))
    )
    expect(relevant.length).toBeGreaterThan(4)
    for (const contractCase of relevant) {
      expect(String(await run(contractCase, makeStore)), contractCase.name).toContain("Success")
    }
  })
})

describe("the contract", () => {
  it("has no duplicate case names", () => {
    for (const cases of [contractCases, serverCases]) {
      const names = cases.map(({ group: concern, name }) => `${concern}: ${name}`)
      expect(new Set(names).size).toBe(names.length)
    }
  })

  it.each(serverCases.map(({ name, run }) => [name, run] as const))("can be kept in real time: %s", (_, run) =>
    Effect.runPromise(Effect.provide(run, MemoryStore.layer))
  )

  it("has the number of cases that docs/guides/writing-a-store.md states", () => {
    const page = readFileSync(new URL("../../../docs/guides/writing-a-store.md", import.meta.url), "utf8")
    expect(page).toContain(`${contractCases.length} test cases`)
    expect(page).toContain(`${allBrokenStores.length} stores, each wrong in one way`)
  })

  it("finds faults with the model that no single case checks", async () => {
    const model = contractCases.filter(({ group: concern }) => concern === "model")
    // Drops the first index term, but only in a commit that also adds to a counter.
    const dropFirstTerm = (inner: StoreWithContents): StoreWithContents => ({
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
    // One run of the random sequences finds the fault in most cases, not in all.
    const maxRuns = 20
    for (const contractCase of model) {
      let exit = "Success"
      for (let count = 0; count < maxRuns && exit.startsWith("Success"); count++) {
        exit = String(await run(contractCase, () => dropFirstTerm(MemoryStore.open())))
      }
      expect(exit).toContain("Replay: ")
    }
  })
})
