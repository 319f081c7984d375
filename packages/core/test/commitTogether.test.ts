import { assert, describe, it } from "@effect/vitest"
import { Change, type CommitResult, Partition, Store, type StoreOperations } from "@tollgate/store"
import { Effect, Exit, Latch } from "effect"
import { makeCommitTogether } from "../src/metering/usage/commitTogether.ts"
import { stores } from "./stores.ts"

const ttl = 60_000
const add = (counter: string, by = 1, max?: number): Change =>
  Change.Add({ counter, by, ttl, ...(max === undefined ? {} : { max }) })
const put = (key: string): Change => Change.Put({ key, expect: 0, body: "", indexTerms: [], uniqueKeys: [] })

let count = 0
const freshPartition = () => Partition.forMeteringBucket(`together-${++count}`)

/** Commits all at once, while an earlier commit is on its way. */
const commitAll = (partition: Partition.Partition, commits: ReadonlyArray<ReadonlyArray<Change>>) =>
  Effect.gen(function* () {
    const store = yield* Store
    const [isBusy, sizes] = [yield* Latch.make(), [] as number[]]
    const counting: StoreOperations = {
      ...store,
      commit: (partition, changes) => {
        sizes.push(changes.length)
        const commit = store.commit(partition, changes)
        return sizes.length === 1 ? Effect.andThen(isBusy.await, commit) : commit
      }
    }
    const commit = makeCommitTogether(counting)
    const [, ...exits] = yield* Effect.all(
      [[add("busy")], ...commits]
        .map((changes) => Effect.exit(commit(partition, changes)))
        .concat([Effect.as(isBusy.open, Exit.succeed<CommitResult>({ versions: new Map(), totals: new Map() }))]),
      { concurrency: "unbounded" }
    )
    return { exits: exits.slice(0, -1), sizes: sizes.slice(1) }
  })

describe.each(stores)("commits at once in one partition, on %s", (_, layer) => {
  it.effect("are one commit, and each has its result", () =>
    Effect.gen(function* () {
      const partition = freshPartition()
      const store = yield* Store
      yield* store.commit(partition, [put("plan")])
      const isCurrent = Change.Check({ key: "plan", expect: 1 })
      const names = Array.from({ length: 20 }, (_, index) => `customer-${index}`)
      const commits = names.map((name, index) => [isCurrent, put(name), add(name, index + 1), add("day", 2)])
      const { exits, sizes } = yield* commitAll(partition, commits)
      assert.deepStrictEqual(sizes, [2 + 2 * names.length])
      for (const [index, exit] of exits.entries()) {
        const { totals, versions } = yield* exit
        assert.strictEqual(totals.get(names[index] ?? ""), index + 1)
        assert.isAbove(versions.get(names[index] ?? "") ?? 0, 1)
      }
      assert.deepStrictEqual(yield* store.counters(partition, ["day", "customer-19", "busy"]), [40, 20, 1])
    }).pipe(Effect.provide(layer))
  )

  it.effect("do not notice that another one conflicts", () =>
    Effect.gen(function* () {
      const partition = freshPartition()
      const store = yield* Store
      yield* store.commit(partition, [add("marker", 1, 1)])
      const { exits } = yield* commitAll(partition, [
        [add("a"), add("day")],
        [add("b"), add("marker", 1, 1), add("day")],
        [Change.Check({ key: "gone", expect: 7 }), add("c"), add("day")],
        [add("d"), add("day")]
      ])
      const failures = exits.map((exit) => (Exit.isSuccess(exit) ? undefined : Exit.findErrorOption(exit)))
      assert.deepStrictEqual(
        failures.map((error) => error && (error._tag === "Some" ? Reflect.get(error.value, "subject") : error)),
        [undefined, "marker", "gone", undefined]
      )
      assert.deepStrictEqual(yield* store.counters(partition, ["a", "b", "c", "d", "day"]), [1, 0, 0, 1, 2])
    }).pipe(Effect.provide(layer))
  )

  it.effect("are not joined if they write the same record, or a counter that has a maximum", () =>
    Effect.gen(function* () {
      const partition = freshPartition()
      const store = yield* Store
      const { exits } = yield* commitAll(partition, [
        [put("same"), add("a")],
        [put("same"), add("b")],
        [add("once", 1, 1), add("c")],
        [add("once", 1, 1), add("d")],
        [add("large", Number.MAX_SAFE_INTEGER)],
        [add("large", Number.MAX_SAFE_INTEGER)]
      ])
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true, false, true, false])
      assert.deepStrictEqual(yield* store.counters(partition, ["a", "b", "c", "d"]), [1, 0, 1, 0])
    }).pipe(Effect.provide(layer))
  )

  it.effect("are not joined if one checks a counter that it changes", () =>
    Effect.gen(function* () {
      const partition = freshPartition()
      const store = yield* Store
      yield* store.commit(partition, [add("closed", 5)])
      const removed = [Change.CheckCounter({ counter: "closed", expect: 5 }), add("closed", -5), add("a")]
      const { exits } = yield* commitAll(partition, [removed, [add("b")], removed, [add("c")]])
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, true])
      assert.deepStrictEqual(yield* store.counters(partition, ["closed", "a", "b", "c"]), [0, 1, 1, 1])
    }).pipe(Effect.provide(layer))
  )

  it.effect("are several if they have many changes", () =>
    Effect.gen(function* () {
      const partition = freshPartition()
      const commits = Array.from({ length: 30 }, (_, index) =>
        Array.from({ length: 100 }, (_, change) => add(`${index}-${change}`))
      )
      const { exits, sizes } = yield* commitAll(partition, commits)
      assert.isTrue(exits.every(Exit.isSuccess))
      assert.strictEqual(sizes[0], 500)
      assert.strictEqual(
        sizes.reduce((sum, size) => sum + size, 0),
        3_000
      )
    }).pipe(Effect.provide(layer))
  )
})
