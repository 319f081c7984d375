/**
 * The directories of accounts, key buckets and projects: in which order they are written, and how those of an older
 * version of Tollgate are completed.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  AccountName,
  Accounts,
  ConsumerName,
  Consumers,
  Deployments,
  KeyBucketName,
  KeyBuckets,
  MeteringBuckets,
  Projects,
  type Services,
  Tollgate,
  Uploads
} from "@tollgate/core/effect"
import {
  Change,
  memorySourceStore,
  memoryTarget,
  Partition,
  Store,
  type StoreOperations,
  StoreUnavailable
} from "@tollgate/core/store"
import { MemoryStore } from "@tollgate/memory"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall } from "@tollgate/testing"
import { Clock, Context, DateTime, Effect, Layer, References } from "effect"
import { TestClock } from "effect/testing"
import { branch, content, createUploadUrl, writeLegacyDeployment } from "./processes.ts"
import { secret, stores } from "./stores.ts"

const page = { limit: 1000, offset: 0 }
const acme = AccountName.make("acme")
const production = { accountName: acme, bucketName: KeyBucketName.make("production") }
const unavailable = new StoreUnavailable({ operation: "list", problem: "test", outcome: "not-applied" })

/** Starts a process on a store, without its logs. */
const start = (store: StoreOperations, limits = {}) =>
  Layer.build(
    Tollgate.layer({
      secret,
      limits,
      publicUrl: "http://gate",
      deployments: { sources: memorySourceStore(), target: memoryTarget() }
    }).pipe(Layer.provide(Layer.succeed(Store, store)))
  ).pipe(Effect.provideService(References.MinimumLogLevel, "None"))

type Process = Context.Context<Services>

const toEntries = (items: ReadonlyArray<{ readonly name: string; readonly createdOn: DateTime.Utc }>) =>
  items.map(({ name, createdOn }) => `${name} ${DateTime.formatIso(createdOn)}`)

const listAccounts = (process: Process) =>
  Effect.map(Context.get(process, Accounts).list({ query: page }), ({ data }) => toEntries(data))

const listKeyBuckets = (process: Process, accountName = acme) =>
  Effect.map(Context.get(process, KeyBuckets).list({ params: { accountName }, query: page }), ({ data }) =>
    toEntries(data)
  )

const listProjects = (process: Process, accountName = acme) =>
  Effect.map(Context.get(process, Projects).list({ params: { accountName }, query: page }), ({ data }) =>
    toEntries(data)
  )

const createConsumer = (process: Process, name = "alice", bucket = production) =>
  Context.get(process, Consumers).create({ params: bucket, payload: { name: ConsumerName.make(name) } })

const createMeteringBucket = (process: Process) =>
  Context.get(process, MeteringBuckets).create({ payload: { accountName: acme } })

const deploy = (process: Process) =>
  Effect.flatMap(createUploadUrl(Context.get(process, Uploads)), (url) =>
    Context.get(process, Uploads).receive(url, content)
  )

