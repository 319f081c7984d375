/**
 * Background work, on clocks that the test moves: whatever processes, their connections and their clocks do, each event is
 * moved once and all due work is done. A failure prints its seed; set `JOBS_SEED` to repeat it.
 */
import { type Change, Partition } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { Effect, Latch, References } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect, it } from "vitest"
import { type Faults, type JobProcess, makeWorld, toUnavailable, type World } from "./jobProcesses.ts"
import { listLog, listOutbox } from "./outboxEvents.ts"
import { makeRandom, readSeed } from "./random.ts"

const second = 1_000
const minute = 60 * second
const places = [
  { accountName: "acme", partition: Partition.forKeyBucket("acme", "a") },
  { accountName: "acme", partition: Partition.forKeyBucket("acme", "b") },
  { accountName: "other", partition: Partition.forKeyBucket("other", "a") }
]
const place = { accountName: "acme", partition: Partition.forKeyBucket("acme", "a") }

/** Long enough for everything to be done and forgotten. */
const idleFor = 40 * minute

const runOnTestClock = <A, E>(effect: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(
    effect.pipe(Effect.provide(TestClock.layer()), Effect.provideService(References.MinimumLogLevel, "None"))
  )

const expectEventsMoved = Effect.fnUntraced(function* ({ store, recorded }: World, label: string) {
  const logs = yield* Effect.forEach(["acme", "other"], (accountName) => listLog(store, accountName))
  expect(
    logs.flat().sort((a, b) => a - b),
    label
  ).toEqual(recorded.toSorted((a, b) => a - b))
  for (const { partition } of places) expect(yield* listOutbox(store, partition), label).toEqual([])
})

/** Nothing is left in the directory but the processes that live. */
const expectForgotten = Effect.fnUntraced(function* (world: World, living: ReadonlyArray<JobProcess>, label: string) {
  const { held, due, process } = yield* world.directory
  const ids = living.flatMap((process) => process.getId() ?? [])
  expect({ held, due, process: process.toSorted() }, label).toEqual({
    held: [],
    due: [],
    process: ids.map((id) => `process/${id}`).sort()
  })
})

const expectItemsDone = ({ items }: World, getLatest: (item: { dueOn: number; insertedAt: number }) => number) => {
  for (const [id, item] of items) {
    expect(item.doneAt, `${id} is done`).toBeDefined()
    expect(item.doneAt, `${id} is done in time`).toBeLessThanOrEqual(getLatest(item))
  }
}

describe("background work", () => {
  const maxAheadMs = 5 * minute
  /** How long a process is suspended or disconnected, and a commit is on the way, at most. */
  const maxFaultMs = 2 * minute
  const firstSeed = readSeed("JOBS_SEED")

  it.each(Array.from({ length: 20 }, (_, index) => firstSeed + index))(
    "is all done, whatever processes, connections and clocks do: seed %i",
    (seed) =>
      runOnTestClock(
        Effect.gen(function* () {
          const world = yield* makeWorld(seed)
          const { below, chance, pick } = makeRandom(seed)
          const { openProcess, pass } = world
          const label = `seed ${seed}`
          let isHealed = false
          let count = 0
          const faults: Faults = {
            before: (operation, partition) =>
              Effect.suspend(() => {
                if (isHealed) return Effect.void
                if (chance(0.01)) return Effect.fail(toUnavailable("not-applied"))
                const isSlow = operation === "commit" && chance(partition === "jobs" ? 0.003 : 0.1)
                return isSlow ? Effect.sleep(below(maxFaultMs)) : Effect.void
              }),
            after: () =>
              Effect.suspend(() => (!isHealed && chance(0.02) ? Effect.fail(toUnavailable("unknown")) : Effect.void))
          }
          const open = Effect.suspend(() =>
            Effect.retry(openProcess({ aheadMs: below(2 * maxAheadMs) - maxAheadMs, faults }), { times: 5 })
          )
          const fork = <A, E>(effect: Effect.Effect<A, E>) =>
            Effect.forkDetach(Effect.ignoreCause(effect), { startImmediately: true })
          const living = [yield* open, yield* open, yield* open]
          const replace = Effect.fnUntraced(function* (old: JobProcess) {
            living.splice(living.indexOf(old), 1, yield* open)
          })
          const step = Effect.gen(function* () {
            const process = pick(living)
            const { accountName, partition } = pick(places)
            const action = below(100)
            if (action < 40) yield* fork(process.record(partition, accountName, count++))
            else if (action < 75) {
              const inMs = chance(0.8) ? below(4 * minute) : below(8 * minute)
              yield* fork(process.leave(partition, accountName, `${count++}`, inMs))
            } else if (action < 85) {
              yield* process.suspend
              yield* fork(Effect.andThen(Effect.sleep(below(maxFaultMs)), process.resume))
            } else if (action < 91) {
              yield* process.disconnect
              yield* fork(Effect.andThen(Effect.sleep(below(maxFaultMs)), process.reconnect))
            } else if (action < 96) {
              yield* process.kill
              yield* replace(process)
            } else {
              yield* fork(process.close)
              yield* replace(process)
            }
          })
          for (let index = 0; index < 100; index++) {
            yield* step
            yield* pass(chance(0.9) ? below(5 * second) : below(minute))
          }
          isHealed = true
          yield* pass(2 * maxFaultMs)
          const [survivor, ...others] = living
          for (const process of others) yield* chance(0.5) ? process.kill : fork(process.close)
          yield* pass(idleFor, 10 * second)
          yield* expectEventsMoved(world, label)
          /** By the slowest clock, or if the last run did not see it, when the partition is looked at again. */
          expectItemsDone(
            world,
            ({ dueOn, insertedAt }) => Math.max(dueOn + maxAheadMs, insertedAt + 15 * minute + 2 * maxAheadMs) + minute
          )
          yield* expectForgotten(world, survivor === undefined ? [] : [survivor], label)
        })
      )
  )
})

describe("work of a process that has died", () => {
  const [a, b] = places.map(({ partition }) => partition) as [Partition.Partition, Partition.Partition]

  /** `begin` delays the next commit to a partition by two minutes. */
  const makeSlowCommit = (partition: Partition.Partition) => {
    let isNextSlow = false
    const faults: Faults = {
      before: (operation, name) =>
        Effect.suspend(() => {
          if (!isNextSlow || operation !== "commit" || name !== partition) return Effect.void
          isNextSlow = false
          return Effect.sleep(2 * minute)
        }),
      after: () => Effect.void
    }
    return {
      faults,
      begin: () => {
        isNextSlow = true
      }
    }
  }
  const fork = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.forkDetach(Effect.ignoreCause(effect), { startImmediately: true })

  it("is taken over in 20 seconds", () =>
    runOnTestClock(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const [first, other] = [yield* world.openProcess(), yield* world.openProcess()]
        yield* first.leave(b, "acme", "x", second)
        yield* first.record(a, "acme", 0)
        yield* first.kill
        yield* other.record(b, "acme", 1)
        yield* world.pass(20 * second)
        yield* expectEventsMoved(world, "20 seconds later")
        expectItemsDone(world, ({ dueOn }) => dueOn + 20 * second)
      })
    ))

  it("is taken over in 20 seconds more if the process that has begun to do so dies as well", () =>
    runOnTestClock(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const first = yield* world.openProcess()
        yield* first.record(a, "acme", 0)
        yield* first.kill
        const isMark = (change: Change) => change._tag === "Put" && change.body.includes('"endedBy"')
        const taker: JobProcess = yield* world.openProcess({
          over: {
            ...world.store,
            commit: (partition, changes, idempotency) =>
              Effect.tap(world.store.commit(partition, changes, idempotency), () =>
                changes.some(isMark) ? taker.kill : Effect.void
              )
          }
        })
        const third = yield* world.openProcess()
        yield* world.pass(40 * second)
        expect(third.getId()).toBeDefined()
        yield* expectEventsMoved(world, "40 seconds later")
      })
    ))

  it("is found if its commit arrives after another process, which uses the partition itself, has looked there", () =>
    runOnTestClock(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const { faults, begin } = makeSlowCommit(a)
        const [dying, other] = [yield* world.openProcess({ faults }), yield* world.openProcess()]
        yield* other.record(a, "acme", 0)
        begin()
        yield* fork(dying.record(a, "acme", 1))
        yield* dying.kill
        yield* world.pass(8 * minute)
        expect(world.recorded).toEqual([0, 1])
        yield* expectEventsMoved(world, "8 minutes later")
      })
    ))

  it("is found if its commit arrives after the process that has taken over has closed", () =>
    runOnTestClock(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const { faults, begin } = makeSlowCommit(a)
        const [dying, closing] = [yield* world.openProcess({ faults }), yield* world.openProcess()]
        begin()
        yield* fork(dying.record(a, "acme", 0))
        yield* dying.kill
        yield* world.pass(30 * second)
        yield* fork(closing.close)
        yield* world.openProcess()
        yield* world.pass(8 * minute)
        expect(world.recorded).toEqual([0])
        yield* expectEventsMoved(world, "8 minutes later")
      })
    ))

  it("does not make others forget when work is due that a living process still commits", () =>
    runOnTestClock(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const { faults, begin } = makeSlowCommit(a)
        const [dying, slow] = [yield* world.openProcess(), yield* world.openProcess({ faults })]
        yield* slow.leave(a, "acme", "x", 10 * second)
        yield* world.pass(9 * second)
        begin()
        // It relies on the entry of the first item.
        yield* fork(slow.leave(a, "acme", "y", 5 * second))
        yield* dying.record(a, "acme", 0)
        yield* world.pass(5 * second)
        yield* dying.kill
        yield* world.pass(20 * minute)
        expect(world.items.size).toBe(2)
        expectItemsDone(world, ({ insertedAt }) => insertedAt + 15 * minute + 20 * second)
      })
    ))

  it("is not lost if it used a partition again while it removed the entries of hundreds", () =>
    runOnTestClock(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const partitions = Array.from({ length: 600 }, (_, index) => Partition.forKeyBucket("acme", `${index}`))
        const last = partitions[599] ?? a
        let isDying = false
        const { store, injectAt } = makeFaultyStore(
          world.store,
          (operation, _, changes) => describeCall(operation, changes) !== "commit -held"
        )
        const process: JobProcess = yield* world.openProcess({
          over: store,
          faults: {
            before: (operation, partition) =>
              Effect.suspend(() =>
                isDying && operation === "list" && partition === last
                  ? Effect.andThen(process.kill, Effect.never)
                  : Effect.void
              ),
            after: () => Effect.void
          }
        })
        for (const [number, partition] of partitions.entries()) yield* process.record(partition, "acme", number)
        const interleave = Effect.suspend(() => {
          isDying = true
          return Effect.ignore(process.record(last, "acme", 600))
        })
        injectAt(1, { interleave })
        yield* world.pass(5 * minute + 10 * second)
        expect(world.recorded).toHaveLength(601)
        yield* world.openProcess()
        yield* world.pass(20 * second)
        expect(yield* listOutbox(world.store, last)).toEqual([])
      })
    ))

  it("is not lost if the reply to the removal of an entry was lost before", () =>
    runOnTestClock(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const { store, injectAt } = makeFaultyStore(
          world.store,
          (operation, _, changes) => operation !== "commit" || describeCall(operation, changes) !== "commit -held"
        )
        const process = yield* world.openProcess({ over: store })
        yield* process.record(a, "acme", 0)
        injectAt(1, "lose-reply")
        yield* world.pass(5 * minute + 10 * second)
        expect((yield* world.directory).held.filter((key) => key.endsWith(a))).toEqual([])
        yield* process.record(a, "acme", 1)
        yield* process.kill
        yield* world.openProcess()
        yield* world.pass(20 * second)
        yield* expectEventsMoved(world, "20 seconds later")
      })
    ))
})

