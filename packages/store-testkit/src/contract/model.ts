import { deepEqual } from "node:assert/strict"
import { randomInt } from "node:crypto"
import { Change, type CommitResult, isCounterChange, StoreConflict, type StoreOperations } from "@tollgate/store"
import { Arbitrary, Clock, Effect, Result, Schema, Stream } from "effect"
import * as ReferenceModel from "../stores/ReferenceModel.ts"
import { type Snapshot, StoreState } from "../stores/StoreState.ts"
import { type ContractCase, makeFixture, type StoreFixture } from "./ContractCase.ts"
import { type ClockSource, ManualClock } from "./ContractTime.ts"
import { toCounterNames } from "./entries.ts"

const Key = Schema.Literals(["a", "b", "c", "d"])
const Names = Schema.Array(Schema.Literals(["x", "y", "z"])).check(Schema.isMaxLength(3))
/** Some begin with others, and the order of their code points is not that of their UTF-16 code units. */
const SearchTerms = Schema.Array(Schema.Literals(["s", "st", "s\u{1f5dd}", "s\uff5a", "t%"])).check(
  Schema.isMaxLength(3)
)
const Counter = Schema.Literals(["n", "m"])
const Limit = Schema.Literals(["l", "k"])
const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))
/**
 * Which version a change expects: 0 for a missing record, 1 for an outdated version, otherwise the current version. For a
 * counter the same with its value.
 */
const Expect = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
const toExpectedVersion = (expect: typeof Expect.Type, current: number): number =>
  expect === 0 ? 0 : expect === 1 && current > 0 ? current - 1 : current

const Step = Schema.Union([
  Schema.TaggedStruct("Put", {
    key: Key,
    expect: Expect,
    indexTerms: Names,
    uniqueKeys: Names,
    searchTerms: SearchTerms,
    parent: Schema.optionalKey(Key)
  }),
  Schema.TaggedStruct("Delete", { key: Key, expect: Expect }),
  Schema.TaggedStruct("Check", { key: Key, expect: Expect }),
  Schema.TaggedStruct("AtMost", { term: Schema.Literals(["x", "y", "z"]), atMost: Small }),
  Schema.TaggedStruct("Add", { counter: Counter, by: Small, max: Small }),
  Schema.TaggedStruct("Subtract", { counter: Counter, by: Small, max: Small }),
  Schema.TaggedStruct("Raise", { counter: Counter, to: Small }),
  Schema.TaggedStruct("Take", { counter: Limit, cost: Small }),
  Schema.TaggedStruct("CheckCounter", { counter: Schema.Literals(["n", "m", "l", "k"]), expect: Expect })
])

const Action = Schema.Union([
  Schema.TaggedStruct("Commit", {
    steps: Schema.Array(Step).check(Schema.isMaxLength(5)),
    idempotency: Schema.optionalKey(Schema.Literals(["i", "j"]))
  }),
  Schema.TaggedStruct("Commit", { steps: Schema.Array(Step).check(Schema.isMaxLength(3)) }),
  Schema.TaggedStruct("List", {
    indexTerms: Names,
    offset: Small,
    limit: Small,
    descending: Schema.Boolean,
    continues: Schema.Boolean
  }),
  Schema.TaggedStruct("Search", {
    prefix: Schema.Literals(["", "s", "st", "s\u{1f5dd}", "t%"]),
    limit: Small,
    continues: Schema.Boolean
  }),
  Schema.TaggedStruct("Wait", { parts: Small }),
  Schema.TaggedStruct("Clear", {})
])

type Action = typeof Action.Type
type Step = typeof Step.Type

const unique = <A>(names: ReadonlyArray<A>): ReadonlyArray<A> => [...new Set(names)]

/** Slower than any test, so that the same takes succeed on a server however fast it is. */
const serverInterval = 3_600_000_000
/** On the manual clock. A `Wait` is up to four times 7/20 of the interval. */
const callerInterval = 200_020
const waitPart = 70_007

const getInterval = (clock: ClockSource): number => (clock === "server" ? serverInterval : callerInterval)

