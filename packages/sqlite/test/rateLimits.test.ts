/**
 * What the store contract cannot see of rate limits in a SQLite file: locks of other processes, flushes, and clocks of
 * other processes.
 */
import { statSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { SqliteStore } from "@tollgate/sqlite"
import { Change, Partition, StoreConflict } from "@tollgate/store"
import { ManualClock } from "@tollgate/store-testkit"
import { temporaryFolder } from "@tollgate/testing"
import Sqlite from "better-sqlite3"
import { Clock, Effect, Fiber } from "effect"

const partition = Partition.forKeyBucket("acme", "production")
const take = (counter: string, burst = 1) => Change.Take({ counter, cost: 1, interval: 1_000_000, burst, ttl: 60_000 })

const open = (path: string) =>
  Effect.acquireRelease(
    Effect.promise(() => SqliteStore.open(path)),
    (store) => Effect.promise(() => store.close())
  )

const temporaryPath = Effect.map(temporaryFolder, (folder) => join(folder, "store.db"))

it.live("judges a take at the time when it is applied, not when it was submitted", () =>
  Effect.gen(function* () {
    const path = yield* temporaryPath
    const [store, clock] = [yield* open(path), new ManualClock()]
    const commit = Effect.provideService(store.commit(partition, [take("l")]), Clock.Clock, clock)
    yield* commit
    assert.instanceOf(yield* Effect.flip(commit), StoreConflict)
    const other = new Sqlite(path)
    other.exec("BEGIN IMMEDIATE")
    const waiting = yield* Effect.forkChild(commit, { startImmediately: true })
    clock.advance(1_000_000)
    other.exec("ROLLBACK")
    other.close()
    assert.strictEqual((yield* Fiber.join(waiting)).totals.get("l"), 1_000_000)
  })
)

it.live("writes nothing for a commit that only checks, or that a limit refuses", () =>
  Effect.gen(function* () {
    const path = yield* temporaryPath
    const store = yield* open(path)
    const clock = new ManualClock()
    const commit = (changes: ReadonlyArray<Change>, name = partition) =>
      Effect.provideService(store.commit(name, changes), Clock.Clock, clock)
    yield* commit([take("l")])
    const size = statSync(`${path}-wal`).size
    const unused = Partition.forKeyBucket("acme", "unused")
    yield* commit([Change.Check({ key: "none", expect: 0 }), Change.AtMost({ term: "t", atMost: 0 })], unused)
    yield* commit([Change.Check({ key: "none", expect: 0 })])
    yield* Effect.flip(commit([Change.Add({ counter: "n", by: 1, ttl: 1_000 }), take("l")]))
    assert.strictEqual(statSync(`${path}-wal`).size, size)
    yield* commit([take("k")])
    assert.isAbove(statSync(`${path}-wal`).size, size)
  })
)

it.live("catches up with a process whose clock was ahead", () =>
  Effect.gen(function* () {
    const path = yield* temporaryPath
    const [ahead, behind] = [yield* open(path), yield* open(path)]
    const [early, late] = [new ManualClock(), new ManualClock()]
    late.setWall(3_600_000_000)
    const takeAt = (store: typeof ahead, clock: ManualClock) =>
      Effect.provideService(store.commit(partition, [take("l", 2)]), Clock.Clock, clock)
    for (const total of [1_000_000, 2_000_000]) {
      assert.strictEqual((yield* takeAt(ahead, late)).totals.get("l"), total)
    }
    // An hour behind, the limit would seem to be blocked for an hour.
    const refused = yield* Effect.flip(takeAt(behind, early))
    assert.strictEqual(refused instanceof StoreConflict ? refused.retryAfter : undefined, 1_000_000)
    early.advance(1_000_000)
    assert.strictEqual((yield* takeAt(behind, early)).totals.get("l"), 2_000_000)
    assert.instanceOf(yield* Effect.flip(takeAt(ahead, late)), StoreConflict)
  })
)

it.live("keeps a limit that was taken while the clock was set back when the clock is corrected", () =>
  Effect.gen(function* () {
    const [store, clock] = [yield* open(yield* temporaryPath), new ManualClock()]
    const commit = (changes: ReadonlyArray<Change>) =>
      Effect.provideService(store.commit(partition, changes), Clock.Clock, clock)
    yield* commit([take("other")])
    clock.setWall(-3_600_000_000)
    yield* commit([take("l")])
    clock.setWall(3_600_000_000)
    yield* commit([take("another")])
    assert.instanceOf(yield* Effect.flip(commit([take("l")])), StoreConflict)
  })
)

it.live("neither opens nor expires a limit when the wall clock is set forward", () =>
  Effect.gen(function* () {
    const store = yield* open(yield* temporaryPath)
    const clock = new ManualClock()
    const attempt = Effect.provideService(store.commit(partition, [take("l")]), Clock.Clock, clock)
    yield* attempt
    for (const hours of [2, -1, 48]) {
      clock.setWall(hours * 3_600_000_000)
      const refused = yield* Effect.flip(attempt)
      assert.strictEqual(refused instanceof StoreConflict ? refused.retryAfter : undefined, 1_000_000)
    }
    clock.advance(1_000_000)
    assert.strictEqual((yield* attempt).totals.get("l"), 1_000_000)
  })
)