/** An operation, and the kinds of records that it reads or changes: `-` for those that it removes. */
const describeCall = (operation: string, items: unknown): string => {
  const names = (items as ReadonlyArray<unknown>).map((item) => {
    const { _tag, key, indexTerms } = (typeof item === "string" ? { key: item } : item) as {
      readonly _tag?: string
      readonly key?: string
      readonly indexTerms?: ReadonlyArray<string>
    }
    const name = (key ?? indexTerms?.[0] ?? "").split("/")[0]
    return `${_tag === "Delete" ? "-" : ""}${name}`
  })
  return `${operation} ${[...new Set(names)].join(" ")}`
}

describe("when a call on the directory of work fails", () => {
  const [a, b] = places.map(({ partition }) => partition) as [Partition.Partition, Partition.Partition]
  const maxRepeats = 2

  /** Calls of all kinds: entries, heartbeats, claims, a take-over and removals. Then the process dies. */
  const runAll = Effect.fnUntraced(function* (name: string, call: number, fault: "fail" | "lose-reply") {
    const calls = new Map<string, number>()
    const world = yield* makeWorld()
    const { store, injectAt } = makeFaultyStore(world.store, (operation, partition, items) => {
      if (partition !== Partition.jobsDirectory) return true
      const described = describeCall(operation, items)
      calls.set(described, (calls.get(described) ?? 0) + 1)
      return described !== name
    })
    const label = `${fault}, call ${call}: ${name}`
    const dead = yield* world.openProcess()
    yield* dead.leave(b, "acme", "x", 5 * second)
    yield* dead.record(b, "acme", 0)
    yield* dead.kill
    injectAt(call, fault)
    const process = yield* world.openProcess({ over: store })
    yield* Effect.ignore(process.record(a, "acme", 1))
    yield* Effect.ignore(process.leave(a, "acme", "y", 3 * second))
    yield* world.pass(5 * second)
    yield* Effect.ignore(process.record(a, "acme", 2))
    yield* Effect.ignore(process.leave(b, "acme", "z", 5 * second))
    yield* world.pass(25 * second)
    yield* expectEventsMoved(world, label)
    expectItemsDone(world, ({ dueOn }) => dueOn + 20 * second)
    yield* world.pass(13 * minute, 10 * second)
    expect((yield* world.directory).held, label).toEqual([])
    yield* Effect.ignore(process.record(a, "acme", 3))
    yield* process.kill
    yield* world.openProcess()
    yield* world.pass(25 * second)
    yield* expectEventsMoved(world, label)
    return calls
  })

  it.each(["fail", "lose-reply"] as const)("nothing gets stuck: %s", (fault) =>
    runOnTestClock(
      Effect.gen(function* () {
        const calls = yield* runAll("", 0, fault)
        const kinds = [
          "commit held",
          "commit -held",
          "commit -held held",
          "commit due",
          "commit process",
          "commit -process"
        ]
        expect([...calls.keys()]).toEqual(expect.arrayContaining(kinds))
        for (const [name, count] of calls) {
          for (let call = 1; call <= Math.min(count, maxRepeats); call++) {
            yield* runAll(name, call, fault)
          }
        }
      })
    )
  )
})