describe("an account", () => {
  const writes = { createConsumer, createMeteringBucket, deploy } as const

  it.effect("is listed before anything of it is written, whichever store call fails", () =>
    Effect.gen(function* () {
      for (const [label, write] of Object.entries(writes)) {
        for (let call = 1, isOver = false; !isOver; call++) {
          const memory = MemoryStore.open()
          const { store, injectAt, calls } = makeFaultyStore(memory, isBackgroundCall)
          const process = yield* start(store)
          injectAt(call, "fail")
          yield* Effect.ignore(write(process))
          isOver = calls() < call
          injectAt(0, "fail")
          const directories = yield* Effect.all([
            memory.list(Partition.keysDirectory, [{ indexTerms: ["bucket"], ...page }]),
            memory.list(Partition.meteringDirectory, [{ indexTerms: ["listing"], ...page }]),
            memory.list(Partition.deploymentDirectory, [{ indexTerms: ["project"], ...page }])
          ])
          const hasContent = directories.some(([page]) => page !== undefined && page.total > 0)
          const accounts = yield* listAccounts(process)
          if (hasContent) assert.lengthOf(accounts, 1, `${label}, call ${call}`)
          if (isOver) assert.lengthOf(accounts, 1, label)
        }
      }
    }).pipe(Effect.scoped)
  )

  it.effect("costs a process one store call, at the first write", () =>
    Effect.gen(function* () {
      const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open(), isBackgroundCall)
      const process = yield* start(store)
      const countCalls = (write: Effect.Effect<unknown, unknown>) =>
        Effect.gen(function* () {
          injectAt(0, "fail")
          yield* write
          return calls()
        })
      // The account, the key bucket and the consumer; then the consumer only. Two more calls before the first event of a
      // partition: they read and write its entry in the directory of events. One reads the bytes of the account, at most
      // once a second.
      assert.strictEqual(yield* countCalls(createConsumer(process)), 3 + 2 + 1)
      assert.strictEqual(yield* countCalls(createConsumer(process, "bob")), 1)
      const staging = { ...production, bucketName: KeyBucketName.make("staging") }
      assert.strictEqual(yield* countCalls(createConsumer(process, "bob", staging)), 2 + 2)
      assert.strictEqual(yield* countCalls(createMeteringBucket(process)), 2 + 2)
    }).pipe(Effect.scoped)
  )

  it.effect("keeps the date of its first write", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      yield* Effect.scoped(Effect.flatMap(start(store), (process) => createConsumer(process)))
      yield* TestClock.adjust("1 day")
      const other = yield* start(store)
      yield* createConsumer(other, "bob")
      yield* createMeteringBucket(other)
      assert.deepStrictEqual(yield* listAccounts(other), ["acme 1970-01-01T00:00:00.000Z"])
      assert.deepStrictEqual(yield* listKeyBuckets(other), ["production 1970-01-01T00:00:00.000Z"])
    }).pipe(Effect.scoped)
  )
})

const toBody = (value: object): string => `1 ${JSON.stringify(value)}`
const put = (collection: string, key: string, value: object, terms: ReadonlyArray<string> = []) =>
  Change.Put({
    key: `${collection}/${key}`,
    expect: 0,
    body: toBody(value),
    indexTerms: [collection, ...terms.map((term) => `${collection}/${term}`)],
    uniqueKeys: []
  })

const onDay = (day: number): string => `2026-01-${String(day).padStart(2, "0")}T00:00:00.000Z`
const meteringBucketId = (index: number): string => `bckt_${String(index).padStart(24, "0")}`

/** The records of key buckets without a date. */
const writeOldKeyBucket = (store: StoreOperations, accountName: string, bucketName: string) =>
  store.commit(Partition.keysDirectory, [
    put("bucket", `${accountName}/${bucketName}`, { accountName, bucketName }, [`account:${accountName}`])
  ])

const writeConsumer = (store: StoreOperations, account: string, bucket: string, name: string, day: number) =>
  store.commit(Partition.forKeyBucket(account, bucket), [
    put("consumer", name, {
      id: `csmr_${String(day).padStart(24, "0")}`,
      name,
      createdOn: onDay(day),
      updatedOn: onDay(day),
      tags: {},
      metadata: {},
      managers: [],
      managerInvites: []
    })
  ])

const writeOldMeteringBucket = (store: StoreOperations, accountName: string, index: number, day: number) => {
  const bucket = { id: meteringBucketId(index), createdOn: onDay(day), updatedOn: onDay(day), accountName }
  return store.commit(Partition.meteringDirectory, [
    put("listing", bucket.id, { bucket, deleting: false }, [`account:${accountName}`])
  ])
}

/** A project that is counted, but has no date. */
const writeOldProject = (store: StoreOperations, accountName: string, projectName: string) =>
  store.commit(Partition.deploymentDirectory, [
    put("project", Partition.forProject(accountName, projectName), { accountName, projectName, deployments: 1 }, [
      `account:${accountName}`
    ])
  ])

