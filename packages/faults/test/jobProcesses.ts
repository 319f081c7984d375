/**
 * Processes that do background work over one memory store, on clocks that the test moves. Each has a connection of its own,
 * which can fail, hang and end, and a wall clock of its own.
 */
import { SecretBox } from "@tollgate/core/effect"
import {
  BackgroundClock,
  DueWork,
  eventRelayLayer,
  type JobKind,
  jobsLayer,
  outboxStoreLayer,
  Processes
} from "@tollgate/core/internal"
import { MemoryStore } from "@tollgate/memory"
import {
  type Change,
  Collection,
  Partition,
  Store,
  StoreConflict,
  type StoreOperations,
  StoreUnavailable
} from "@tollgate/store"
import { DeliveryWorker } from "@tollgate/webhooks"
import { Clock, Context, DateTime, Effect, Exit, Latch, Layer, Random, Redacted, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { shiftClock } from "../../core/test/shiftClock.ts"
import { recordNumbers } from "./outboxEvents.ts"
import { secret } from "./stores.ts"

/** Work that is due at a time, in the partition where a process has left it. */
const items = Collection.make({
  name: "item",
  format: 1,
  schema: Schema.Struct({ id: Schema.String, accountName: Schema.String, dueOn: Schema.Finite }),
  key: ({ id }) => id
})

const kindName = "items"
const maxItems = 10_000

/** When a fault begins, and how the calls of a process end then. */
export interface Faults {
  /** Before a call is sent. Its failure means that the call is not applied. */
  readonly before: (operation: string, partition: string) => Effect.Effect<void, StoreUnavailable>
  /** After it was applied. */
  readonly after: (operation: string, partition: string) => Effect.Effect<void, StoreUnavailable>
}

const noFaults: Faults = { before: () => Effect.void, after: () => Effect.void }

export const toUnavailable = (outcome: "unknown" | "not-applied") =>
  new StoreUnavailable({ operation: "commit", problem: "the test has disconnected it", retryable: true, outcome })

interface Item {
  readonly dueOn: number
  readonly insertedAt: number
  doneAt?: number
}

/** The directory of work, by kind of record. */
const listDirectory = Effect.fnUntraced(function* (store: StoreOperations) {
  const names = ["held", "due", "process"] as const
  const pages = yield* store.list(
    Partition.jobsDirectory,
    names.map((name) => ({ indexTerms: [name], offset: 0, limit: 1_000 }))
  )
  const [held = [], due = [], process = []] = pages.map(({ records }) => records.map(({ key }) => key))
  return { held, due, process }
})

export const makeWorld = Effect.fnUntraced(function* (seed = 1) {
  const clock = yield* Clock.Clock
  yield* TestClock.setTime(Date.UTC(2026, 0, 1))
  const memory = MemoryStore.open()
  /** The numbers of the events that were committed. */
  const recorded: Array<number> = []
  const allItems = new Map<string, Item>()
  /** The runs of the jobs of each partition, and the processes that did them. */
  const runs: Array<{ readonly partition: string; readonly process: number }> = []
  let conflicts = 0
  /** The calls that the store has not answered yet. */
  let calls = 0
  let opened = 0

  const noteChange = (change: Change): void => {
    const now = clock.currentTimeMillisUnsafe()
    if (change._tag === "Put" && change.key.startsWith("outbox/")) {
      recorded.push(JSON.parse(change.body.slice(change.body.indexOf(" "))).data.number)
    }
    if (change._tag === "Put" && change.key.startsWith("item/")) {
      const { id, dueOn } = JSON.parse(change.body.slice(change.body.indexOf(" ")))
      allItems.set(id, { dueOn, insertedAt: now })
    }
    if (change._tag === "Delete" && change.key.startsWith("item/")) {
      const item = allItems.get(change.key.slice("item/".length))
      if (item?.doneAt !== undefined) throw new Error(`${change.key} was done twice`)
      if (item !== undefined) item.doneAt = now
    }
  }
  /** What was really applied, whatever the processes learn of it. */
  const store: StoreOperations = {
    ...memory,
    commit: (partition, changes, idempotency) =>
      memory.commit(partition, changes, idempotency).pipe(
        Effect.tap(Effect.sync(() => changes.forEach(noteChange))),
        Effect.tapError((error) =>
          Effect.sync(() => {
            if (error instanceof StoreConflict) conflicts++
          })
        )
      )
  }

  /** A process. `aheadMs` is how far its wall clock is ahead; `workMs` is how long a job takes. */
  const openProcess = Effect.fnUntraced(function* ({
    aheadMs = 0,
    workMs = 0,
    faults = noFaults,
    over = store
  }: {
    readonly aheadMs?: number
    readonly workMs?: number
    readonly faults?: Faults
    readonly over?: StoreOperations
  } = {}) {
    const process = opened++
    const running = Latch.makeUnsafe(true)
    let isKilled = false
    let end: Effect.Effect<never, StoreUnavailable> | undefined
    const check = Effect.suspend(() => end ?? Effect.void)

    const call = <A extends ReadonlyArray<unknown>, B, E>(
      operation: string,
      run: (...args: A) => Effect.Effect<B, E>
    ) =>
      ((...args: A) =>
        Effect.gen(function* () {
          const partition = String(args[0])
          yield* running.await
          yield* check
          yield* faults.before(operation, partition)
          // It is on the way: a process that dies cannot call it back.
          calls++
          const result = yield* Effect.ensuring(
            run(...args),
            Effect.sync(() => calls--)
          )
          yield* running.await
          yield* check
          yield* faults.after(operation, partition)
          return result
        })) as (...args: A) => Effect.Effect<B, E | StoreUnavailable>
    const connection: StoreOperations = {
      get: call("get", over.get),
      getByUniqueKey: call("getByUniqueKey", over.getByUniqueKey),
      list: call("list", over.list),
      search: call("search", over.search),
      counters: call("counters", over.counters),
      commit: call("commit", over.commit),
      clear: call("clear", over.clear)
    }

    const withClock = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      effect.pipe(
        Effect.provideService(Clock.Clock, shiftClock(clock, aheadMs)),
        Effect.provideService(BackgroundClock, clock),
        Random.withSeed(seed + process)
      )
    const kind: JobKind = {
      name: kindName,
      run: Effect.fnUntraced(
        function* (partition: Partition.Partition) {
          runs.push({ partition, process })
          if (workMs > 0) yield* Effect.sleep(workMs)
          const now = yield* Clock.currentTimeMillis
          const { entries } = yield* items.page(partition, { offset: 0, limit: maxItems })
          const due = entries.filter(({ value }) => value.dueOn <= now)
          if (due.length > 0) yield* connection.commit(partition, due.map(items.remove))
          const later = entries.flatMap(({ value }) => (value.dueOn > now ? [value.dueOn] : []))
          return later.length === 0 ? undefined : DateTime.makeUnsafe(Math.min(...later))
        },
        Effect.provideService(Store, connection)
      )
    }
    const layer = eventRelayLayer.pipe(
      Layer.provide(DeliveryWorker.layer),
      Layer.provideMerge(outboxStoreLayer),
      Layer.provideMerge(jobsLayer),
      Layer.provide([SecretBox.layer({ secrets: [Redacted.make(secret)] }), Layer.succeed(Store, connection)])
    )
    const scope = yield* Scope.make()
    const context = yield* withClock(Layer.buildWithScope(Layer.fresh(layer), scope))
    const [dueWork, processes] = [Context.get(context, DueWork), Context.get(context, Processes)]
    const services = Context.get(context, Store)
    yield* dueWork.register(kind)
    return {
      process,
      aheadMs,
      getId: processes.getId,
      /** Its calls, and the replies to them, wait until it is resumed. */
      suspend: Effect.sync(() => running.closeUnsafe()),
      resume: Effect.sync(() => running.openUnsafe()),
      /** Its calls fail from now on. */
      disconnect: Effect.sync(() => {
        end = Effect.fail(toUnavailable("unknown"))
      }),
      reconnect: Effect.sync(() => {
        if (!isKilled) end = undefined
      }),
      kill: Effect.sync(() => {
        isKilled = true
        end = Effect.never
      }),
      close: Scope.close(scope, Exit.void),
      record: (partition: Partition.Partition, accountName: string, number: number) =>
        withClock(recordNumbers(services, partition, [number], () => accountName)),
      /** Leaves work that is due in so many milliseconds, by the clock of this process. */
      leave: (partition: Partition.Partition, accountName: string, id: string, inMs: number) =>
        Effect.gen(function* () {
          const dueOn = (yield* Clock.currentTimeMillis) + inMs
          yield* dueWork.ensure(kind, partition, Effect.succeed(accountName), DateTime.makeUnsafe(dueOn))
          yield* services.commit(partition, [items.insert({ id, accountName, dueOn })])
        }).pipe(withClock)
    }
  })

  const nextTurn = Effect.callback<void>((resume) => {
    setImmediate(() => resume(Effect.void))
  })

  /** Large reads take several turns of the event loop. */
  const settle = Effect.gen(function* () {
    for (let quietTurns = 0; quietTurns < 5; quietTurns = calls > 0 ? 0 : quietTurns + 1) yield* nextTurn
  })

  /** Moves the clock. Retries after a conflict pause on the real clock, and are let through. */
  const pass = Effect.fnUntraced(function* (millis: number, stepMs = 2_000) {
    for (let left = millis; left > 0; left -= stepMs) {
      const before = conflicts
      yield* TestClock.adjust(Math.min(left, stepMs))
      if (calls > 0) yield* settle
      if (conflicts > before) yield* TestClock.withLive(Effect.sleep("5 millis"))
    }
  })

  return {
    store,
    openProcess,
    pass,
    now: () => clock.currentTimeMillisUnsafe(),
    recorded,
    items: allItems,
    runs,
    directory: listDirectory(store)
  }
})

export type World = Effect.Success<ReturnType<typeof makeWorld>>
export type JobProcess = Effect.Success<ReturnType<World["openProcess"]>>