/** Converts a step for one store. Versions differ between the stores, because a store may skip numbers. */
const toChange = Effect.fnUntraced(function* (fixture: StoreFixture, step: Step, interval: number) {
  switch (step._tag) {
    case "AtMost":
      return Change.AtMost(step)
    case "Add":
      return Change.Add({ counter: step.counter, by: step.by + 1, max: step.max * 4, ttl: 600_000 })
    case "Subtract":
      return Change.Add({ counter: step.counter, by: -1 - step.by, max: step.max, ttl: 600_000 })
    case "Raise":
      return Change.Raise({ counter: step.counter, to: step.to * 3, ttl: 600_000 })
    case "Take": {
      const burst = step.counter === "l" ? 5 : 7
      const ttl = Math.ceil((burst * interval) / 1_000) + 600_000
      return Change.Take({ counter: step.counter, cost: step.cost + 1, interval, burst, ttl })
    }
    case "CheckCounter": {
      const expect = toExpectedVersion(step.expect, yield* fixture.counter(step.counter))
      return Change.CheckCounter({ counter: step.counter, expect })
    }
    default: {
      const current = (yield* fixture.get(step.key))?.version ?? 0
      const expect = toExpectedVersion(step.expect, current)
      if (step._tag === "Check") return Change.Check({ key: step.key, expect })
      if (step._tag === "Delete") return expect === 0 ? undefined : Change.Delete({ key: step.key, expect })
      const { key, parent } = step
      const fields = {
        key,
        expect,
        body: JSON.stringify(step),
        indexTerms: unique(step.indexTerms),
        uniqueKeys: unique(step.uniqueKeys),
        ...(step.searchTerms.length === 0 ? {} : { searchTerms: unique(step.searchTerms) })
      }
      return Change.Put(parent === undefined ? fields : { ...fields, parent })
    }
  }
})

/** Keeps the first change of each record and of each counter, because a commit may change each only once. */
const removeDuplicates = (changes: ReadonlyArray<Change | undefined>): ReadonlyArray<Change> => {
  const names = new Set<string>()
  return changes.filter((change): change is Change => {
    if (change === undefined) return false
    if (change._tag === "AtMost" || change._tag === "CheckCounter") return true
    const name = isCounterChange(change) ? `counter ${change.counter}` : `record ${change.key}`
    return !names.has(name) && names.add(name) !== undefined
  })
}

/** What a step observed. Time passes on a server, so durations are counted in intervals there. */
const toOutcome = (result: Result.Result<CommitResult, unknown>, clock: ClockSource) => {
  const toDuration = (value: number) => (clock === "server" ? Math.ceil(value / serverInterval) : value)
  if (Result.isSuccess(result)) {
    const { versions, totals, replayed } = result.success
    const isLimit = (name: string) => name === "l" || name === "k"
    return {
      puts: [...versions.keys()],
      totals: new Map([...totals].map(([name, value]) => [name, isLimit(name) ? toDuration(value) : value])),
      replayed
    }
  }
  const error = result.failure
  return error instanceof StoreConflict
    ? { reason: error.reason, name: error.subject, retryAfter: toDuration(error.retryAfter) }
    : { error }
}

/** Where what was read last ended. Any query can go on from there. */
interface Cursor {
  place?: number | undefined
  /** The last term that was found. */
  term?: string | undefined
}

const runAction = Effect.fnUntraced(function* (
  fixture: StoreFixture,
  action: Action,
  clock: ClockSource,
  cursor: Cursor
) {
  switch (action._tag) {
    case "Commit": {
      const interval = getInterval(clock)
      const changes = removeDuplicates(yield* Effect.forEach(action.steps, (step) => toChange(fixture, step, interval)))
      const id = "idempotency" in action ? action.idempotency : undefined
      const idempotency =
        id === undefined ? undefined : { id, fingerprint: `${changes.length}`, result: id, ttl: 600_000 }
      return toOutcome(yield* Effect.result(fixture.commit(changes, idempotency)), clock)
    }
    case "List": {
      const { indexTerms, offset, limit, descending, continues } = action
      const { records, total, next } = yield* fixture.getPage(indexTerms.length === 0 ? ["x"] : indexTerms, {
        offset,
        limit,
        descending,
        after: continues ? cursor.place : undefined
      })
      cursor.place = next ?? cursor.place
      return { keys: records.map(({ key }) => key), total, hasMore: next !== undefined }
    }
    case "Search": {
      const { prefix, limit, continues } = action
      const after = continues && cursor.term?.startsWith(prefix) ? cursor.term : undefined
      const matches = yield* fixture.search(prefix, { limit, after })
      cursor.term = matches.at(-1)?.term
      return matches.map(({ place: _, ...match }) => match)
    }
    case "Clear":
      return yield* fixture.store.clear(fixture.partition)
    case "Wait":
      return undefined
  }
})

