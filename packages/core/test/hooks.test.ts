/**
 * `onEvent` and `onQuotaThreshold`: functions of the host that are called for the events of all accounts.
 */
import type { EventJson, QuotaEvent } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Partition } from "@tollgate/store"
import { eventually, makeSubscription } from "@tollgate/testing"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { startGate, startReceiver } from "../../webhooks/test/receivers.ts"

type Gate = Awaited<ReturnType<typeof startGate>>

const createConsumers = async (gate: Gate, names: ReadonlyArray<string>, account = "acme") => {
  const { consumers } = gate.account(account).keyBucket("production")
  for (const name of names) await consumers.create({ name })
}

const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`)

const readNames = (events: ReadonlyArray<EventJson>) => events.map(({ subject }) => subject.name)

describe("onEvent", () => {
  it("is called for each event of every account, in the order of the log, as the log shows it", async () => {
    const events: Array<EventJson> = []
    const gate = await startGate({ onEvent: (event) => void events.push(event) })
    const names = numbered("c", 150)
    await createConsumers(gate, names)
    await createConsumers(gate, ["alice"], "other")
    await gate.account("acme").keyBucket("production").consumers.remove("c-0")
    await eventually(() => expect(events).toHaveLength(152))
    const ofAcme = events.filter(({ accountName }) => accountName === "acme")
    expect(readNames(ofAcme)).toEqual([...names, "c-0"])
    expect(ofAcme).toEqual((await gate.account("acme").events.list({ order: "asc" })).data)
  })

  it("is called for the last events before the gate is closed, also while it looks for events that it missed", async () => {
    const inner = MemoryStore.open()
    const before = await startGate({ store: inner })
    await createConsumers(before, ["alice"])
    await before.close()
    // The look at the start waits in its first read of the log.
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const wait = Effect.andThen(
      Effect.sync(() => reached.resolve()),
      Effect.promise(() => released.promise)
    )
    const store = {
      ...inner,
      get: (partition: Partition.Partition, keys: ReadonlyArray<string>) =>
        partition === Partition.forEvents("acme") && keys.some((key) => key.startsWith("hook/"))
          ? Effect.andThen(wait, inner.get(partition, keys))
          : inner.get(partition, keys)
    }
    const events: Array<EventJson> = []
    const gate = await startGate({ store, onEvent: (event) => void events.push(event) })
    await reached.promise
    await createConsumers(gate, ["bob"])
    await eventually(async () =>
      expect((await gate.account("acme").events.list({ order: "desc" })).data[0]?.subject.name).toBe("bob")
    )
    const closed = gate.close()
    await new Promise((resolve) => setImmediate(resolve))
    released.resolve()
    await closed
    expect(readNames(events)).toEqual(["bob"])
  })

  it("is called in one of two gates for each event", async () => {
    const store = MemoryStore.open()
    const calls: Array<readonly [gate: number, name: string | undefined]> = []
    const start = (gate: number) =>
      startGate({ store, onEvent: ({ subject }) => void calls.push([gate, subject.name]) })
    const [one, two] = [await start(1), await start(2)]
    await Promise.all([createConsumers(one, numbered("one", 60)), createConsumers(two, numbered("two", 60))])
    await eventually(() => expect(calls).toHaveLength(120))
    expect(new Set(calls.map(([, name]) => name)).size).toBe(120)
    const log = await one.account("acme").events.list({ order: "asc" })
    expect(calls.map(([, name]) => name)).toEqual(readNames(log.data))
  })

  it("is repeated if it rejects, and skipped after five calls, and the rest follows", async () => {
    const calls: Array<string | undefined> = []
    const gate = await startGate({
      onEvent: async ({ subject: { name } }) => {
        calls.push(name)
        if (name === "bad") throw new Error("a handler that fails")
      }
    })
    await createConsumers(gate, ["first", "bad", "last"])
    await eventually(() => expect(calls.at(-1)).toBe("last"))
    expect(calls).toEqual(["first", "bad", "bad", "bad", "bad", "bad", "last"])
  })

  it("is called again for an event if it failed only once", async () => {
    const calls: Array<string | undefined> = []
    const gate = await startGate({
      onEvent: ({ subject: { name } }) => {
        calls.push(name)
        if (calls.length === 1) throw new Error("a handler that fails once")
      }
    })
    await createConsumers(gate, ["first", "second"])
    await eventually(() => expect(calls).toEqual(["first", "first", "second"]))
  })

  it("delays neither webhooks nor other accounts if it is slow", async () => {
    let finish = () => {}
    const isFinished = new Promise<void>((resolve) => {
      finish = resolve
    })
    const calls: Array<string | undefined> = []
    const gate = await startGate({
      onEvent: async ({ accountName, subject: { name } }) => {
        calls.push(name)
        if (accountName === "acme") await isFinished
      }
    })
    const receiver = await startReceiver()
    await gate.account("acme").webhooks.create({ url: receiver.url, events: ["consumer.*"] })
    await eventually(() => expect(calls).toEqual([undefined]))
    await createConsumers(gate, numbered("c", 10))
    await createConsumers(gate, ["alice"], "other")
    await eventually(() => expect(receiver.requests).toHaveLength(10))
    await eventually(() => expect(calls).toEqual([undefined, "alice"]))
    finish()
    await eventually(() => expect(calls).toEqual([undefined, "alice", ...numbered("c", 10)]))
  })

  it("is not called for events from before it was first set", async () => {
    const store = MemoryStore.open()
    const names: Array<string | undefined> = []
    const before = await startGate({ store })
    await createConsumers(before, numbered("before", 5))
    await eventually(async () => expect((await before.account("acme").events.list()).total).toBe(5))
    const after = await startGate({ store, onEvent: ({ subject }) => void names.push(subject.name) })
    await createConsumers(after, numbered("after", 5))
    await eventually(() => expect(names).toEqual(numbered("after", 5)))
  })

  it("is called after a restart for what happened while no process had it", async () => {
    const store = MemoryStore.open()
    const names: Array<string | undefined> = []
    const onEvent = ({ subject }: EventJson) => void names.push(subject.name)
    const first = await startGate({ store, onEvent })
    await createConsumers(first, ["first"])
    await eventually(() => expect(names).toEqual(["first"]))
    await first.close()
    const without = await startGate({ store })
    await createConsumers(without, ["meanwhile-1", "meanwhile-2"])
    await createConsumers(without, ["of-another-account"], "other")
    await eventually(async () => expect((await without.account("other").events.list()).total).toBe(1))
    await startGate({ store, onEvent })
    await eventually(() => expect(names).toHaveLength(4))
    expect(names.filter((name) => name !== "of-another-account")).toEqual(["first", "meanwhile-1", "meanwhile-2"])
  })

  it("is called again after a restart for an event that it had not handled", async () => {
    const store = MemoryStore.open()
    const names: Array<string | undefined> = []
    let isHanging = true
    const onEvent = async ({ subject }: EventJson) => {
      names.push(subject.name)
      if (isHanging) await new Promise(() => undefined)
    }
    const first = await startGate({ store, onEvent })
    await createConsumers(first, ["one", "two"])
    await eventually(() => expect(names).toEqual(["one"]))
    await first.close()
    isHanging = false
    await startGate({ store, onEvent })
    await eventually(() => expect(names).toEqual(["one", "one", "two"]))
  })
})

describe("onQuotaThreshold", () => {
  const consume = async (gate: Gate, amount: number) => {
    const { meteringBucket, meteringBuckets } = gate.account("acme")
    const { id } = await meteringBuckets.create({})
    const { plans, subscriptions, usage } = meteringBucket(id)
    const meters = { requests: { max: 10 } }
    const plan = await plans.create({ label: "Pro", planExternalId: "pro", meters })
    const subscription = await subscriptions.create(makeSubscription(plan.id, plan.planExternalId, {}) as never)
    await usage.consume(subscription.id, { requests: amount })
    return subscription
  }

  it("is called once for each of its own thresholds", async () => {
    const notified: Array<QuotaEvent> = []
    const onQuotaThreshold = { thresholds: [0.5, 0.9], notify: (event: QuotaEvent) => void notified.push(event) }
    const gate = await startGate({ onQuotaThreshold })
    const subscription = await consume(gate, 9)
    await eventually(() => expect(notified).toHaveLength(2))
    expect(notified).toMatchObject(
      [0.5, 0.9].map((threshold) => ({
        subscriptionId: subscription.id,
        meter: "requests",
        threshold,
        used: 9,
        max: 10
      }))
    )
    const { data } = await gate.account("acme").events.list({ type: "quota.threshold_reached", order: "asc" })
    expect(data.map(({ data }) => data)).toEqual(notified)
  })

  it("is called beside onEvent, and one that fails does not hold up the other", async () => {
    const types: Array<string> = []
    const thresholds: Array<number> = []
    const gate = await startGate({
      onEvent: ({ type }) => {
        types.push(type)
        throw new Error("a handler that fails")
      },
      onQuotaThreshold: ({ threshold }) => void thresholds.push(threshold)
    })
    await consume(gate, 10)
    await eventually(() => expect(thresholds).toEqual([0.8, 1]))
    expect(new Set(types)).toEqual(new Set(["metering_bucket.created"]))
  })
})
