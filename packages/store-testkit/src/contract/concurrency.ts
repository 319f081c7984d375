import { deepEqual, equal, ok } from "node:assert/strict"
import { Change, StoreConflict } from "@tollgate/core"
import { Effect } from "effect"
import { add, cases, inOrder, once, put, type StoreFixture } from "../ContractCase.ts"

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

/** Runs all at once; gives how many were not refused. */
const race = <A, E>(attempts: ReadonlyArray<Effect.Effect<A, E>>): Effect.Effect<number, E> =>
  Effect.forEach(
    attempts,
    (attempt) =>
      attempt.pipe(
        Effect.as(1),
        Effect.catch((error) => (error instanceof StoreConflict ? Effect.succeed(0) : Effect.fail(error)))
      ),
    { concurrency: "unbounded" }
  ).pipe(Effect.map((wins) => wins.reduce<number>((sum, win) => sum + win, 0)))

/** Reads, computes, commits, and starts again while another writer was faster. */
const increment = (bench: StoreFixture, key: string): Effect.Effect<void, unknown> =>
  Effect.gen(function* () {
    const record = yield* bench.get(key)
    yield* bench.commit([put(key, { expect: record?.version ?? 0, body: String(Number(record?.body ?? 0) + 1) })])
  }).pipe(Effect.retry({ while: (error) => error instanceof StoreConflict }))

export const concurrency = cases("concurrency", {
  *"of many creates of one record, one wins"({ commit, get, list }) {
    const won = yield* race(times(30).map((index) => commit([put("a", { body: String(index), indexTerms: ["t"] })])))
    equal(won, 1)
    ok((yield* get("a")) !== undefined)
    deepEqual(yield* list(["t"]), { keys: ["a"], total: 1 })
  },

  *"of many records that claim one value, one wins"({ commit, holder, list }) {
    const won = yield* race(
      times(30).map((index) => commit([put(`r${index}`, { uniqueKeys: ["c"], indexTerms: ["t"] })]))
    )
    equal(won, 1)
    deepEqual((yield* list(["t"])).keys, [yield* holder("c")])
  },

  *"of many updates of one version, one wins"({ commit, get }) {
    const [version = 0] = inOrder(yield* commit([put("a")]))
    const won = yield* race(times(30).map((index) => commit([put("a", { expect: version, body: String(index) })])))
    equal(won, 1)
    ok(((yield* get("a"))?.version ?? 0) > version)
  },

  *"no update is lost between writers that read, compute and commit"(bench) {
    yield* bench.commit([put("a", { body: "0" })])
    yield* Effect.forEach(times(20), () => increment(bench, "a"), { concurrency: "unbounded" })
    equal((yield* bench.get("a"))?.body, "20")
  },

  *"many adds reach a maximum exactly"({ commit, counter }) {
    const won = yield* race(times(100).map(() => commit([add("n", 3, 90)])))
    equal(won, 30)
    equal(yield* counter("n"), 90)
  },

  *"counts that come together are judged one by one, and one that is refused stops no other"(bench) {
    const { commit, store, partition } = bench
    const [version = 0] = inOrder(yield* commit([put("a")]))
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
    equal(outcomes.filter((outcome) => outcome === "exceeded").length, 170)
    const [all, ...others] = yield* store.counters(partition, ["n", "n0", "n1", "n2"])
    equal(all, 100)
    equal(
      others.reduce((sum, count) => sum + count, 0),
      200
    )
  },

  *"a limit holds against many creates at once"({ commit, list }) {
    const won = yield* race(
      times(30).map((index) =>
        commit([Change.AtMost({ term: "t", atMost: 6 }), put(`r${index}`, { indexTerms: ["t"] })])
      )
    )
    equal(won, 7)
    equal((yield* list(["t"])).total, 7)
  },

  *"a parent's delete and its children's creation never leave an orphan"({ commit, get, list }) {
    for (const round of times(5)) {
      const parent = `p${round}`
      const [version = 0] = inOrder(yield* commit([put(parent)]))
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

  *"one id at once from many callers is applied once"({ commit, counter }) {
    const answers = yield* Effect.forEach(times(20), () => commit([add("n", 1)], once("id")), {
      concurrency: "unbounded"
    })
    equal(yield* counter("n"), 1)
    equal(answers.filter(({ replayed }) => replayed === undefined).length, 1)
    deepEqual(new Set(answers.map(({ totals }) => totals.get("n"))), new Set([1]))
  },

  *"a commit that is refused does not spoil those that run beside it"({ commit, list }) {
    yield* commit([put("taken")])
    const won = yield* race(
      times(40).map((index) => commit([put(index % 2 === 0 ? `r${index}` : "taken", { indexTerms: ["t"] })]))
    )
    equal(won, 20)
    equal((yield* list(["t"])).total, 20)
  },

  *"readers beside a writer see a commit whole or not at all"({ commit, store, partition }) {
    let versions = inOrder(yield* commit([put("a", { body: "0" }), put("b", { body: "0" })]))
    const writer = Effect.gen(function* () {
      for (const round of times(30)) {
        const body = String(round + 1)
        versions = inOrder(
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

  *"several pages, or several claims, are of one moment"({ commit, store, partition }) {
    const pair = (expect: ReadonlyArray<number>, side: string) => [
      put("a", { expect: expect[0] ?? 0, indexTerms: [`a:${side}`], uniqueKeys: [`a:${side}`] }),
      put("b", { expect: expect[1] ?? 0, indexTerms: [`b:${side}`], uniqueKeys: [`b:${side}`] })
    ]
    let versions = inOrder(yield* commit(pair([], "left")))
    const writer = Effect.gen(function* () {
      for (const round of times(30))
        versions = inOrder(yield* commit(pair(versions, round % 2 === 0 ? "right" : "left")))
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
