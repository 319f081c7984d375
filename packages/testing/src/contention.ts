/**
 * A workload that several processes run on one store concurrently, and the checks of its outcome: each name is created
 * once, no counter exceeds its maximum, no update is lost, and no counter changes between its check and its change.
 */
import { randomUUID } from "node:crypto"
import { Change, type CommitResult, Partition, StoreConflict, type StoreOperations } from "@tollgate/store"
import { Effect } from "effect"

const partition = Partition.forKeyBucket("contention", "shared")
const nameCount = 50
const maximum = 100
const incrementsPerProcess = 25

export interface ContentionResult {
  /** The names that this process created. */
  readonly created: ReadonlyArray<number>
  /** How many of its adds to the counter succeeded. */
  readonly added: number
  /** How often it incremented the shared record. */
  readonly incremented: number
  /** The values of a counter that it read, checked and raised by 1. */
  readonly checked: ReadonlyArray<number>
  /** Errors other than conflicts. */
  readonly failures: ReadonlyArray<string>
}

const put = (key: string, body: string, expect: number) =>
  Change.Put({ key, expect, body, indexTerms: ["record"], uniqueKeys: [], parent: "shared" })

const addChecked = Change.Add({ counter: "checked", by: 1, ttl: 60_000 })

/**
 * The work of one process: 50 creates, 100 adds to a shared counter with a maximum of 100, 25 read-modify-writes of a record
 * and as many of a counter, to which it also adds 25 times without a check.
 */
export const compete = async (store: StoreOperations): Promise<ContentionResult> => {
  const failures: Array<string> = []
  const attempt = (changes: ReadonlyArray<Change>): Effect.Effect<CommitResult | undefined> =>
    store.commit(partition, changes).pipe(
      Effect.catch((error) =>
        Effect.sync(() => {
          if (!(error instanceof StoreConflict)) failures.push(`${error.message}: ${error.cause}`)
          return undefined
        })
      )
    )
  const times = (count: number) => Array.from({ length: count }, (_, index) => index)

  const increment = Effect.gen(function* () {
    const [record] = yield* store.get(partition, ["shared"])
    yield* store.commit(partition, [put("shared", String(Number(record?.body ?? 0) + 1), record?.version ?? 0)])
  }).pipe(Effect.retry({ while: (error) => error instanceof StoreConflict }))

  const incrementChecked = (index: number) =>
    Effect.gen(function* () {
      const [value = 0] = yield* store.counters(partition, ["checked"])
      const changes = [Change.CheckCounter({ counter: "checked", expect: value }), addChecked]
      const record = Change.Put({ key: randomUUID(), expect: 0, body: "", indexTerms: [], uniqueKeys: [] })
      yield* store.commit(partition, index % 2 === 0 ? changes : [record, ...changes])
      return value
    }).pipe(Effect.retry({ while: (error) => error instanceof StoreConflict }))

  return Effect.runPromise(
    Effect.gen(function* () {
      const creates = Effect.forEach(times(nameCount), (name) => attempt([put(`name ${name}`, "", 0)]), {
        concurrency: 10
      })
      const adds = Effect.forEach(
        times(maximum),
        () => attempt([Change.Add({ counter: "quota", by: 1, max: maximum, ttl: 60_000 })]),
        { concurrency: 10 }
      )
      const increments = Effect.forEach(times(incrementsPerProcess), () => increment)
      const addsUnchecked = Effect.forEach(times(incrementsPerProcess), () => attempt([addChecked]))
      const checks = Effect.forEach(times(incrementsPerProcess), incrementChecked)
      const [created, added, checked] = yield* Effect.all([creates, adds, checks, increments, addsUnchecked], {
        concurrency: "unbounded"
      })
      return {
        created: times(nameCount).filter((name) => created[name] !== undefined),
        added: added.filter((result) => result !== undefined).length,
        incremented: incrementsPerProcess,
        checked,
        failures
      }
    })
  )
}

/** Throws unless the results of the processes and the content of the store are consistent. */
export const assertConsistent = async (
  store: StoreOperations,
  results: ReadonlyArray<ContentionResult>
): Promise<void> => {
  const expect = (subject: string, actual: unknown, expected: unknown) => {
    if (JSON.stringify(actual) !== JSON.stringify(expected)) {
      throw new Error(`${subject}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`)
    }
  }
  const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, number) => total + number, 0)
  const createdNames = results.flatMap(({ created }) => created).sort((left, right) => left - right)
  expect(
    "errors other than conflicts",
    results.flatMap(({ failures }) => failures),
    []
  )
  expect(
    "created names, each once",
    createdNames,
    Array.from({ length: nameCount }, (_, name) => name)
  )
  expect("successful adds", sum(results.map(({ added }) => added)), maximum)
  expect("value of the counter", await Effect.runPromise(store.counters(partition, ["quota"])), [maximum])
  const checked = results.flatMap((result) => result.checked)
  expect("checked values, each once", new Set(checked).size, incrementsPerProcess * results.length)
  expect("value of the checked counter", await Effect.runPromise(store.counters(partition, ["checked"])), [
    checked.length + incrementsPerProcess * results.length
  ])
  const [shared] = await Effect.runPromise(store.get(partition, ["shared"]))
  expect("value of the shared record", Number(shared?.body), sum(results.map(({ incremented }) => incremented)))
  const [page] = await Effect.runPromise(store.list(partition, [{ indexTerms: ["record"], offset: 0, limit: 0 }]))
  expect("listed records", page?.total, nameCount + 1)
}
