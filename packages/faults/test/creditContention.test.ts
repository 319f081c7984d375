/**
 * Four processes spend the credit of one customer at once: exactly what there is, whatever is granted, voided, given back or
 * expires meanwhile, and whichever of them is killed.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { createTollgate } from "@tollgate/core"
import { getNodeOptions } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { CreditContenderInput, CreditContenderResult } from "./creditContender.worker.ts"
import { openSharedStore, sharedStoreKinds, startSharedStore } from "./sharedStores.ts"
import { secret } from "./stores.ts"

let scope: Scope.Closeable
let children: ReadonlyArray<ChildProcess> = []
beforeEach(() => {
  scope = Scope.makeUnsafe()
})
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL")
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const startContenders = (input: Omit<CreditContenderInput, "seed">) => {
  const worker = new URL("./creditContender.worker.ts", import.meta.url)
  children = [1, 2, 3, 4].map((seed) => {
    const child = fork(worker, { execArgv: [...getNodeOptions()] })
    child.send({ ...input, seed })
    return child
  })
  return children
}

const readResult = async (child: ChildProcess): Promise<CreditContenderResult> => {
  const [result] = await once(child, "message")
  return result
}

describe.each(sharedStoreKinds)("credit on one %s store", (kind) => {
  const open = async (max: number) => {
    const shared = await Effect.runPromise(Scope.provide(startSharedStore(kind), scope))
    const store = await openSharedStore(shared)
    const gate = await createTollgate({ store, secret })
    const billing = gate.account("acme").meteringBucket("default")
    await billing.plans.create({ planExternalId: "pro", meters: { tokens: { max } } })
    const { id } = await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    const alice = billing.customer("alice")
    const readUsed = async () => {
      const grants: Array<{ readonly used: number; readonly amount: number }> = []
      for await (const grant of alice.grants.list()) grants.push(grant)
      for (const { used, amount } of grants) expect(used >= 0 && used <= amount, `${used} of ${amount}`).toBe(true)
      const { allowance, overage = 0, remaining = 0 } = (await alice.get()).meters["tokens"] ?? {}
      const { used: ofPlans = 0 } = allowance ?? {}
      expect(ofPlans).toBeLessThanOrEqual(max)
      expect(overage).toBe(0)
      const { used = 0 } = (await billing.usage.quotas(id)).meters["tokens"] ?? {}
      return { ofGrants: grants.reduce((sum, grant) => sum + grant.used, 0), ofPlans, used, remaining }
    }
    return { shared, store, gate, alice, readUsed }
  }

  it("is used up exactly by four processes", async () => {
    const { shared, store, gate, alice, readUsed } = await open(30)
    for (const amount of [7, 13, 25, 1, 24]) await alice.grants.create({ meter: "tokens", amount })
    const input = { shared, secret, calls: 60, isMixed: false }
    const results = await Promise.all(startContenders(input).map(readResult))
    expect(results.flatMap(({ failures }) => failures)).toEqual([])
    expect(results.reduce((sum, { used }) => sum + used, 0)).toBe(100)
    expect(await readUsed()).toEqual({ ofGrants: 70, ofPlans: 30, used: 100, remaining: 0 })
    await gate.close()
    await store.close()
  }, 120_000)

  it("is counted exactly by four processes for five seconds, and then used up", async () => {
    const { shared, store, gate, alice, readUsed } = await open(30)
    for (const amount of [70, 900, 1_000_000]) await alice.grants.create({ meter: "tokens", amount })
    const input = { shared, secret, calls: 0, forMs: 5_000, isMixed: false }
    const results = await Promise.all(startContenders(input).map(readResult))
    expect(results.flatMap(({ failures }) => failures)).toEqual([])
    const acknowledged = results.reduce((sum, { used }) => sum + used, 0)
    const remaining = 1_001_000 - acknowledged
    expect(await readUsed()).toEqual({ ofGrants: acknowledged - 30, ofPlans: 30, used: acknowledged, remaining })
    await alice.consume({ tokens: remaining })
    await expect(alice.consume({ tokens: 1 })).rejects.toMatchObject({ code: "quota-exceeded" })
    expect(await readUsed()).toEqual({ ofGrants: 1_000_970, ofPlans: 30, used: 1_001_000, remaining: 0 })
    await gate.close()
    await store.close()
  }, 120_000)

  it("triggers each alert once, although a process that counts is killed", async () => {
    const { shared, store, gate, alice, readUsed } = await open(30)
    await alice.grants.create({ meter: "tokens", amount: 70 })
    for (const when of [{ used: 50 }, { usedShare: 1 }, { remaining: 20 }]) {
      await alice.alerts.create({ meter: "tokens", when })
    }
    const [first, ...others] = startContenders({ shared, secret, calls: 60, isMixed: false })
    await expect.poll(async () => (await readUsed()).used, { interval: 10, timeout: 60_000 }).toBeGreaterThan(20)
    first?.kill("SIGKILL")
    const results = await Promise.all(others.map(readResult))
    expect(results.flatMap(({ failures }) => failures)).toEqual([])
    expect(await readUsed()).toMatchObject({ used: 100, remaining: 0 })
    const readTriggered = async () => {
      const { data } = await gate.account("acme").events.list({ type: "alert.triggered" })
      return data.map(({ subject }) => subject.id).sort()
    }
    const ids = (await alice.alerts.list()).data.map(({ id }) => id).sort()
    expect(ids.length).toBe(3)
    await expect.poll(readTriggered, { timeout: 60_000 }).toEqual(ids)
    await gate.close()
    await store.close()
  }, 120_000)

  it("is conserved while four processes grant, void, reserve, give back and let expire", async () => {
    const { shared, store, gate, readUsed } = await open(100)
    const input = { shared, secret, calls: 60, isMixed: true }
    const results = await Promise.all(startContenders(input).map(readResult))
    expect(results.flatMap(({ failures }) => failures)).toEqual([])
    const { ofGrants, ofPlans, used } = await readUsed()
    // A reservation whose inner call was refused is not settled: it is held until it expires.
    const acknowledged = results.reduce((sum, result) => sum + result.used, 0)
    expect(used).toBeGreaterThanOrEqual(acknowledged)
    expect(ofGrants + ofPlans).toBe(used)
    await gate.close()
    await store.close()
  }, 120_000)

  it("is conserved when processes are killed, and the rest can be used", async () => {
    const { shared, store, gate, alice, readUsed } = await open(50)
    await alice.grants.create({ meter: "tokens", amount: 400 })
    const [first, second, third, fourth] = startContenders({ shared, secret, calls: 200, isMixed: true })
    await expect.poll(async () => (await readUsed()).used, { interval: 10, timeout: 60_000 }).toBeGreaterThan(20)
    first?.kill("SIGKILL")
    await expect.poll(async () => (await readUsed()).used, { interval: 10, timeout: 60_000 }).toBeGreaterThan(40)
    second?.kill("SIGKILL")
    const results = await Promise.all(
      [third, fourth].flatMap((child) => (child === undefined ? [] : [readResult(child)]))
    )
    expect(results.flatMap(({ failures }) => failures)).toEqual([])
    const { ofGrants, ofPlans, used, remaining } = await readUsed()
    expect(ofGrants + ofPlans).toBe(used)
    if (remaining > 0) await alice.consume({ tokens: remaining })
    await expect(alice.consume({ tokens: 1 })).rejects.toMatchObject({ code: "quota-exceeded" })
    const after = await readUsed()
    expect(after).toEqual({
      ofGrants: ofGrants + ofPlans + remaining - after.ofPlans,
      ofPlans: after.ofPlans,
      used: used + remaining,
      remaining: 0
    })
    await gate.close()
    await store.close()
  }, 120_000)
})
