/**
 * Usage by key and by label: what is noted of each count, and how it is bounded.
 */
import { createTollgate, InvalidInput, type Tollgate, type UsageSeriesJson } from "@tollgate/core"
import { Usage, UsageHistory } from "@tollgate/core/effect"
import { removeDue } from "@tollgate/core/module"
import { withApiKey } from "@tollgate/fetch"
import { Store, type StoreOperations } from "@tollgate/store"
import { eventually } from "@tollgate/testing"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, assert, beforeAll, describe, expect, it } from "vitest"
import {
  findRemoval,
  getGroupsKey,
  getGroupsPartition,
  groupRecords,
  removals
} from "../src/metering/groups/groupRecords.ts"
import { UseNotes } from "../src/metering/groups/UseNotes.ts"
import { grants, secret, stores, tokens } from "./stores.ts"
import { setUp as setUpBucket, startOn } from "./usageServices.ts"

const token = tokens.admin
const dayMs = 86_400_000

type Groups = Readonly<Record<string, Readonly<Record<string, number>>>>

/** What a series has in all, by group. Fails unless the groups of each day are together what was used on it. */
const sumGroups = ({ data }: UsageSeriesJson): Groups => {
  const sums: Record<string, Record<string, number>> = {}
  const add = (name: string, meters: Readonly<Record<string, number>> = {}) => {
    for (const [meter, amount] of Object.entries(meters)) {
      sums[name] = { ...sums[name], [meter]: (sums[name]?.[meter] ?? 0) + amount }
    }
  }
  for (const { meters, groups = [], other = {}, unknown = {} } of data) {
    for (const [meter, total] of Object.entries(meters)) {
      const parts = [...groups.map((group) => group.meters), other, unknown]
      expect(parts.reduce((sum, amounts) => sum + (amounts[meter] ?? 0), 0)).toBe(total)
    }
    add("total", Object.fromEntries(Object.entries(meters).filter(([, amount]) => amount !== 0)))
    for (const { keyId, value, meters } of groups) add(keyId ?? `${value}`, meters)
    add("(other)", other)
    add("(unknown)", unknown)
  }
  return sums
}

let count = 0

