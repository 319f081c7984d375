/**
 * The directory of partitions with events, on clocks that the test moves: however long commits and polls take, no event
 * stays in an outbox that the directory does not contain. A failure prints its seed; set `EVENTS_SEED` to repeat it.
 */
import { makeOutboxStore, makePollPending, moveEvents } from "@tollgate/core/internal"
import { Partition, Store, type StoreOperations } from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { Effect, Fiber, Latch } from "effect"
import { describe, expect, it } from "vitest"
import { listLog, listOutbox, recordNumbers } from "./outboxEvents.ts"
import { makeRandom, readSeed } from "./random.ts"

const minute = 60_000
const partition = Partition.forKeyBucket("acme", "b")
const noSignals = { add: () => undefined }

/** A store, a clock, and the processes that use both. */
const makeSetting = () => {
  const store = MemoryStore.open()
  let now = 0
  const readMillis = () => now
  const hasEntry = Effect.map(
    store.get(Partition.eventsDirectory, [`pending/${partition}`]),
    ([record]) => record !== undefined
  )
  return {
    store,
    readMillis,
    pass: (millis: number) => {
      now += millis
    },
    hasEntry,
    /** A relay finds an event only if the directory contains its partition. */
    expectNoneStranded: Effect.fnUntraced(function* (label: string) {
      const waiting = yield* listOutbox(store, partition)
      if (waiting.length > 0) expect(yield* hasEntry, label).toBe(true)
    }),
    openWriter: (over: StoreOperations = store) => makeOutboxStore(over, noSignals, readMillis),
    openRelay: (over: StoreOperations = store) =>
      Effect.provideService(makePollPending(moveEvents, readMillis), Store, over)
  }
}

describe("the directory of partitions with events", () => {
  it("keeps the entry of a partition for ten minutes after it was written, and then removes it", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { store, pass, hasEntry, openWriter, openRelay } = makeSetting()
        const [writer, poll] = [openWriter(), openRelay()]
        yield* recordNumbers(writer, partition, [0])
        yield* poll
        pass(9 * minute)
        yield* poll
        expect(yield* hasEntry).toBe(true)
        // A renewed entry is kept for ten more minutes.
        yield* recordNumbers(writer, partition, [1])
        pass(9 * minute)
        yield* poll
        pass(9 * minute)
        yield* poll
        expect(yield* hasEntry).toBe(true)
        pass(minute)
        yield* poll
        expect(yield* hasEntry).toBe(false)
        yield* recordNumbers(writer, partition, [2])
        expect(yield* hasEntry).toBe(true)
        yield* poll
        expect(yield* listLog(store, "acme")).toEqual([0, 1, 2])
      })
    ))

  it("keeps an entry that was written while a slow poll read the directory", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { store, pass, openWriter, openRelay, expectNoneStranded } = makeSetting()
        const writer = openWriter()
        const slow: StoreOperations = {
          ...store,
          list: (name, queries) =>
            name === Partition.eventsDirectory && queries[0]?.indexTerms[0] === "pending"
              ? Effect.andThen(passAndWrite, store.list(name, queries))
              : store.list(name, queries)
        }
        let isFirst = true
        const passAndWrite = Effect.suspend(() => {
          if (!isFirst) return Effect.void
          isFirst = false
          pass(7 * minute)
          return Effect.ignoreCause(recordNumbers(writer, partition, [0]))
        })
        const poll = openRelay(slow)
        yield* poll
        pass(4 * minute)
        yield* poll
        // The writer relies on the entry that it wrote four minutes ago.
        yield* recordNumbers(writer, partition, [1])
        yield* expectNoneStranded("after a slow poll")
      })
    ))

  const firstSeed = readSeed("EVENTS_SEED")
  it.each(Array.from({ length: 20 }, (_, index) => firstSeed + index))(
    "contains every partition with events, whatever writers and relays do: seed %i",
    (seed) =>
      Effect.runPromise(
        Effect.gen(function* () {
          const { below, chance, pick } = makeRandom(seed)
          const { store, pass, openWriter, openRelay, expectNoneStranded } = makeSetting()
          let recorded = 0
          /** Every commit of a writer can wait, up to five minutes, while others go on. */
          const waiting = new Set<{ readonly latch: Latch.Latch; readonly fiber: Fiber.Fiber<unknown, unknown> }>()
          const openSlowWriter = () => {
            const gates: Array<Latch.Latch> = []
            const slowStore: StoreOperations = {
              ...store,
              commit: (name, changes, idempotency) =>
                Effect.suspend(() => {
                  const latch = name === partition ? gates.shift() : undefined
                  const commit = store.commit(name, changes, idempotency)
                  return latch === undefined ? commit : Effect.andThen(latch.await, commit)
                })
            }
            return { writer: openWriter(slowStore), gates }
          }
          const writers = Array.from({ length: 2 }, openSlowWriter)
          const write = Effect.fnUntraced(function* (isSlow: boolean) {
            const { writer, gates } = pick(writers)
            const latch = Latch.makeUnsafe(!isSlow)
            gates.push(latch)
            const fiber = yield* Effect.forkChild(recordNumbers(writer, partition, [recorded++]), {
              startImmediately: true
            })
            if (isSlow) waiting.add({ latch, fiber })
            else yield* Fiber.join(fiber)
          })
          const finishWaiting = Effect.gen(function* () {
            for (const { latch, fiber } of waiting) {
              latch.openUnsafe()
              yield* Fiber.join(fiber)
            }
            waiting.clear()
          })
          /** Before any of its calls, a relay can be overtaken by a write. */
          const overtake =
            <A extends ReadonlyArray<unknown>, B, E>(call: (...args: A) => Effect.Effect<B, E>) =>
            (...args: A) =>
              Effect.andThen(chance(0.05) ? Effect.ignoreCause(write(false)) : Effect.void, call(...args))
          const overtaken = { ...store, list: overtake(store.list), commit: overtake(store.commit) }
          const relays = Array.from({ length: 2 }, () => openRelay(overtaken))

          for (let step = 0; step < 300; step++) {
            if (chance(0.2)) yield* write(chance(0.5))
            // No commit takes longer than that.
            pass(below(5 * minute))
            if (chance(0.7)) yield* pick(relays)
            yield* finishWaiting
            yield* expectNoneStranded(`seed ${seed}, step ${step}`)
          }
          yield* finishWaiting
          yield* openRelay()
          const log = yield* listLog(store, "acme")
          expect(new Set(log).size).toBe(recorded)
          expect(log.length).toBe(recorded)
        })
      )
  )
})
