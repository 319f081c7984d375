/**
 * The directories of accounts, key buckets and projects: in which order they are written.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  AccountName,
  Accounts,
  ConsumerName,
  Consumers,
  type CoreServices,
  KeyBucketName,
  KeyBuckets,
  MeteringBuckets,
  Tollgate
} from "@tollgate/core/effect"
import { type DeploymentServices, Projects, Uploads } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { Partition, Store, type StoreOperations } from "@tollgate/store"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { isBackgroundCall } from "@tollgate/testing"
import { Context, DateTime, Effect, Layer, References } from "effect"
import { TestClock } from "effect/testing"
import { deploymentDirectory } from "../../deployments/src/model/partitions.ts"
import { memoryDeployments } from "./allModules.ts"
import { content, createUploadUrl } from "./processes.ts"
import { secret } from "./stores.ts"

const page = { limit: 1000, offset: 0 }
const acme = AccountName.make("acme")
const production = { accountName: acme, bucketName: KeyBucketName.make("production") }

/** Starts a process on a store, without its logs. */
const start = (store: StoreOperations) =>
  Layer.build(
    Tollgate.layer({
      secret,
      publicUrl: "http://gate",
      modules: [memoryDeployments()]
    }).pipe(Layer.provide(Layer.succeed(Store, store)))
  ).pipe(Effect.provideService(References.MinimumLogLevel, "None"))

type Process = Context.Context<CoreServices | DeploymentServices>

const toEntries = (items: ReadonlyArray<{ readonly name: string; readonly createdOn: DateTime.Utc }>) =>
  items.map(({ name, createdOn }) => `${name} ${DateTime.formatIso(createdOn)}`)

const listAccounts = (process: Process) =>
  Effect.map(Context.get(process, Accounts).list({ query: page }), ({ data }) => toEntries(data))

const listKeyBuckets = (process: Process) =>
  Effect.map(Context.get(process, KeyBuckets).list({ params: { accountName: acme }, query: page }), ({ data }) =>
    toEntries(data)
  )

const listProjects = (process: Process) =>
  Effect.map(Context.get(process, Projects).list({ params: { accountName: acme }, query: page }), ({ data }) =>
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
            memory.list(deploymentDirectory, [{ indexTerms: ["project"], ...page }])
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
      // The account, the key bucket and the consumer; then the consumer only.
      assert.strictEqual(yield* countCalls(createConsumer(process)), 3)
      assert.strictEqual(yield* countCalls(createConsumer(process, "bob")), 1)
      const staging = { ...production, bucketName: KeyBucketName.make("staging") }
      assert.strictEqual(yield* countCalls(createConsumer(process, "bob", staging)), 2)
      assert.strictEqual(yield* countCalls(createMeteringBucket(process)), 2)
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
      yield* deploy(other)
      assert.deepStrictEqual(yield* listAccounts(other), ["acme 1970-01-01T00:00:00.000Z"])
      assert.deepStrictEqual(yield* listKeyBuckets(other), ["production 1970-01-01T00:00:00.000Z"])
      assert.deepStrictEqual(yield* listProjects(other), ["web 1970-01-02T00:00:00.000Z"])
    }).pipe(Effect.scoped)
  )
})