describe.each(stores)("usage by key and label, on %s", (_, layer) => {
  const scope = Scope.makeUnsafe()
  let store: StoreOperations
  beforeAll(async () => {
    store = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Store)
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  const open = () => createTollgate({ store, secret, tokens: grants })

  /** A consumer with a key and a plan. `handles` has the same of another process. */
  const setUp = async (max = 1_000_000) => {
    const accountName = `groups-${++count}`
    const handles = async (gate: Tollgate) => {
      const account = gate.account(accountName)
      return {
        production: account.keyBucket("production"),
        billing: await account.meteringBuckets.ensure("b")
      }
    }
    const gate = await open()
    const { production, billing } = await handles(gate)
    const meters = { tokens: { max }, requests: { max } }
    await billing.plans.create({ planExternalId: "pro", meters })
    const subscribe = async (name: string) => {
      const { apiKeys } = await production.consumers.create({ name }, { withApiKey: true })
      const { id } = await billing.subscriptions.create({ customerKey: name, planExternalIds: ["pro"] })
      return { key: apiKeys[0].key ?? "", keyId: apiKeys[0].id, subscriptionId: id }
    }
    const metering = { meteringBucketId: billing.id, meters: { tokens: 1 } }
    /** What is stored, after an orderly end of the process. */
    const closeAndRead = async <A>(read: (again: Awaited<ReturnType<typeof handles>>) => Promise<A>): Promise<A> => {
      await gate.close()
      const later = await open()
      const result = await read(await handles(later))
      await later.close()
      return result
    }
    return {
      gate,
      accountName,
      production,
      billing,
      handles,
      subscribe,
      metering,
      closeAndRead,
      ...(await subscribe("alice"))
    }
  }

  it("has all that was used after an orderly end, and nothing of what was refused", async () => {
    const { production, billing, metering, key, keyId, closeAndRead } = await setUp(60)
    const { key: second, id: secondId } = await production.keys.create("alice")
    const use = (value: string, tokens: number, labels: Readonly<Record<string, string>>) =>
      production.authorize(value, { metering: { ...metering, meters: { tokens } }, labels })
    await use(key, 10, { model: "small", feature: "chat" })
    await use(key, 20, { model: "large" })
    await use(second ?? "", 3, { model: "small" })
    expect(await use(key, 50, { model: "refused" })).toMatchObject({ allowed: false, reason: "over-quota" })
    expect(await use("tg_none", 1, { model: "refused" })).toMatchObject({ allowed: false })
    await billing.usage.record({ customerKey: "alice", meters: { tokens: 4 }, labels: { model: "small" } })
    await billing.customer("alice").consume({ tokens: 5 })
    await closeAndRead(async ({ billing }) => {
      const alice = billing.customer("alice")
      const byKey = await alice.series({ groupBy: "key" })
      expect(sumGroups(byKey)).toEqual({
        total: { tokens: 42 },
        [keyId]: { tokens: 30 },
        [secondId]: { tokens: 3 },
        "(unknown)": { tokens: 9 }
      })
      expect(byKey).toMatchObject({ groupBy: "key", step: "day" })
      expect(byKey.data.at(-1)?.groups?.[0]).toMatchObject({ keyBucketName: "production" })
      const byModel = {
        total: { tokens: 42 },
        small: { tokens: 17 },
        large: { tokens: 20 },
        "(unknown)": { tokens: 5 }
      }
      expect(sumGroups(await alice.series({ groupBy: "label:model", meter: "tokens" }))).toEqual(byModel)
      // The same of the whole bucket.
      expect(sumGroups(await billing.usage.totals({ groupBy: "label:model" }))).toEqual(byModel)
      expect(sumGroups(await alice.series({ groupBy: "label:feature" }))).toEqual({
        total: { tokens: 42 },
        chat: { tokens: 10 },
        "(unknown)": { tokens: 32 }
      })
      expect(sumGroups(await alice.series({ groupBy: "label:unheard-of" }))).toEqual({
        total: { tokens: 42 },
        "(unknown)": { tokens: 42 }
      })
      expect((await alice.series({ groupBy: "label:model", meter: "requests" })).data.at(-1)).toMatchObject({
        meters: { requests: 0 },
        groups: [],
        other: {},
        unknown: {}
      })
    })
  })

  it("adds up what several processes count", async () => {
    const { gate, handles, metering, key, closeAndRead } = await setUp()
    const gates = [gate, await open(), await open()]
    for (const [index, process] of gates.entries()) {
      const { production } = await handles(process)
      const decisions = Array.from({ length: 150 }, (_, number) =>
        production.authorize(key, { metering, labels: { model: `m${number % 3}`, process: `p${index}` } })
      )
      await Promise.all(decisions)
    }
    await Promise.all(gates.slice(1).map((process) => process.close()))
    await closeAndRead(async ({ billing }) => {
      const alice = billing.customer("alice")
      const byModel = { m0: { tokens: 150 }, m1: { tokens: 150 }, m2: { tokens: 150 } }
      expect(sumGroups(await alice.series({ groupBy: "label:model" }))).toEqual({ total: { tokens: 450 }, ...byModel })
      const byProcess = { p0: { tokens: 150 }, p1: { tokens: 150 }, p2: { tokens: 150 } }
      expect(sumGroups(await billing.usage.totals({ groupBy: "label:process" }))).toEqual({
        total: { tokens: 450 },
        ...byProcess
      })
    })
  })

  it("labels what was reserved when it is settled, in any process", async () => {
    const { production, billing, handles, metering, key, keyId, closeAndRead } = await setUp()
    const reserve = async (labels: Readonly<Record<string, string>>) => {
      const decision = await production.authorize(key, {
        metering: { meteringBucketId: metering.meteringBucketId },
        reserve: { meters: { tokens: 100 } },
        labels
      })
      assert(decision.allowed && decision.reservation !== undefined)
      return decision.reservation.id
    }
    const [kept, replaced, released] = [
      await reserve({ model: "small" }),
      await reserve({}),
      await reserve({ model: "x" })
    ]
    const other = await open()
    const elsewhere = (await handles(other)).billing.customer("alice")
    await elsewhere.settle(kept, { meters: { tokens: 30 } })
    await elsewhere.settle(replaced, { meters: { tokens: 7 }, labels: { model: "large" } }, { idempotencyKey: "once" })
    await elsewhere.settle(replaced, { meters: { tokens: 7 }, labels: { model: "large" } }, { idempotencyKey: "once" })
    await elsewhere.settle(released, { meters: {} })
    await other.close()
    // The use of a route is noted by the process that has reserved it.
    const route = withApiKey(
      production,
      {
        metering,
        charge: "success",
        labels: (request) => ({ model: new URL(request.url).searchParams.get("m") ?? undefined })
      },
      () => new Response("hello")
    )
    const call = async (query: string) => {
      const response = await route(new Request(`http://host/${query}`, { headers: { authorization: `Bearer ${key}` } }))
      return { status: response.status, text: await response.text() }
    }
    expect(await call("?m=tiny")).toEqual({ status: 200, text: "hello" })
    expect(await call("")).toEqual({ status: 200, text: "hello" })
    const tooLong = await call(`?m=${"x".repeat(65)}`)
    expect(tooLong.status).toBe(400)
    expect(tooLong.text).toContain('The label \\"model\\" of this request may have at most 64 characters; shorten it')
    await billing.usage.record(
      { customerKey: "alice", meters: { tokens: 1 }, labels: { model: "tiny" } },
      { idempotencyKey: "r" }
    )
    await billing.usage.record(
      { customerKey: "alice", meters: { tokens: 1 }, labels: { model: "tiny" } },
      { idempotencyKey: "r" }
    )
    await closeAndRead(async ({ billing }) => {
      const alice = billing.customer("alice")
      expect(sumGroups(await alice.series({ groupBy: "label:model" }))).toEqual({
        total: { tokens: 40 },
        small: { tokens: 30 },
        large: { tokens: 7 },
        tiny: { tokens: 2 },
        "(unknown)": { tokens: 1 }
      })
      expect(sumGroups(await alice.series({ groupBy: "key" }))).toEqual({
        total: { tokens: 40 },
        [keyId]: { tokens: 39 },
        "(unknown)": { tokens: 1 }
      })
    })
  })

  it("keeps a bounded number of the values that a tenant makes up, and leaves room for the others", async () => {
    const { billing, subscribe, closeAndRead } = await setUp()
    const bob = await subscribe("bob")
    const alice = await billing.customer("alice").get()
    const record = (customerKey: string, labels: Readonly<Record<string, string>>) =>
      billing.usage.record({ customerKey, meters: { tokens: 1 }, labels })
    const floods = Array.from({ length: 400 }, (_, index) =>
      record("alice", { model: `${index}-${"𝄞".repeat(50)}`, [`name-${index}`]: "value" })
    )
    await Promise.all(floods)
    for (let index = 0; index < 12; index++) await record("bob", { model: `honest-${index}` })
    const bucketId = billing.id
    await closeAndRead(async ({ billing }) => {
      const byModel = (await billing.customer("alice").series({ groupBy: "label:model" })).data.at(-1)
      expect(byModel?.groups).toHaveLength(100)
      expect(byModel).toMatchObject({ meters: { tokens: 400 }, other: { tokens: 300 }, unknown: {} })
      const ofBob = await billing.customer("bob").series({ groupBy: "label:model" })
      expect(ofBob.data.at(-1)).toMatchObject({ other: {}, unknown: {} })
      expect(ofBob.data.at(-1)?.groups).toHaveLength(12)
      // Each subscription adds ten values to those of the bucket.
      const ofBucket = (await billing.usage.totals({ groupBy: "label:model" })).data.at(-1)
      expect(ofBucket?.groups).toHaveLength(20)
      expect(ofBucket).toMatchObject({ meters: { tokens: 412 }, other: { tokens: 392 }, unknown: {} })
      // Further names of labels are not grouped by.
      const day = Math.floor(Date.parse(byModel?.start ?? "") / dayMs)
      const ids = [alice.subscriptions[0]?.id ?? "", bob.subscriptionId, ""]
      const keys = ids.map((id) => groupRecords.recordKey(getGroupsKey(id, day)))
      const records = await Effect.runPromise(store.get(getGroupsPartition(bucketId), keys))
      const sizes = records.map((stored) => Buffer.byteLength(stored?.body ?? ""))
      expect(Math.max(...sizes)).toBeLessThan(40_000)
      const [flooded] = await Effect.runPromise(
        Effect.forEach(records, (stored) => groupRecords.decode(stored as never))
      )
      expect(Object.keys(flooded?.value.groups ?? {})).toHaveLength(10)
    })
  })

  it("refuses other labels with 400, and says what to do", async () => {
    const { gate, accountName: name, production, billing, metering, key } = await setUp()
    const post = async (path: string, body: object) => {
      const headers = { authorization: `Bearer ${token}` }
      const init = { method: "POST", headers, body: JSON.stringify(body) }
      const response = await gate.handler(new Request(`http://host/v1/${path}`, init))
      return { status: response.status, errors: JSON.parse(await response.text()).errors }
    }
    const wrong: ReadonlyArray<readonly [labels: unknown, pointer: string, detail: string]> = [
      [{ a: "1", b: "2", c: "3", d: "4" }, "/labels", "at most 3 labels; leave out the others"],
      [
        { model: "x".repeat(65) },
        "/labels/model",
        "must be a text of 1 to 64 characters; shorten it, or leave the label out"
      ],
      [{ model: "" }, "/labels/model", "must be a text of 1 to 64 characters"],
      [{ model: 7 }, "/labels/model", "must be a text of 1 to 64 characters"],
      [{ ["n".repeat(65)]: "x" }, "/labels/", "a name of 1 to 64 of the characters A-Z a-z 0-9 _ . -"],
      [{ "the model": "x" }, "/labels/the model", "a name of 1 to 64 of the characters"],
      ["small", "/labels", 'must be an object such as { "model": "small" }'],
      [["small"], "/labels", 'must be an object such as { "model": "small" }']
    ]
    for (const [labels, pointer, detail] of wrong) {
      const bodies = [
        [`accounts/${name}/key-buckets/production/authorize`, { key, metering, labels }],
        [`metering/${billing.id}/usage`, { customerKey: "alice", meters: { tokens: 1 }, labels }]
      ] as const
      for (const [path, body] of bodies) {
        const { status, errors } = await post(path, body)
        expect({
          labels,
          status,
          pointer: errors[0].pointer.slice(0, pointer.length),
          detail: errors[0].detail
        }).toEqual({
          labels,
          status: 400,
          pointer,
          detail: expect.stringContaining(detail)
        })
      }
      await expect(production.authorize(key, { metering, labels: labels as never })).rejects.toThrow(InvalidInput)
      expect(() => withApiKey(production, { metering, labels: labels as never }, () => new Response())).toThrow(
        "labels"
      )
    }
    await expect(production.authorize(key, { labels: { model: "small" } })).rejects.toThrow(
      "needs metering with the meteringBucketId of the subscription"
    )
    expect(() => withApiKey(production, { labels: () => ({}) }, () => new Response())).toThrow("labels")
    const { usage } = billing
    await expect(usage.totals({ groupBy: "model" })).rejects.toThrow("key, or label: and the name of a label")
    await expect(billing.customer("alice").series({ groupBy: "key", step: "hour" })).rejects.toThrow(
      "must be day with groupBy: usage by key and label is kept by day"
    )
    expect((await usage.totals()).data.at(-1)?.meters).toEqual({ tokens: 0, requests: 0 })
    await gate.close()
  })

  it("is late by at most 15 seconds", () =>
    Effect.gen(function* () {
      const { bucketId, subscribe } = yield* setUpBucket()
      const { id: subscriptionId } = yield* subscribe()
      const [usage, history] = [yield* Usage, yield* UsageHistory]
      const payload = { customerKey: "alice", meters: { tokens: 3 }, labels: { model: "small" } }
      yield* usage.record({ params: { bucketId }, payload })
      const read = Effect.map(
        history.series({ params: { bucketId, subscriptionId }, query: { groupBy: "label:model" } }),
        ({ data }) => data.at(-1)
      )
      const used = { tokens: 3 }
      expect(yield* read).toMatchObject({ groups: [], other: {}, unknown: used })
      yield* TestClock.adjust("15 seconds")
      const run = Effect.runPromiseWith(yield* Effect.context<never>())
      const day = yield* Effect.promise(() =>
        eventually(async () => {
          const latest = await run(read)
          assert(latest?.groups?.length === 1)
          return latest
        })
      )
      expect(day).toMatchObject({ groups: [{ value: "small", meters: used }], other: {}, unknown: {} })
    }).pipe(
      startOn(layer)("2027-03-14T09:30:00Z"),
      Effect.scoped,
      Effect.provide(TestClock.layer()),
      Effect.runPromise
    ))

  it("is CSV with a line for each group", async () => {
    const { billing, closeAndRead } = await setUp()
    await billing.usage.record({ customerKey: "alice", meters: { tokens: 2 }, labels: { model: 'a "big", one' } })
    const id = billing.id
    await closeAndRead(async () => {
      const gate = await open()
      const headers = { authorization: `Bearer ${token}`, accept: "text/csv" }
      const from = new Date().toISOString()
      const url = `http://host/v1/metering/${id}/customers/alice/usage?groupBy=label:model&meter=tokens&from=${from}`
      const [head, group, other, unknown] = (await (await gate.handler(new Request(url, { headers }))).text()).split(
        "\r\n"
      )
      expect(head).toBe("start,end,kind,group,tokens")
      expect(group).toMatch(/^\S+Z,\S+Z,label,"a ""big"", one",2$/)
      expect([other, unknown].map((line) => line?.split(",").slice(2))).toEqual([
        ["other", "", "0"],
        ["unknown", "", "0"]
      ])
      await gate.close()
    })
  })

  it("ends with the metering bucket, and after 402 days", async () => {
    const { gate, billing, accountName } = await setUp()
    const record = () =>
      billing.usage.record({ customerKey: "alice", meters: { tokens: 2 }, labels: { model: "small" } })
    const list = (bucketId: string) =>
      Effect.runPromise(
        Effect.map(
          Effect.provideService(
            groupRecords.page(getGroupsPartition(bucketId), { offset: 0, limit: 10 }),
            Store,
            store
          ),
          ({ entries }) => entries.map(({ value }) => value)
        )
      )
    await record()
    await gate.close()
    const stored = await list(billing.id)
    expect(stored).toHaveLength(2)
    const removeAt = (time: number) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(time)
        yield* removeDue(groupRecords, removals, findRemoval, getGroupsPartition(billing.id))
      }).pipe(Effect.provide(TestClock.layer()), Effect.provideService(Store, store), Effect.runPromise)
    const end = ((stored[0]?.day ?? 0) + 402) * dayMs
    await removeAt(end - 1)
    expect(await list(billing.id)).toHaveLength(2)

    const [remover, writer] = [await open(), await open()]
    const again = writer.account(accountName).meteringBucket(billing.id)
    await again.usage.record({ customerKey: "alice", meters: { tokens: 2 }, labels: { model: "small" } })
    await remover.account(accountName).meteringBuckets.remove(billing.id)
    expect(await list(billing.id)).toEqual([])
    // What another process writes late leaves nothing behind.
    await Promise.all([writer.close(), remover.close()])
    expect(await list(billing.id)).toEqual([])

    const next = await setUp()
    await next.billing.usage.record({ customerKey: "alice", meters: { tokens: 2 }, labels: { model: "small" } })
    await next.gate.close()
    await Effect.gen(function* () {
      yield* TestClock.setTime(end)
      yield* removeDue(groupRecords, removals, findRemoval, getGroupsPartition(next.billing.id))
    }).pipe(Effect.provide(TestClock.layer()), Effect.provideService(Store, store), Effect.runPromise)
    expect(await list(next.billing.id)).toEqual([])
  })
})

it("holds a bounded number of values in memory", () => {
  const budget = { used: 0 }
  const notes = [
    new UseNotes(budget),
    new UseNotes(budget),
    new UseNotes(budget),
    new UseNotes(budget),
    new UseNotes(budget)
  ]
  for (const ofBucket of notes) {
    for (let use = 0; use < 13_000; use++) {
      const labels = { model: `m${use}`, feature: `f${use}` }
      ofBucket.uses.push({ usageId: `sbsc_${use % 500}`, day: 1, amounts: { tokens: 1 }, usedBy: { labels } })
      if (use % 100 === 0) ofBucket.fold()
    }
    ofBucket.fold()
  }
  // One that began when all were full has nothing, and all others their share.
  expect(budget.used).toBe(100_000)
  const taken = notes.map((ofBucket) => ofBucket.take())
  expect(taken.map(({ size }) => size)).toEqual([500, 500, 500, 500, 0])
  expect(budget.used).toBe(0)
})
