/**
 * What several processes do to one store at the same time, and what must come of it: every name has one winner, and
 * no counter passes its maximum. Shared by the adapters whose stores can be shared.
 */
import { Change, type CommitResult, Partition, StoreConflict, type StoreOperations } from "@tollgate/core"
import { Effect } from "effect"

const partition = Partition.keys("rivalry", "shared")
const names = 50
const maximum = 100

export interface ContentionResult {
  /** The names this process was the first to create. */
  readonly created: ReadonlyArray<number>
  /** How many of its attempts to count were let through. */
  readonly counted: number
  /** How often it added one to the shared record. */
  readonly incremented: number
  /** What failed in any other way than by being refused. */
  readonly failures: ReadonlyArray<string>
}

const put = (key: string, body: string, expect: number) =>
  Change.Put({ key, expect, body, indexTerms: ["record"], uniqueKeys: [], parent: "shared" })

/** One process's part: 50 creates, 100 counts against a maximum of 100 for all, 25 read-compute-commits. */
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

  return Effect.runPromise(
    Effect.gen(function* () {
      const creates = Effect.forEach(times(names), (name) => attempt([put(`name ${name}`, "", 0)]), { concurrency: 10 })
      const counts = Effect.forEach(
        times(maximum),
        () => attempt([Change.Add({ counter: "quota", by: 1, max: maximum, ttl: 60_000 })]),
        { concurrency: 10 }
      )
      const increments = Effect.forEach(times(25), () => increment)
      const [created, counted] = yield* Effect.all([creates, counts, increments], { concurrency: "unbounded" })
      return {
        created: times(names).filter((name) => created[name] !== undefined),
        counted: counted.filter((committed) => committed !== undefined).length,
        incremented: 25,
        failures
      }
    })
  )
}

/** Throws unless the rivals' results, and what they left in the store, are as promised. */
export const findViolations = async (
  store: StoreOperations,
  results: ReadonlyArray<ContentionResult>
): Promise<void> => {
  const expect = (what: string, actual: unknown, wanted: unknown) => {
    if (JSON.stringify(actual) !== JSON.stringify(wanted)) {
      throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`)
    }
  }
  const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, number) => total + number, 0)
  const winners = results.flatMap(({ created }) => created).sort((left, right) => left - right)
  expect(
    "failures other than refusals",
    results.flatMap(({ failures }) => failures),
    []
  )
  expect(
    "winners, one for each name",
    winners,
    Array.from({ length: names }, (_, name) => name)
  )
  expect("counts that were let through", sum(results.map(({ counted }) => counted)), maximum)
  expect("the counter", await Effect.runPromise(store.counters(partition, ["quota"])), [maximum])
  const [shared] = await Effect.runPromise(store.get(partition, ["shared"]))
  expect("updates that were kept", Number(shared?.body), sum(results.map(({ incremented }) => incremented)))
  const [page] = await Effect.runPromise(store.list(partition, [{ indexTerms: ["record"], offset: 0, limit: 0 }]))
  expect("records in the list", page?.total, names + 1)
}