/** What the previous version wrote: no accounts, no dates, and deployments without a project. */
const writeOldStore = (store: StoreOperations) =>
  Effect.gen(function* () {
    yield* writeOldKeyBucket(store, "acme", "production")
    yield* writeOldKeyBucket(store, "acme", "empty")
    yield* writeConsumer(store, "acme", "production", "alice", 5)
    yield* writeConsumer(store, "acme", "production", "bob", 6)
    yield* writeOldMeteringBucket(store, "acme", 1, 3)
    yield* writeOldMeteringBucket(store, "metered", 2, 4)
    yield* writeOldProject(store, "acme", "counted")
    // Has a deployment of 1 January.
    yield* writeLegacyDeployment(store, { ...branch, accountName: "sites" }, "web-main-1234567")
  })

const completed = {
  accounts: [`sites ${onDay(1)}`, `acme ${onDay(3)}`, `metered ${onDay(4)}`],
  keyBuckets: [`production ${onDay(5)}`, `empty ${onDay(20)}`],
  projects: [`counted ${onDay(20)}`],
  sites: [`web ${onDay(1)}`]
}

const listAll = (process: Process) =>
  Effect.all({
    accounts: listAccounts(process),
    keyBuckets: listKeyBuckets(process),
    projects: listProjects(process),
    sites: listProjects(process, AccountName.make("sites"))
  })

const completionTime = DateTime.toEpochMillis(DateTime.makeUnsafe(onDay(20)))

describe.each(stores)("a store of the previous version, on %s", (_, layer) => {
  it.effect("has complete lists after it was opened, also by two processes at once", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(completionTime)
      const store = Context.get(yield* Layer.build(layer), Store)
      yield* writeOldStore(store)
      const openTwice = Effect.all([start(store), start(store)], { concurrency: 2 })
      const lists = yield* Effect.scoped(Effect.flatMap(openTwice, (opened) => Effect.forEach(opened, listAll)))
      assert.deepStrictEqual(lists, [completed, completed])
      yield* TestClock.adjust("30 days")
      assert.deepStrictEqual(yield* listAll(yield* start(store)), completed)
    }).pipe(Effect.scoped)
  )
})

