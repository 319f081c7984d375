import { deepEqual } from "node:assert/strict"
import { randomInt } from "node:crypto"
import { Change, type CommitResult, StoreConflict } from "@tollgate/core/store"
import { Arbitrary, Effect, Result, Schema } from "effect"
import * as ReferenceModel from "../stores/ReferenceModel.ts"
import { type Snapshot, StoreState } from "../stores/StoreState.ts"
import { type ContractCase, makeFixture, type StoreFixture } from "./ContractCase.ts"

const Key = Schema.Literals(["a", "b", "c", "d"])
const Names = Schema.Array(Schema.Literals(["x", "y", "z"])).check(Schema.isMaxLength(3))
const Counter = Schema.Literals(["n", "m"])
const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))
/** Which version a change expects: 0 for a missing record, 1 for an outdated version, otherwise the current version. */
const Expect = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
const toExpectedVersion = (expect: typeof Expect.Type, current: number): number =>
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
    idempotency: Schema.optionalKey(Schema.Literals(["i", "j"]))
  }),
  Schema.TaggedStruct("Commit", { steps: Schema.Array(Step).check(Schema.isMaxLength(3)) }),
  Schema.TaggedStruct("List", { indexTerms: Names, offset: Small, limit: Small }),
  Schema.TaggedStruct("Clear", {})
])

type Action = typeof Action.Type
type Step = typeof Step.Type

const unique = <A>(names: ReadonlyArray<A>): ReadonlyArray<A> => [...new Set(names)]

/** Converts a step for one store. Versions differ between the stores, because a store may skip numbers. */
const toChange = Effect.fnUntraced(function* (fixture: StoreFixture, step: Step) {
  switch (step._tag) {
    case "AtMost":
      return Change.AtMost(step)
    case "Add":
      return Change.Add({ counter: step.counter, by: step.by + 1, max: step.max * 4, ttl: 600_000 })
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
        uniqueKeys: unique(step.uniqueKeys)
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
    if (change._tag === "AtMost") return true
    const name = change._tag === "Add" ? `counter ${change.counter}` : `record ${change.key}`
    return !names.has(name) && names.add(name) !== undefined
  })
}

const toOutcome = (result: Result.Result<CommitResult, unknown>) => {
  if (Result.isSuccess(result)) {
    const { versions, totals, replayed } = result.success
    return { puts: [...versions.keys()], totals, replayed }
  }
  const error = result.failure
  return error instanceof StoreConflict ? { reason: error.reason, name: error.subject } : { error }
}

const runAction = Effect.fnUntraced(function* (fixture: StoreFixture, action: Action) {
  switch (action._tag) {
    case "Commit": {
      const changes = removeDuplicates(yield* Effect.forEach(action.steps, (step) => toChange(fixture, step)))
      const id = "idempotency" in action ? action.idempotency : undefined
      const idempotency =
        id === undefined ? undefined : { id, fingerprint: `${changes.length}`, result: id, ttl: 600_000 }
      return toOutcome(yield* Effect.result(fixture.commit(changes, idempotency)))
    }
    case "List":
      return yield* fixture.list(action.indexTerms.length === 0 ? ["x"] : action.indexTerms, action)
    case "Clear":
      return yield* fixture.store.clear(fixture.partition)
  }
})

/** Replaces the versions in a snapshot by their rank. */
const rankVersions = (snapshot: Snapshot) =>
  Object.values(snapshot).map((partition) => {
    const versions = partition.records.map(({ version }) => version).sort((left, right) => left - right)
    return {
      ...partition,
      records: partition.records.map((record) => ({ ...record, version: versions.indexOf(record.version) }))
    }
  })

const compareWithModel = Effect.fnUntraced(function* (actions: ReadonlyArray<Action>) {
  const fixture = yield* makeFixture
  const real = StoreState.watch(fixture.store)
  const model = StoreState.watch(ReferenceModel.make())
  const realFixture = fixture.withStore(real.store)
  const modelFixture = fixture.withStore(model.store)
  for (const action of actions) {
    deepEqual(yield* runAction(realFixture, action), yield* runAction(modelFixture, action))
  }
  deepEqual(rankVersions(yield* real.state.snapshot), rankVersions(yield* model.state.snapshot))
  yield* fixture.store.clear(fixture.partition)
})

/** The token of a failed run, which repeats that run. */
const replay = process.env["STORE_TESTKIT_REPLAY"]

export const model: ReadonlyArray<ContractCase> = [
  {
    group: "model",
    name: "random sequences of operations match the reference model",
    run: Effect.gen(function* () {
      const result = yield* Arbitrary.checkEffect(
        Arbitrary.array(Arbitrary.schema(Action), { minLength: 1, maxLength: 40 }),
        (actions) =>
          compareWithModel(actions).pipe(
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
