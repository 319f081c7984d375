/**
 * Benchmark of listing: the first and the last page of 100 out of 50,000 records that match two index terms, on every
 * store. A store may remember the total of an unchanged list. So the first page is also measured uncounted: after a write
 * to the partition.
 */
import { Change, Partition, type StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import type { Adapter } from "./adapters.ts"
import { limits } from "./limits.ts"
import { toSpread } from "./measure.ts"

const partition = Partition.forKeyBucket("bench", "listing")
const records = 50_000
const limit = 100
const rounds = 15

export interface ListingRow {
  readonly adapter: string
  readonly page: string
  readonly milliseconds: number
  readonly spread: string
  readonly isWithinLimit: boolean
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
            description: "a consumer of typical size ".repeat(8)
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
  let expect = 0
  for (const { page, offset, isChanged } of [
    { page: "first", offset: 0, isChanged: false },
    { page: "last", offset: records - limit, isChanged: false },
    { page: "uncounted first", offset: 0, isChanged: true }
  ]) {
    const times: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      if (isChanged) {
        const change = Change.Put({ key: "changed", expect, body: "", indexTerms: [], uniqueKeys: [] })
        expect = (yield* store.commit(partition, [change])).versions.get("changed") ?? 0
      }
      const start = performance.now()
      const [result] = yield* store.list(partition, [
        { indexTerms: ["consumer/tag:team=blue", "consumer/tag:tier=gold"], offset, limit }
      ])
      times.push(performance.now() - start)
      if (result?.total !== records || result.records.length !== limit)
        return yield* Effect.die("the store returned a wrong page")
    }
    const { median: milliseconds, low, high } = toSpread(times)
    const spread = `${low.toFixed(1)} to ${high.toFixed(1)}`
    rows.push({ adapter: name, page, milliseconds, spread, isWithinLimit: milliseconds <= limits.listMilliseconds })
  }
  yield* store.clear(partition)
  return rows
})
