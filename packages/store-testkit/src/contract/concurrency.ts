import { deepEqual, equal, ok } from "node:assert/strict"
import { Change, StoreConflict } from "@tollgate/store"
import { Effect } from "effect"
import { add, cases, getVersions, makeIdempotency, put, type StoreFixture } from "./ContractCase.ts"

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

/** Runs all attempts concurrently and returns how many succeeded. */
const race = <A, E>(attempts: ReadonlyArray<Effect.Effect<A, E>>): Effect.Effect<number, E> =>
  Effect.forEach(
    attempts,
    (attempt) =>
      attempt.pipe(
        Effect.as(1),
        Effect.catch((error) => (error instanceof StoreConflict ? Effect.succeed(0) : Effect.fail(error)))
      ),
    { concurrency: "unbounded" }
  ).pipe(Effect.map((counts) => counts.reduce<number>((sum, count) => sum + count, 0)))

/** Increments a record with a read-modify-write loop that retries on conflict. */
const increment = (fixture: StoreFixture, key: string): Effect.Effect<void, unknown> =>
  Effect.gen(function* () {
    const record = yield* fixture.get(key)
    yield* fixture.commit([put(key, { expect: record?.version ?? 0, body: String(Number(record?.body ?? 0) + 1) })])
  }).pipe(Effect.retry({ while: (error) => error instanceof StoreConflict }))