describe("completing the directories", () => {
  it.effect("gives the same result when another process completes them before any store call", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(completionTime)
      const clock = yield* Clock.Clock
      for (let call = 1, isOver = false; !isOver; call++) {
        const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
        yield* writeOldStore(store)
        // Background jobs, which also call the store, use the real clock.
        const interleave = Effect.provideService(Effect.orDie(Effect.scoped(start(store))), Clock.Clock, clock)
        injectAt(call, { interleave })
        const process = yield* start(store)
        isOver = calls() < call
        injectAt(0, "fail")
        assert.deepStrictEqual(yield* listAll(process), completed, `before call ${call}`)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("does not prevent a start when it fails, and the next start repeats it", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(completionTime)
      const memory = MemoryStore.open()
      yield* writeOldStore(memory)
      for (const operation of ["list", "get", "commit"] as const) {
        const store: StoreOperations = {
          ...memory,
          // A start fails if it cannot register the secret in this partition.
          [operation]: (partition: Partition.Partition, ...args: ReadonlyArray<never>) =>
            partition !== Partition.keysDirectory
              ? Effect.fail(unavailable)
              : (memory[operation] as (...all: ReadonlyArray<unknown>) => Effect.Effect<never>)(partition, ...args)
        }
        yield* start(store)
      }
      assert.deepStrictEqual(yield* listAll(yield* start(memory)), completed)
    }).pipe(Effect.scoped)
  )

  it.effect("reads one record when the store is complete", () =>
    Effect.gen(function* () {
      const { store, injectAt, calls } = makeFaultyStore(MemoryStore.open())
      yield* writeOldStore(store)
      yield* start(store)
      const readPartitions: Array<string> = []
      const watched: StoreOperations = {
        ...store,
        list: (partition, queries) => {
          readPartitions.push(...queries.map(({ indexTerms }) => indexTerms.join()))
          return store.list(partition, queries)
        }
      }
      injectAt(0, "fail")
      yield* start(watched)
      // The other lists are those of secrets and of the background jobs.
      assert.notIncludeMembers(readPartitions, ["bucket", "name", "project", "account"])
      assert.isBelow(calls(), 12)
    }).pipe(Effect.scoped)
  )

  it.effect("is repeated after an hour, for processes of the previous version that were still running", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(completionTime)
      const store = MemoryStore.open()
      const process = yield* start(store)
      assert.deepStrictEqual(yield* listAccounts(process), [])
      yield* writeOldStore(store)
      // The date is added at the first read; the account at the next completion.
      assert.deepStrictEqual(yield* listKeyBuckets(process), completed.keyBuckets)
      assert.deepStrictEqual(yield* listAccounts(process), [])
      yield* TestClock.adjust("61 minutes")
      assert.deepStrictEqual(yield* listAccounts(process), completed.accounts)
    }).pipe(Effect.scoped)
  )

  it.effect("makes the date of a listed account earlier when the account has older content", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(completionTime)
      const store = MemoryStore.open()
      const process = yield* start(store)
      yield* createConsumer(process)
      yield* writeOldMeteringBucket(store, "acme", 1, 3)
      assert.deepStrictEqual(yield* listAccounts(process), [`acme ${onDay(20)}`])
      yield* TestClock.adjust("61 minutes")
      assert.deepStrictEqual(yield* listAccounts(process), [`acme ${onDay(3)}`])
    }).pipe(Effect.scoped)
  )

  it.effect("handles more entries than one page has", () =>
    Effect.gen(function* () {
      const store = MemoryStore.open()
      const names = Array.from({ length: 250 }, (_, index) => `account-${index}`)
      yield* Effect.forEach(names, (name) => writeOldKeyBucket(store, name, "production"))
      yield* Effect.forEach(names, (name, index) => writeOldMeteringBucket(store, name, index, 1 + (index % 28)))
      let largest = 0
      const process = yield* start({
        ...store,
        commit: (partition, changes, idempotency) => {
          largest = Math.max(largest, changes.length)
          return store.commit(partition, changes, idempotency)
        }
      })
      assert.strictEqual((yield* listAccounts(process)).length, 250)
      assert.isAtMost(largest, 100)
    }).pipe(Effect.scoped)
  )

  it.effect(
    "counts deployments of the previous version towards the limits, and uncounts them when they are removed",
    () =>
      Effect.gen(function* () {
        const store = MemoryStore.open()
        yield* writeLegacyDeployment(store, { ...branch, projectName: "old" }, "old-main-1234567")
        const process = yield* start(store, { projectsPerAccount: 1 })
        assert.deepStrictEqual(yield* listProjects(process), [`old ${onDay(1)}`])
        assert.strictEqual((yield* Effect.flip(deploy(process)))._tag, "LimitReached")
        yield* Context.get(process, Deployments).remove({ params: { deploymentName: "old-main-1234567" } })
        assert.deepStrictEqual(yield* listProjects(process), [])
        yield* deploy(process)
        assert.lengthOf(yield* listProjects(process), 1)
      }).pipe(Effect.scoped)
  )

  it.effect("leaves no project behind when its deployment is removed before any store call", () =>
    Effect.gen(function* () {
      for (let call = 1, isOver = false; !isOver; call++) {
        const memory = MemoryStore.open()
        const remover = yield* start(memory)
        yield* writeLegacyDeployment(memory, branch, "web-main-1234567")
        const { store, injectAt, calls } = makeFaultyStore(memory)
        const remove = Context.get(remover, Deployments).remove({ params: { deploymentName: "web-main-1234567" } })
        // Removes the record that marks the store as complete.
        yield* memory.clear(Partition.accountsDirectory)
        injectAt(call, { interleave: Effect.ignore(remove) })
        const process = yield* start(store)
        isOver = calls() < call
        injectAt(0, "fail")
        if (isOver) yield* remove
        assert.deepStrictEqual(yield* listProjects(process), [], `before call ${call}`)
      }
    }).pipe(Effect.scoped)
  )
})
