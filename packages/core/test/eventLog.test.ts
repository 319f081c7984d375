/**
 * The event log of an account: its order, filters and pages, and how long it keeps events.
 */
import type { EventJson } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Partition, type StoreOperations } from "@tollgate/store"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { createConsumers, freshAccount, openGate, readLog, types, useGate } from "./eventGates.ts"
import { stores } from "./stores.ts"

const unknownId = "evt_000000000000000000000000"

/** Makes events of consumers, each a commit of its own, in this order. */
const names = (events: ReadonlyArray<EventJson>) => events.map(({ subject }) => subject.name)
const ids = (events: ReadonlyArray<EventJson>) => events.map(({ id }) => id)

describe.each(stores)("the event log, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const read = (accountName: string) => readLog(store(), gate(), accountName)

  /** An account with six consumers: the even ones were updated, and the first one has two keys. */
  const prepare = async () => {
    const accountName = freshAccount()
    const account = gate().account(accountName)
    await createConsumers(gate(), accountName, 6)
    const { consumers, keys } = account.keyBucket("production")
    for (const index of [0, 2, 4]) await consumers.update(`c${index}`, { description: "new" })
    await keys.createMany("c0", [{}, {}])
    return { accountName, events: account.events, all: await read(accountName) }
  }

  it("lists the newest first, and oldest first on request, in pages with a total", async () => {
    const { events, all } = await prepare()
    expect(types(all)).toEqual([
      ...Array.from({ length: 6 }, () => "consumer.created"),
      ...Array.from({ length: 3 }, () => "consumer.updated"),
      ...Array.from({ length: 2 }, () => "key.created")
    ])
    const newestFirst = all.toReversed()
    expect((await events.list()).data).toEqual(newestFirst)
    expect((await events.list({ order: "desc" })).data).toEqual(newestFirst)
    expect(await events.list({ limit: 4, offset: 3 })).toEqual({
      data: newestFirst.slice(3, 7),
      limit: 4,
      offset: 3,
      total: 11,
      next: expect.any(String)
    })
    expect(await events.list({ limit: 4, offset: 9, order: "asc" })).toEqual({
      data: all.slice(9),
      limit: 4,
      offset: 9,
      total: 11
    })
    expect((await events.list({ offset: 11 })).data).toEqual([])
  })

  it("lists one type, one group of types, or one subject", async () => {
    const { events, all } = await prepare()
    const subject = all[0]?.subject.id
    const list = async (options: Parameters<typeof events.list>[0]) =>
      (await events.list({ order: "asc", ...options })).data
    expect(await list({ type: "consumer.updated" })).toEqual(all.slice(6, 9))
    expect(await list({ type: "consumer.*" })).toEqual(all.slice(0, 9))
    expect(await list({ type: "key.*" })).toEqual(all.slice(9))
    expect(await list({ type: "plan.*" })).toEqual([])
    expect(await list({ subject })).toEqual([all[0], all[6]])
    expect(await list({ subject, type: "consumer.updated" })).toEqual([all[6]])
    expect(await list({ subject: "another" })).toEqual([])
    expect((await events.list({ subject, type: "consumer.*", limit: 1 })).total).toBe(2)
    for (const type of ["consumer", "consumer.", "consumer.create", "*", "", "consumer.created.*", "webhook.test"]) {
      await expect(events.list({ type: type as "key.*" })).rejects.toMatchObject({ _tag: "InvalidInput" })
    }
  })

  it("lists what concerns a consumer with its keys, those that are gone too, and what concerns a customer", async () => {
    const { accountName, events } = await prepare()
    const account = gate().account(accountName)
    const { keys } = account.keyBucket("production")
    const [key] = (await keys.list("c0")).data
    await keys.remove("c0", key?.id ?? "")
    await account.keyBucket("staging").consumers.create({ name: "c0" })
    const metering = await account.meteringBuckets.ensure("default")
    await metering.plans.create({ label: "free", meters: { requests: { max: 10 } } })
    for (const customerKey of ["c0", "cus_1"])
      await metering.subscriptions.create({ customerKey, planExternalIds: ["free"] })
    await metering.customer("cus_1").grants.create({ meter: "requests", amount: 5 })
    await metering.customer("cus_1").consume({ requests: 9 })
    await metering.customer("cus_1").adjust({ meter: "requests", amount: -1, reason: "a test" })
    await read(accountName)
    const list = async (options: Parameters<typeof events.list>[0]) =>
      types((await events.list({ order: "asc", ...options })).data)
    const consumer = { keyBucketName: "production", consumerName: "c0" }
    expect(await list(consumer)).toEqual([
      "consumer.created",
      "consumer.updated",
      "key.created",
      "key.created",
      "key.deleted"
    ])
    expect(await list({ ...consumer, type: "key.deleted" })).toEqual(["key.deleted"])
    expect(await list({ ...consumer, consumerName: "c" })).toEqual([])
    expect((await list({ customerKey: "cus_1" })).toSorted()).toEqual([
      "grant.created",
      "quota.threshold_reached",
      "subscription.created",
      "usage.adjusted"
    ])
    for (const half of [{ consumerName: "c0" }, { keyBucketName: "production" }])
      await expect(events.list(half)).rejects.toMatchObject({
        _tag: "InvalidInput",
        detail: expect.stringContaining("is missing")
      })
  })

  it("lists what arrived before an event, in both orders, with filters and in pages", async () => {
    const { events, all } = await prepare()
    for (const [place, event] of all.entries()) {
      const earlier = all.slice(0, place)
      expect(await events.list({ before: event.id })).toMatchObject({ data: earlier.toReversed(), total: place })
      expect(await events.list({ before: event.id, order: "asc" })).toMatchObject({ data: earlier, total: place })
      const created = earlier.filter(({ type }) => type === "consumer.created")
      const filter = { before: event.id, type: "consumer.created" } as const
      expect(await events.list({ ...filter, limit: 2, offset: 1 })).toMatchObject({
        data: created.toReversed().slice(1, 3),
        total: created.length
      })
      expect(await events.list({ ...filter, order: "asc", limit: 2, offset: 1 })).toMatchObject({
        data: created.slice(1, 3),
        total: created.length
      })
    }
    expect(await events.list({ before: unknownId })).toMatchObject({ data: [], total: 0 })
    for (const before of ["", "evt_1", "csmr_000000000000000000000000", `${unknownId}0`]) {
      await expect(events.list({ before })).rejects.toMatchObject({ _tag: "InvalidInput" })
    }
  })

  it("pages back from an event while others arrive, without a gap or a repetition", async () => {
    const accountName = freshAccount()
    await createConsumers(gate(), accountName, 60)
    const all = await read(accountName)
    const { events } = gate().account(accountName)
    const seen: Array<EventJson> = []
    let before = all[59]?.id
    for (let page = 0; before !== undefined; page++) {
      await createConsumers(gate(), accountName, 1, 60 + page)
      const { data } = await events.list({ before, limit: 7 })
      seen.push(...data)
      before = data.at(-1)?.id
    }
    expect(ids(seen)).toEqual(ids(all.slice(0, 59).toReversed()))
  })

  it("pages back in full when many events arrive while a page is read", async () => {
    const accountName = freshAccount()
    await createConsumers(gate(), accountName, 20)
    const all = await read(accountName)
    let arrivals = 0
    const arrive = Effect.promise(async () => {
      await createConsumers(gate(), accountName, 8, 20 + 8 * arrivals++)
      await read(accountName)
    })
    const list: StoreOperations["list"] = (partition, queries) => {
      const page = store().list(partition, queries)
      return partition === Partition.forEvents(accountName) && arrivals < 12 ? Effect.tap(page, arrive) : page
    }
    const interrupted = await openGate({ ...store(), list })
    const { data, total } = await interrupted.account(accountName).events.list({ before: all[15]?.id ?? "", limit: 7 })
    expect(ids(data)).toEqual(ids(all.slice(8, 15).toReversed()))
    expect(total).toBe(15)
    expect(arrivals).toBe(12)
    await interrupted.close()
  })

  it("is empty for an account that does not exist", async () => {
    expect(await gate().account(freshAccount()).events.list()).toEqual({ data: [], limit: 1000, offset: 0, total: 0 })
  })

  it("keeps the newest events of each account, and drops the oldest when others arrive", async () => {
    const [accountName, other] = [freshAccount(), freshAccount()]
    const keeping = await openGate(store(), { events: { maxEventsPerAccount: 5 } })
    // Only the gate that limits the log writes to it.
    await createConsumers(keeping, other, 3)
    for (let count = 1; count <= 8; count++) {
      await createConsumers(keeping, accountName, 1, count)
      const log = await readLog(store(), keeping, accountName)
      expect(log.length).toBeLessThanOrEqual(5)
      expect(names(log)).toEqual(
        Array.from({ length: Math.min(count, 5) }, (_, index) => `c${count - index}`).reverse()
      )
    }
    const { keys } = keeping.account(accountName).keyBucket("production")
    const { data } = await keys.createMany(
      "c1",
      Array.from({ length: 12 }, () => ({}))
    )
    const log = await readLog(store(), keeping, accountName)
    expect(log.map(({ subject }) => subject.id)).toEqual(data.slice(-5).map(({ id }) => id))
    expect((await readLog(store(), keeping, other)).length).toBe(3)
    await keeping.close()
  })

  it("drops what is too much when it is read, also far more than one commit drops", async () => {
    const accountName = freshAccount()
    const { consumers, keys } = gate().account(accountName).keyBucket("production")
    await consumers.create({ name: "alice" })
    await keys.createMany(
      "alice",
      Array.from({ length: 1_000 }, () => ({}))
    )
    await keys.createMany(
      "alice",
      Array.from({ length: 300 }, () => ({}))
    )
    const all = await read(accountName)
    expect(all.length).toBe(1_301)
    const keeping = await openGate(store(), { events: { maxEventsPerAccount: 10 } })
    const { data, total } = await keeping.account(accountName).events.list({ order: "asc" })
    expect(ids(data)).toEqual(ids(all.slice(-10)))
    expect(total).toBe(10)
    await keeping.close()
  })
})

describe("a page of the events before another", () => {
  it("is the same when old events are dropped while it is read", async () => {
    const store = MemoryStore.open()
    let beforePage: Effect.Effect<unknown> = Effect.void
    const dropping: StoreOperations = {
      ...store,
      list: (partition, queries) => {
        if (partition !== Partition.forEvents("acme") || !queries.some(({ limit }) => limit === 3))
          return store.list(partition, queries)
        const drop = beforePage
        beforePage = Effect.void
        return Effect.andThen(drop, store.list(partition, queries))
      }
    }
    const gate = await openGate(dropping)
    await createConsumers(gate, "acme", 20)
    const all = await readLog(store, gate, "acme")
    const keeping = await openGate(store, { events: { maxEventsPerAccount: 15 } })
    beforePage = Effect.promise(() => keeping.account("acme").events.list())
    const query = { before: all[19]?.id, limit: 3, offset: 8 }
    const { data, total } = await gate.account("acme").events.list(query)
    expect(ids(data)).toEqual(ids([10, 9, 8].flatMap((place) => all[place] ?? [])))
    expect(total).toBe(14)
    await Promise.all([gate.close(), keeping.close()])
  })
})