/** Replaces the versions in a snapshot by their rank, and leaves out the rate limits, which outcomes compare. */
const toComparable = (snapshot: Snapshot) =>
  Object.values(snapshot).map(({ limits: _, ...partition }) => {
    const versions = partition.records.map(({ version }) => version).sort((left, right) => left - right)
    return {
      ...partition,
      records: partition.records.map((record) => ({ ...record, version: versions.indexOf(record.version) }))
    }
  })

/** A store that reads every partition from that of the fixture. */
const redirect = ({ store, partition }: StoreFixture): StoreOperations => ({
  ...store,
  get: (_, keys) => store.get(partition, keys),
  getByUniqueKey: (_, uniqueKeys) => store.getByUniqueKey(partition, uniqueKeys),
  list: (_, queries) => store.list(partition, queries),
  search: (_, queries) => store.search(partition, queries),
  counters: (_, names) => store.counters(partition, names)
})

const compareWithModel = Effect.fnUntraced(function* (actions: ReadonlyArray<Action>, clock: ClockSource) {
  const manualClock = new ManualClock()
  const fixture = yield* makeFixture
  const real = StoreState.watch(fixture.store)
  const modelStore = ReferenceModel.make()
  const model = StoreState.watch(modelStore)
  const realFixture = fixture.withStore(real.store)
  const modelFixture = fixture.withStore(model.store)
  // The model's limits do not recover while the real ones, which are slow, are compared on a server.
  const onManualClock = Effect.provideService(Clock.Clock, manualClock)
  const onRealClock = clock === "caller" ? onManualClock : <A, E, R>(effect: Effect.Effect<A, E, R>) => effect
  const [realCursor, modelCursor]: [Cursor, Cursor] = [{}, {}]
  for (const action of actions) {
    if (action._tag === "Wait" && clock === "caller") manualClock.advance(action.parts * waitPart)
    deepEqual(
      yield* onRealClock(runAction(realFixture, action, clock, realCursor)),
      yield* onManualClock(runAction(modelFixture, action, clock, modelCursor))
    )
  }
  const snapshot = yield* onRealClock(real.state.snapshot)
  deepEqual(toComparable(snapshot), toComparable(yield* onManualClock(model.state.snapshot)))

  const modelBatches = yield* Stream.runCollect(modelStore.contents.read(fixture.partition))
  deepEqual(toCounterNames(yield* onRealClock(fixture.readEntries)), toCounterNames(modelBatches.flat()))

  const copy = yield* onRealClock(fixture.copy)
  deepEqual(yield* onRealClock(real.snapshotOf(redirect(copy))), snapshot)
  yield* copy.store.clear(copy.partition)
  yield* fixture.store.clear(fixture.partition)
})

/** The token of a failed run, which repeats that run. */
const replay = process.env["STORE_TESTKIT_REPLAY"]

export const makeModelCases = (clock: ClockSource): ReadonlyArray<ContractCase> => [
  {
    group: "model",
    name: "random sequences of operations match the reference model",
    run: Effect.gen(function* () {
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.array(Arbitrary.schema(Action), { minLength: 1, maxLength: 40 }),
        (actions) =>
          compareWithModel(actions, clock).pipe(
            Effect.as(true),
            Effect.catchDefect((defect) => Effect.fail(defect))
          ),
        { runs: 100, maxShrinks: 400, seed: randomInt(2 ** 31), replay }
      )
      const failure = Arbitrary.formatCheckFailure(result)
      if (failure !== undefined) {
        return yield* Effect.die(
          new Error(`${failure}\nTo repeat this run, set STORE_TESTKIT_REPLAY to the token above`)
        )
      }
    })
  }
]
