/**
 * What one turn of the event loop does for a store that many use at once.
 */
import { setImmediate as nextTick } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { SqliteStore } from "@tollgate/sqlite"
import { Change, Partition } from "@tollgate/store"
import { Effect } from "effect"

const partition = Partition.forKeyBucket("acme", "production")
const put = (key: string, indexTerms: ReadonlyArray<string>) =>
  Change.Put({ key, expect: 0, body: "", indexTerms, uniqueKeys: [] })

/** The turn of the event loop in which each effect ends. */
const watchTurns = (effects: ReadonlyArray<Effect.Effect<unknown, unknown>>) =>
  Effect.promise(async () => {
    let turn = 0
    let isDone = false
    const counting = (async () => {
      for (; !isDone; turn++) await nextTick()
    })()
    const ends = await Promise.all(effects.map((effect) => Effect.runPromise(Effect.map(effect, () => turn))))
    isDone = true
    await counting
    return { ends, turns: turn }
  })

const openStore = Effect.acquireRelease(
  Effect.promise(() => SqliteStore.open(":memory:")),
  (store) => Effect.promise(() => store.close())
)

it.live("large commits that arrive together are not one transaction", () =>
  Effect.gen(function* () {
    const store = yield* openStore
    const commits = Array.from({ length: 6 }, (_, commit) =>
      store.commit(
        partition,
        Array.from({ length: 3_000 }, (_, index) => put(`r${commit}-${index}`, ["t"]))
      )
    )
    const { ends } = yield* watchTurns(commits)
    assert.strictEqual(new Set(ends).size, 6)
  })
)

it.live("small commits that arrive together are one transaction", () =>
  Effect.gen(function* () {
    const store = yield* openStore
    yield* store.commit(partition, [put("first", ["t"])])
    const { ends } = yield* watchTurns(
      Array.from({ length: 20 }, (_, index) => store.commit(partition, [put(`r${index}`, ["t"])]))
    )
    assert.isBelow(new Set(ends).size, 10)
  })
)

it.live("a list by many terms lets the event loop turn between its pieces, also far from the beginning", () =>
  Effect.gen(function* () {
    const store = yield* openStore
    const terms = Array.from({ length: 50 }, (_, index) => `t${index}`)
    for (let first = 0; first < 4_000; first += 500) {
      yield* store.commit(
        partition,
        Array.from({ length: 500 }, (_, index) => put(`r${first + index}`, terms))
      )
    }
    const list = Effect.map(store.list(partition, [{ indexTerms: terms, offset: 3_990, limit: 100 }]), ([page]) => {
      assert.strictEqual(page?.total, 4_000)
      assert.strictEqual(page?.records.length, 10)
    })
    // Ten pieces of 400 records, of which two may share a turn.
    const { turns } = yield* watchTurns([list])
    assert.isAtLeast(turns, 5)
  })
)