export const concurrency = cases("concurrency", {
  *"one of many concurrent creates of a record succeeds"({ commit, get, list }) {
    const succeeded = yield* race(
      times(30).map((index) => commit([put("a", { body: String(index), indexTerms: ["t"] })]))
    )
    equal(succeeded, 1)
    ok((yield* get("a")) !== undefined)
    deepEqual(yield* list(["t"]), { keys: ["a"], total: 1 })
  },

  *"one of many concurrent records with the same unique key succeeds"({ commit, findOwner, list }) {
    const succeeded = yield* race(
      times(30).map((index) => commit([put(`r${index}`, { uniqueKeys: ["c"], indexTerms: ["t"] })]))
    )
    equal(succeeded, 1)
    deepEqual((yield* list(["t"])).keys, [yield* findOwner("c")])
  },

  *"one of many concurrent updates of a version succeeds"({ commit, get }) {
    const [version = 0] = getVersions(yield* commit([put("a")]))
    const succeeded = yield* race(
      times(30).map((index) => commit([put("a", { expect: version, body: String(index) })]))
    )
    equal(succeeded, 1)
    ok(((yield* get("a"))?.version ?? 0) > version)
  },

  *"concurrent read-modify-write loops lose no update"(fixture) {
    yield* fixture.commit([put("a", { body: "0" })])
    yield* Effect.forEach(times(20), () => increment(fixture, "a"), { concurrency: "unbounded" })
    equal((yield* fixture.get("a"))?.body, "20")
  },

  *"concurrent adds reach a maximum exactly"({ commit, counter }) {
    const succeeded = yield* race(times(100).map(() => commit([add("n", 3, 90)])))
    equal(succeeded, 30)
    equal(yield* counter("n"), 90)
  },

  *"concurrent counter commits succeed or conflict independently"(fixture) {
    const { commit, store, partition } = fixture
    const [version = 0] = getVersions(yield* commit([put("a")]))
    const check = (expect: number) => Change.Check({ key: "a", expect })
    const outcomes = yield* Effect.forEach(
      times(300),
      (index) => {
        const adds = [add("n", 1, 100), add(`n${index % 3}`, 2)]
        const changes = index % 10 === 0 ? [check(version + 1), ...adds] : [check(version), ...adds]
        return Effect.match(commit(changes), {
          onFailure: (error) => (error instanceof StoreConflict ? error.reason : error),
          onSuccess: ({ totals }) => totals.get("n") ?? 0
        })
      },
      { concurrency: "unbounded" }
    )
    const totals = outcomes.filter((outcome) => typeof outcome === "number")
    deepEqual(
      totals.sort((left, right) => left - right),
      times(100).map((index) => index + 1)
    )
    equal(outcomes.filter((outcome) => outcome === "stale").length, 30)
    equal(outcomes.filter((outcome) => outcome === "counter-exceeded").length, 170)
    const [all, ...others] = yield* store.counters(partition, ["n", "n0", "n1", "n2"])
    equal(all, 100)
    equal(
      others.reduce((sum, count) => sum + count, 0),
      200
    )
  },

  *"AtMost holds for concurrent creates"({ commit, list }) {
    const succeeded = yield* race(
      times(30).map((index) =>
        commit([Change.AtMost({ term: "t", atMost: 6 }), put(`r${index}`, { indexTerms: ["t"] })])
      )
    )
    equal(succeeded, 7)
    equal((yield* list(["t"])).total, 7)
  },

  *"deleting a parent while creating children never leaves an orphan"({ commit, get, list }) {
    for (const round of times(5)) {
      const parent = `p${round}`
      const [version = 0] = getVersions(yield* commit([put(parent)]))
      const children = times(10).map((index) =>
        commit([
          Change.Check({ key: parent, expect: version }),
          put(`${parent}/${index}`, { indexTerms: [`of:${parent}`], parent })
        ])
      )
      const removal = commit([
        Change.AtMost({ term: `of:${parent}`, atMost: 0 }),
        Change.Delete({ key: parent, expect: version })
      ])
      yield* race([...children.slice(0, 5), removal, ...children.slice(5)] as ReadonlyArray<typeof removal>)
      const { total } = yield* list([`of:${parent}`])
      equal((yield* get(parent)) === undefined, total === 0)
    }
  },

  *"concurrent commits with one idempotency id are applied once"({ commit, counter }) {
    const results = yield* Effect.forEach(times(20), () => commit([add("n", 1)], makeIdempotency("id")), {
      concurrency: "unbounded"
    })
    equal(yield* counter("n"), 1)
    equal(results.filter(({ replayed }) => replayed === undefined).length, 1)
    deepEqual(new Set(results.map(({ totals }) => totals.get("n"))), new Set([1]))
  },

  *"a rejected commit does not affect concurrent commits"({ commit, list }) {
    yield* commit([put("taken")])
    const succeeded = yield* race(
      times(40).map((index) => commit([put(index % 2 === 0 ? `r${index}` : "taken", { indexTerms: ["t"] })]))
    )
    equal(succeeded, 20)
    equal((yield* list(["t"])).total, 20)
  },

  *"concurrent readers see a commit completely or not at all"({ commit, store, partition }) {
    let versions = getVersions(yield* commit([put("a", { body: "0" }), put("b", { body: "0" })]))
    const writer = Effect.gen(function* () {
      for (const round of times(30)) {
        const body = String(round + 1)
        versions = getVersions(
          yield* commit([put("a", { expect: versions[0] ?? 0, body }), put("b", { expect: versions[1] ?? 0, body })])
        )
      }
    })
    const reader = Effect.gen(function* () {
      for (const _ of times(30)) {
        const [a, b] = yield* store.get(partition, ["a", "b"])
        equal(a?.body, b?.body)
      }
    })
    yield* Effect.all([writer, reader, reader], { concurrency: "unbounded" })
  },

  *"several pages or unique keys are read from one snapshot"({ commit, store, partition }) {
    const pair = (expect: ReadonlyArray<number>, side: string) => [
      put("a", { expect: expect[0] ?? 0, indexTerms: [`a:${side}`], uniqueKeys: [`a:${side}`] }),
      put("b", { expect: expect[1] ?? 0, indexTerms: [`b:${side}`], uniqueKeys: [`b:${side}`] })
    ]
    let versions = getVersions(yield* commit(pair([], "left")))
    const writer = Effect.gen(function* () {
      for (const round of times(30))
        versions = getVersions(yield* commit(pair(versions, round % 2 === 0 ? "right" : "left")))
    })
    const reader = Effect.gen(function* () {
      for (const _ of times(30)) {
        const pages = yield* store.list(
          partition,
          ["a:left", "b:left"].map((term) => ({ indexTerms: [term], offset: 0, limit: 9 }))
        )
        equal(pages[0]?.total, pages[1]?.total)
        const [a, b] = yield* store.getByUniqueKey(partition, ["a:left", "b:left"])
        equal(a === undefined, b === undefined)
      }
    })
    yield* Effect.all([writer, reader, reader], { concurrency: "unbounded" })
  }
})