describe("events", () => {
  it("that were left while earlier ones moved are found by others, if the process closes without moving them", () =>
    runOnTestClock(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const { partition, accountName } = place
        const reply = Latch.makeUnsafe()
        let isDown = false
        const faults: Faults = {
          before: (_, name) => (isDown && name === partition ? Effect.fail(toUnavailable("not-applied")) : Effect.void),
          after: (operation, name) => (operation === "list" && name === partition ? reply.await : Effect.void)
        }
        const process = yield* world.openProcess({ faults })
        yield* process.record(partition, accountName, 0)
        yield* world.pass(50)
        yield* process.record(partition, accountName, 1)
        yield* reply.open
        yield* world.pass(5, 1)
        expect(yield* listLog(world.store, accountName)).toEqual([0])
        isDown = true
        yield* Effect.forkDetach(process.close, { startImmediately: true })
        yield* world.pass(10 * second)
        yield* world.openProcess()
        yield* world.pass(20 * second)
        yield* expectEventsMoved(world, "after another process was opened")
      })
    ))
})

describe("due work", () => {
  it("of one account, 10,000 times, does not delay that of another by more than two seconds", () =>
    runOnTestClock(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const [writer, worker] = [yield* world.openProcess(), yield* world.openProcess({ workMs: 100 })]
        for (let index = 0; index < 10_000; index++) {
          yield* writer.leave(Partition.forKeyBucket("busy", `${index}`), "busy", `busy-${index}`, 10 * second)
        }
        yield* writer.kill
        yield* world.pass(20 * second, 50)
        expect(world.runs.length).toBeGreaterThan(100)
        expect(world.runs.length).toBeLessThan(2_000)
        yield* worker.leave(place.partition, "acme", "x", second)
        yield* world.pass(4 * second, 50)
        const { dueOn, doneAt } = world.items.get("x") ?? {}
        expect((doneAt ?? Number.POSITIVE_INFINITY) - (dueOn ?? 0)).toBeLessThanOrEqual(2 * second)
      })
    ))

  it("is done by one process, within five seconds", () =>
    runOnTestClock(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const { below } = makeRandom(1)
        const processes = [yield* world.openProcess({ workMs: 50 }), yield* world.openProcess({ workMs: 50 })]
        for (let index = 0; index < 100; index++) {
          const partition = Partition.forKeyBucket("acme", `${index}`)
          yield* processes[index % 2]?.leave(partition, "acme", `${index}`, second + below(minute)) ?? Effect.void
        }
        yield* world.pass(70 * second)
        expectItemsDone(world, ({ dueOn }) => dueOn + 5 * second)
        expect(new Set(world.runs.map(({ partition }) => partition)).size).toBe(100)
        expect(world.runs).toHaveLength(100)
        expect(new Set(world.runs.map(({ process }) => process)).size).toBe(2)
        // Each is looked at once more.
        yield* world.pass(20 * minute, 10 * second)
        expect(world.runs).toHaveLength(200)
        yield* expectForgotten(world, processes, "20 minutes later")
      })
    ))

  it("and events of a process that was suspended for 30 seconds are not lost, and it has another id then", () =>
    runOnTestClock(
      Effect.gen(function* () {
        const world = yield* makeWorld()
        const [process, other] = [yield* world.openProcess(), yield* world.openProcess()]
        yield* other.leave(Partition.forKeyBucket("acme", "c"), "acme", "z", 30 * minute)
        yield* process.record(place.partition, "acme", 0)
        yield* process.leave(place.partition, "acme", "x", 10 * second)
        const id = process.getId()
        yield* process.suspend
        const fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkDetach(effect, { startImmediately: true })
        yield* fork(process.record(place.partition, "acme", 1))
        yield* world.pass(30 * second)
        yield* process.resume
        yield* world.pass(10 * second)
        yield* process.record(place.partition, "acme", 2)
        yield* process.leave(place.partition, "acme", "y", 10 * second)
        yield* world.pass(15 * second)
        expect(process.getId()).toBeDefined()
        expect(process.getId()).not.toBe(id)
        expect(world.recorded).toEqual([0, 1, 2])
        yield* expectEventsMoved(world, "after it was suspended")
        expectItemsDone(
          { ...world, items: new Map([...world.items].filter(([id]) => id !== "z")) },
          ({ dueOn }) => dueOn + 5 * second
        )
      })
    ))
})
