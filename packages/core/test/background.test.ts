/**
 * What background work costs an idle process, and processes without any.
 */

import { assert, describe, expect, it } from "@effect/vitest"
import { createTollgate } from "@tollgate/core"
import { AccountName, ConsumerName, Consumers, KeyBucketName, Tollgate } from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { Change, Partition, Store, type StoreOperations } from "@tollgate/store"
import { eventually } from "@tollgate/testing"
import { webhooks } from "@tollgate/webhooks"
import { Clock, Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { respondWith, startReceiver } from "../../webhooks/test/receivers.ts"
import { BackgroundClock } from "../src/jobs/BackgroundClock.ts"
import { secret } from "./secrets.ts"

const flushEventLoop = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

const countCalls = (store: StoreOperations) => {
  let calls = 0
  const count =
    <A extends ReadonlyArray<unknown>, B>(operation: (...args: A) => B) =>
    (...args: A): B => {
      calls++
      return operation(...args)
    }
  const { get, list, search, counters, commit, clear, getByUniqueKey } = store
  const counting: StoreOperations = {
    get: count(get),
    list: count(list),
    search: count(search),
    counters: count(counters),
    clear: count(clear),
    // Without `now`, which does not wait for the store.
    commit: count(commit),
    getByUniqueKey: count(getByUniqueKey)
  }
  return { counting, read: () => calls }
}

/** A process whose background work pauses on the TestClock, and what it costs in a minute. */
const startProcess = Effect.fnUntraced(function* (store: StoreOperations, background = true) {
  const { counting, read } = countCalls(store)
  const layer = Tollgate.layer({ secret, background }).pipe(Layer.provide(Layer.succeed(Store, counting)))
  const context = yield* Layer.build(Layer.fresh(layer)).pipe(
    Effect.provideService(BackgroundClock, yield* Clock.Clock)
  )
  const consumers = Context.get(context, Consumers)
  const pass = Effect.fnUntraced(function* (seconds: number) {
    const before = read()
    for (let second = 0; second < seconds; second++) {
      yield* TestClock.adjust("1 second")
      yield* flushEventLoop
    }
    return read() - before
  })
  return {
    pass,
    createConsumer: (account: string) =>
      consumers.create({
        params: { accountName: AccountName.make(account), bucketName: KeyBucketName.make("production") },
        payload: { name: ConsumerName.make("alice") }
      })
  }
})

const listEntries = (store: StoreOperations) =>
  Effect.map(
    store.list(
      Partition.jobsDirectory,
      ["held", "due", "process"].map((term) => ({ indexTerms: [term], offset: 0, limit: 0 }))
    ),
    (pages) => pages.map(({ total }) => total)
  )

describe("an idle process", () => {
  it.effect("makes at most two store calls a second, however many accounts it has served", () =>
    Effect.gen(function* () {
      const costs: Array<number> = []
      for (const accounts of [1, 500]) {
        const store = MemoryStore.open()
        const process = yield* startProcess(store)
        for (let index = 0; index < accounts; index++) yield* process.createConsumer(`account-${index}`)
        // The events move.
        yield* process.pass(60)
        const busiest = yield* process.pass(60)
        assert.isAtMost(busiest, 120)
        assert.deepStrictEqual(yield* listEntries(store), [2 * accounts, 0, 1])
        // Its entries go in some large commits.
        assert.isAtMost(yield* process.pass(600), 1_200)
        assert.deepStrictEqual(yield* listEntries(store), [0, 0, 1])
        costs.push(yield* process.pass(60))
      }
      const [one = 0, many = 0] = costs
      assert.isAtMost(one, 120)
      assert.isAtMost(Math.abs(many - one), 6)
    }).pipe(Effect.scoped)
  )

  it.effect("makes no store call without background work", () =>
    Effect.gen(function* () {
      const process = yield* startProcess(MemoryStore.open(), false)
      yield* process.createConsumer("acme")
      // The bytes of the account.
      yield* process.pass(60)
      assert.strictEqual(yield* process.pass(3_600), 0)
    }).pipe(Effect.scoped)
  )
})

describe("an entry that this version cannot read", () => {
  it("stops no other background work", async () => {
    const store = MemoryStore.open()
    const body = '99 {"from":"a later version"}'
    const unreadable = ["process/later", "due/later/partition"].map((key) =>
      Change.Put({ key, expect: 0, body, indexTerms: [key.split("/")[0] ?? "", "due/on:2025"], uniqueKeys: [] })
    )
    await Effect.runPromise(store.commit(Partition.jobsDirectory, unreadable))
    const script = await createTollgate({ store, secret, background: false })
    await script.account("acme").keyBucket("production").consumers.create({ name: "alice" })
    await script.close()
    const server = await createTollgate({ store, secret })
    await eventually(async () => expect((await server.account("acme").events.list()).total).toBe(1))
    await server.close()
  })
})

describe("background: false", () => {
  it("sends no webhook and leaves events and trials to another process, which finds them within seconds", async () => {
    const store = MemoryStore.open()
    const receiver = await startReceiver(respondWith(200))
    const modules = [webhooks({ allowPrivateNetworks: true })]
    const script = await createTollgate({ store, secret, modules, background: false })
    const acme = script.account("acme")
    await acme.webhooks.create({ url: receiver.url, events: ["consumer.*", "subscription.*"] })
    await acme.keyBucket("production").consumers.create({ name: "alice" })
    const billing = await acme.meteringBuckets.ensure("billing")
    await billing.plans.create({ label: "pro", planExternalId: "pro", meters: { requests: { max: 5 } } })
    const trialEndDate = new Date(Date.now() + 1_000).toISOString()
    await billing.subscriptions.create({
      customerKey: "alice",
      planExternalIds: ["pro"],
      status: "trialing",
      trialEndDate
    })
    // It is written to the log itself.
    expect((await acme.events.list()).data.map(({ type }) => type)).toEqual(["webhook.created"])
    await script.close()
    expect(receiver.requests).toHaveLength(0)
    const server = await createTollgate({ store, secret, modules })
    await eventually(() => expect(receiver.requests.length).toBeGreaterThanOrEqual(3))
    const types = async () => (await server.account("acme").events.list()).data.map(({ type }) => type)
    await eventually(async () => expect(await types()).toContain("subscription.status_changed"))
    await server.close()
  })

  it("leaves events to another process, which keeps as many as it is configured to", async () => {
    const store = MemoryStore.open()
    const script = await createTollgate({ store, secret, background: false })
    const { consumers } = script.account("acme").keyBucket("production")
    for (let index = 0; index < 8; index++) await consumers.create({ name: `c-${index}` })
    await script.close()
    const server = await createTollgate({ store, secret, events: { maxEventsPerAccount: 3 } })
    const { events } = server.account("acme")
    await eventually(async () => expect((await events.list()).data[0]?.subject.name).toBe("c-7"))
    const counts = await Effect.runPromise(
      store.list(Partition.forEvents("acme"), [{ indexTerms: ["event"], offset: 0, limit: 0 }])
    )
    expect(counts[0]?.total).toBe(3)
    await server.close()
  })

  it("says so if it is no boolean", async () => {
    const options = { store: MemoryStore.open(), secret, background: "no" as never }
    await expect(createTollgate(options)).rejects.toThrow("background: must be true or false")
  })
})
