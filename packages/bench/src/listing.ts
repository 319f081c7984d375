/**
 * A page of 100 out of 50,000 records that carry two terms: the first page and the last, on every adapter.
 */
import { Change, Partition, type StoreOperations } from "@tollgate/core"
import { Effect } from "effect"
import type { Adapter } from "./adapters.ts"
import { toSpread } from "./measure.ts"

const partition = Partition.keys("bench", "listing")
const records = 50_000
const limit = 100
const rounds = 15
/** Milliseconds that a page may take. */
const bound = 25

export interface ListingRow {
  readonly adapter: string
  readonly page: string
  readonly milliseconds: number
  readonly spread: string
  readonly withinBound: boolean
}

const load = Effect.fnUntraced(function* (store: StoreOperations) {
  for (let first = 0; first < records; first += 1_000) {
    yield* store.commit(
      partition,
      Array.from({ length: 1_000 }, (_, index) =>
        Change.Put({
          key: `consumer/${first + index}`,
          expect: 0,
          body: JSON.stringify({
            name: `consumer-${first + index}`,
            description: "a consumer of usual size ".repeat(8)
          }),
          indexTerms: ["consumer", "consumer/tag:team=blue", "consumer/tag:tier=gold"],
          uniqueKeys: []
        })
      )
    )
  }
})

export const measureListing = Effect.fnUntraced(function* ({ name, store }: Adapter) {
  yield* load(store)
  const rows: Array<ListingRow> = []
  for (const [page, offset] of [
    ["first", 0],
    ["last", records - limit]
  ] as const) {
    const times: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      const start = performance.now()
      const [found] = yield* store.list(partition, [
        { indexTerms: ["consumer/tag:team=blue", "consumer/tag:tier=gold"], offset, limit }
      ])
      times.push(performance.now() - start)
      if (found?.total !== records || found.records.length !== limit) return yield* Effect.die("a wrong page")
    }
    const { median: milliseconds, low, high } = toSpread(times)
    const spread = `${low.toFixed(1)} to ${high.toFixed(1)}`
    rows.push({ adapter: name, page, milliseconds, spread, withinBound: milliseconds <= bound })
  }
  yield* store.clear(partition)
  return rows
})
