import { deepEqual } from "node:assert/strict"
import { randomInt } from "node:crypto"
import { Change, type CommitResult, StoreConflict } from "@tollgate/core"
import { Arbitrary, Effect, Result, Schema } from "effect"
import { type ContractCase, makeFixture, type StoreFixture } from "../ContractCase.ts"
import * as ReferenceModel from "../ReferenceModel.ts"
import { type Snapshot, StoreState } from "../StoreState.ts"

const Key = Schema.Literals(["a", "b", "c", "d"])
const Names = Schema.Array(Schema.Literals(["x", "y", "z"])).check(Schema.isMaxLength(3))
const Counter = Schema.Literals(["n", "m"])
const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))
/** Which version a change expects: none, one that was there once, or, mostly, what is there. */
const Expect = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
const expected = (expect: typeof Expect.Type, current: number): number =>
  expect === 0 ? 0 : expect === 1 && current > 0 ? current - 1 : current

const Step = Schema.Union([
  Schema.TaggedStruct("Put", {
    key: Key,
    expect: Expect,
    indexTerms: Names,
    uniqueKeys: Names,
    parent: Schema.optionalKey(Key)
  }),
  Schema.TaggedStruct("Delete", { key: Key, expect: Expect }),
  Schema.TaggedStruct("Check", { key: Key, expect: Expect }),
  Schema.TaggedStruct("AtMost", { term: Schema.Literals(["x", "y", "z"]), atMost: Small }),
  Schema.TaggedStruct("Add", { counter: Counter, by: Small, max: Small })
])

const Action = Schema.Union([
  Schema.TaggedStruct("Commit", {
    steps: Schema.Array(Step).check(Schema.isMaxLength(5)),
    once: Schema.optionalKey(Schema.Literals(["i", "j"]))
  }),
  Schema.TaggedStruct("Commit", { steps: Schema.Array(Step).check(Schema.isMaxLength(3)) }),
  Schema.TaggedStruct("List", { indexTerms: Names, offset: Small, limit: Small }),
  Schema.TaggedStruct("Clear", {})
])

type Action = typeof Action.Type
type Step = typeof Step.Type

const unique = <A>(names: ReadonlyArray<A>): ReadonlyArray<A> => [...new Set(names)]

/** Makes a step concrete: each side expects its own versions, since a store may skip numbers. */
const changeFor = Effect.fnUntraced(function* (bench: StoreFixture, step: Step) {
  switch (step._tag) {
    case "AtMost":
      return Change.AtMost(step)
    case "Add":
      return Change.Add({ counter: step.counter, by: step.by + 1, max: step.max * 4, ttl: 600_000 })
    default: {
      const current = (yield* bench.get(step.key))?.version ?? 0
      const expect = expected(step.expect, current)
      if (step._tag === "Check") return Change.Check({ key: step.key, expect })
      if (step._tag === "Delete") return expect === 0 ? undefined : Change.Delete({ key: step.key, expect })
      const { key, parent } = step
      const fields = {
        key,
        expect,
        body: JSON.stringify(step),
        indexTerms: unique(step.indexTerms),
        uniqueKeys: unique(step.uniqueKeys)
      }
      return Change.Put(parent === undefined ? fields : { ...fields, parent })
    }
  }
})

/** A record, and a counter, is named by the first step alone. */
const distinct = (changes: ReadonlyArray<Change | undefined>): ReadonlyArray<Change> => {
  const named = new Set<string>()
  return changes.filter((change): change is Change => {
    if (change === undefined) return false
    if (change._tag === "AtMost") return true
    const name = change._tag === "Add" ? `counter ${change.counter}` : `record ${change.key}`
    return !named.has(name) && named.add(name) !== undefined
  })
}

const outcome = (result: Result.Result<CommitResult, unknown>) => {
  if (Result.isSuccess(result)) {
    const { versions, totals, replayed } = result.success
    return { puts: [...versions.keys()], totals, replayed }
  }
  const error = result.failure
  return error instanceof StoreConflict ? { reason: error.reason, name: error.subject } : { error }
}

const perform = Effect.fnUntraced(function* (bench: StoreFixture, action: Action) {
  switch (action._tag) {
    case "Commit": {
      const changes = distinct(yield* Effect.forEach(action.steps, (step) => changeFor(bench, step)))
      const id = "once" in action ? action.once : undefined
      const once = id === undefined ? undefined : { id, fingerprint: `${changes.length}`, result: id, ttl: 600_000 }
      return outcome(yield* Effect.result(bench.commit(changes, once)))
    }
    case "List":
      return yield* bench.list(action.indexTerms.length === 0 ? ["x"] : action.indexTerms, action)
    case "Clear":
      return yield* bench.store.clear(bench.partition)
  }
})

/** A picture with versions replaced by their rank. */
const ranked = (picture: Snapshot) =>
  Object.values(picture).map((partition) => {
    const versions = partition.records.map(({ version }) => version).sort((left, right) => left - right)
    return {
      ...partition,
      records: partition.records.map((record) => ({ ...record, version: versions.indexOf(record.version) }))
    }
  })

const follows = Effect.fnUntraced(function* (actions: ReadonlyArray<Action>) {
  const bench = yield* makeFixture
  const real = StoreState.watch(bench.store)
  const model = StoreState.watch(ReferenceModel.make())
  const left = bench.over(real.store)
  const right = bench.over(model.store)
  for (const action of actions) deepEqual(yield* perform(left, action), yield* perform(right, action))
  deepEqual(ranked(yield* real.state.picture), ranked(yield* model.state.picture))
  yield* bench.store.clear(bench.partition)
})

/** Set to repeat a run; a failure prints what to set. */
const replay = process.env["STORE_TESTKIT_REPLAY"]

export const model: ReadonlyArray<ContractCase> = [
  {
    concern: "model",
    name: "random sequences of operations do what the reference model does",
    run: Effect.gen(function* () {
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.array(Arbitrary.schema(Action), { minLength: 1, maxLength: 40 }),
        (actions) =>
          follows(actions).pipe(
            Effect.as(true),
            Effect.catchDefect((defect) => Effect.fail(defect))
          ),
        { runs: 100, maxShrinks: 400, seed: randomInt(2 ** 31), replay }
      )
      const failure = Arbitrary.formatCheckFailure(result)
      if (failure !== undefined) {
        return yield* Effect.die(new Error(`${failure}\nRepeat it with STORE_TESTKIT_REPLAY set to that token`))
      }
    })
  }
]
