/**
 * The operations on alerts as applications call them: bounds, errors, pages and retries, and what alerts cost a decision.
 */
import { createTollgate } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import type { StoreOperations } from "@tollgate/store"
import { isBackgroundCall } from "@tollgate/testing"
import { describe, expect, it } from "vitest"
import { secret } from "./stores.ts"

/** Counts the calls that are not background work. */
const countCalls = (inner: StoreOperations) => {
  const calls: Array<string> = []
  const counted =
    <Args extends readonly [string, unknown?, ...ReadonlyArray<unknown>], A>(
      operation: string,
      run: (...args: Args) => A
    ) =>
    (...args: Args): A => {
      if (!isBackgroundCall(operation, args[0], args[1])) calls.push(operation)
      return run(...args)
    }
  const store: StoreOperations = {
    ...inner,
    get: counted("get", inner.get),
    getByUniqueKey: counted("getByUniqueKey", inner.getByUniqueKey),
    list: counted("list", inner.list),
    counters: counted("counters", inner.counters),
    commit: counted("commit", inner.commit)
  }
  return { store, calls }
}

const open = async (inner: StoreOperations = MemoryStore.open()) => {
  const gate = await createTollgate({ store: inner, secret })
  const account = gate.account("acme")
  const billing = await account.meteringBuckets.ensure("default")
  await billing.plans.create({ planExternalId: "pro", meters: { requests: { max: 100 }, tokens: { max: 100 } } })
  const alice = billing.customer("alice")
  return { gate, account, billing, alice, alerts: alice.alerts }
}

describe("the alerts of a customer", () => {
  it("are listed in pages, read, and removed, and are at most 20", async () => {
    const { gate, account, billing, alerts } = await open()
    const created = []
    for (let used = 1; used <= 20; used++) created.push(await alerts.create({ meter: "requests", when: { used } }))
    await expect(alerts.create({ meter: "requests", when: { used: 21 } })).rejects.toMatchObject({
      code: "too-many-alerts",
      max: 20
    })
    expect((await alerts.list()).data).toEqual(created)
    const [first, second] = created
    const page = await alerts.list({ limit: 1 })
    expect(page).toMatchObject({ data: [first], total: 20 })
    await alerts.remove(first?.id ?? "")
    expect((await alerts.list({ limit: 1, after: page.next })).data).toEqual([second])
    const all = []
    for await (const alert of alerts.list({ limit: 7 })) all.push(alert)
    expect(all).toEqual(created.slice(1))
    expect(await alerts.get(second?.id ?? "")).toEqual(second)
    for (const alertId of [first?.id ?? "", "alr_x"]) {
      await expect(alerts.get(alertId)).rejects.toMatchObject({ code: "alert-not-found", alertId })
      await expect(alerts.remove(alertId)).rejects.toMatchObject({ code: "alert-not-found", alertId })
    }
    await expect(billing.customer("bob").alerts.get(second?.id ?? "")).rejects.toMatchObject({
      code: "alert-not-found"
    })
    for (const { id } of created.slice(1)) await alerts.remove(id)
    expect(await alerts.list()).toMatchObject({ data: [], total: 0 })
    await expect
      .poll(async () => (await account.events.list({ type: "alert.*" })).data.length, { timeout: 30_000 })
      .toBe(40)
    await gate.close()
  })

  it("need one condition in its bounds, and a meter that there is", async () => {
    const { gate, alerts } = await open()
    const create = (when: object) => alerts.create({ meter: "requests", when })
    const one = "/when: must have exactly one of usedShare, used, remaining and overage"
    await expect(create({})).rejects.toThrow(one)
    await expect(create({ used: 1, remaining: 1 })).rejects.toThrow(one)
    for (const when of [{ usedShare: 0 }, { usedShare: 101 }, { used: 0 }, { remaining: -1 }, { overage: 1.5 }]) {
      await expect(create(when)).rejects.toMatchObject({ code: "bad-request" })
    }
    await expect(create({ unused: 1 })).rejects.toThrow("/when/unused")
    for (const when of [{ usedShare: 100 }, { remaining: 0 }]) expect((await create(when)).when).toEqual(when)
    await expect(alerts.create({ meter: "request", when: { used: 1 } })).rejects.toMatchObject({
      code: "unknown-meter",
      meter: "request"
    })
    await gate.close()
  })

  it("are made once for one idempotency key", async () => {
    const { gate, alerts } = await open()
    const make = () => alerts.create({ meter: "requests", when: { used: 5 } }, { idempotencyKey: "one" })
    expect(await make()).toEqual(await make())
    expect((await alerts.list()).total).toBe(1)
    await gate.close()
  })

  it("cost a count no call, until one is triggered, and none after that", async () => {
    const { store, calls } = countCalls(MemoryStore.open())
    const { gate, alice, alerts } = await open(store)
    await alice.changePlan({ planExternalIds: ["pro"], at: "now" })
    for (const when of [{ used: 50 }, { usedShare: 0.6 }, { remaining: 30 }, { overage: 1 }]) {
      await alerts.create({ meter: "requests", when })
    }
    const countFor = async (requests: number) => {
      calls.length = 0
      await alice.consume({ requests })
      return [...calls]
    }
    await countFor(1)
    // The bucket is read by the operation.
    const usual = ["get", "commit"]
    expect(await countFor(1)).toEqual(usual)
    expect(await countFor(48)).toEqual([...usual, "get", "counters", "commit"])
    expect(await countFor(1)).toEqual(usual)
    expect(await countFor(20)).toEqual([...usual, "get", "counters", "commit"])
    expect(await countFor(1)).toEqual(usual)
    await gate.close()
  })
})
