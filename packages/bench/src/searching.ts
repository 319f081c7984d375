/**
 * Benchmark of searching a key bucket with 100,000 consumers, on every store: the time, and how often it calls the store.
 */
import type { StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import type { Adapter } from "./adapters.ts"
import { load } from "./keys.ts"
import { limits } from "./limits.ts"
import { toSpread } from "./measure.ts"

const consumers = 100_000
const rounds = 15
const maxStoreCalls = 2

export interface SearchingRow {
  readonly adapter: string
  readonly search: string
  readonly milliseconds: number
  readonly spread: string
  readonly storeCalls: number
  readonly isWithinLimit: boolean
}

/** Counts the calls that a search may make. */
const countCalls = (store: StoreOperations) => {
  let calls = 0
  const counted: StoreOperations = {
    ...store,
    search: (...args) => {
      calls++
      return store.search(...args)
    },
    get: (...args) => {
      calls++
      return store.get(...args)
    },
    list: (...args) => {
      calls++
      return store.list(...args)
    }
  }
  return {
    counted,
    takeCalls: () => {
      const taken = calls
      calls = 0
      return taken
    }
  }
}

const measure = async ({ name: adapter, store }: Adapter): Promise<ReadonlyArray<SearchingRow>> => {
  const { counted, takeCalls } = countCalls(store)
  const { gate, keyBucket, values } = await load(counted, consumers)
  const rows: Array<SearchingRow> = []
  for (const [search, text, found] of [
    ["a part of all names", "consumer", 100],
    ["the beginning of all names", "consum", 100],
    ["the beginning of a tenth", "consumer-9", 100],
    ["a name", "consumer-99999", 1],
    ["a value of a tag", "team-3", 100],
    ["the end of a key", values[0]?.slice(-4) ?? "", 1],
    ["nothing", "zz", 0]
  ] as const) {
    const times: Array<number> = []
    takeCalls()
    for (let round = 0; round < rounds; round++) {
      const start = performance.now()
      const { data } = await keyBucket.consumers.list({ search: text })
      times.push(performance.now() - start)
      if (data.length < found) throw new Error(`${adapter} found ${data.length} consumers by ${text}`)
    }
    const storeCalls = takeCalls() / rounds
    const { median: milliseconds, low, high } = toSpread(times)
    const spread = `${low.toFixed(1)} to ${high.toFixed(1)}`
    const isWithinLimit = milliseconds <= limits.searchMilliseconds && storeCalls <= maxStoreCalls
    rows.push({ adapter, search, milliseconds, spread, storeCalls, isWithinLimit })
  }
  await gate.close()
  return rows
}

export const measureSearching = (adapter: Adapter) => Effect.promise(() => measure(adapter))
