/**
 * Pages of several index terms, each with a total that is counted anew and then remembered.
 */
import { assert, it } from "@effect/vitest"
import { SqliteStore } from "@tollgate/sqlite"
import { Change, Partition } from "@tollgate/store"
import { Effect } from "effect"

const partition = Partition.forKeyBucket("acme", "production")
const put = (key: string, indexTerms: ReadonlyArray<string>) =>
  Change.Put({ key, expect: 0, body: "", indexTerms, uniqueKeys: [] })

const classes: Record<string, (index: number) => boolean> = {
  all: () => true,
  most: (index) => index % 10 !== 0,
  half: (index) => index % 2 === 0,
  early: (index) => index < 180,
  late: (index) => index >= 150,
  few: (index) => index % 50 === 0
}
const hasTerm = (term: string, index: number) => classes[term]?.(index) === true
const names = Object.keys(classes)
const pairs = names.flatMap((left) => names.filter((right) => right !== left).map((right) => [left, right]))

it.live("every page is correct, whether its total is counted or remembered", () =>
  Effect.gen(function* () {
    const store = yield* Effect.acquireRelease(
      Effect.promise(() => SqliteStore.open(":memory:")),
      (store) => Effect.promise(() => store.close())
    )
    const all = Array.from({ length: 300 }, (_, index) => `r${index}`)
    yield* store.commit(
      partition,
      all.map((key, index) =>
        put(
          key,
          names.filter((term) => hasTerm(term, index))
        )
      )
    )
    let writes = 0
    for (const indexTerms of [...pairs, ["all", "most", "late"], ["few", "half", "all"]]) {
      const oldestFirst = all.filter((_, index) => indexTerms.every((term) => hasTerm(term, index)))
      const total = oldestFirst.length
      for (const descending of [false, true]) {
        const expected = descending ? oldestFirst.toReversed() : oldestFirst
        for (const offset of [0, 1, 5, 40, 140, Math.max(0, total - 4), total, 299, 300]) {
          for (const limit of [0, 7, 300]) {
            yield* store.commit(partition, [put(`write-${writes++}`, [])])
            const query = { indexTerms, offset, limit, descending }
            for (const state of ["counted", "remembered"]) {
              const [page] = yield* store.list(partition, [query])
              const actual = { keys: page?.records.map(({ key }) => key), total: page?.total }
              const message = `${JSON.stringify(query)}, ${state}`
              assert.deepStrictEqual(actual, { keys: expected.slice(offset, offset + limit), total }, message)
            }
          }
        }
      }
    }
  })
)
