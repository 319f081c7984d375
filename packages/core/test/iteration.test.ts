/**
 * Iterating over all pages of a list, in process and in a client, while its items are removed, created and changed.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import { expect, it } from "@effect/vitest"
import { type AccountHandle, createTollgate, type PagePromise, StoreUnavailable } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { SqliteStore } from "@tollgate/sqlite"
import type { Store } from "@tollgate/store"
import { makeSubscription } from "@tollgate/testing"
import { Effect } from "effect"
import { afterAll, beforeAll, describe } from "vitest"
import { descriptions } from "./allModules.ts"
import { grants, secret, tokens } from "./stores.ts"

it("returns every metering bucket once, also while the removal of another is interrupted", async () => {
  const memory = MemoryStore.open()
  const clear = () => Effect.fail(new StoreUnavailable({ operation: "clear", problem: "test", outcome: "not-applied" }))
  const gate = await createTollgate({ store: { ...memory, clear }, secret })
  const { meteringBuckets } = gate.account("acme")
  const ids: Array<string> = []
  for (let index = 0; index < 6; index++) ids.push((await meteringBuckets.create()).id)
  await expect(meteringBuckets.remove(ids[0] ?? "")).rejects.toBeInstanceOf(StoreUnavailable)
  for (const limit of [1, 2, 3, 5, 6, 1_000]) {
    const found: Array<string> = []
    for await (const { id } of meteringBuckets.list({ limit })) found.push(id)
    expect(found).toEqual(ids.slice(1))
  }
  await gate.close()
})

it("goes on after a cursor in every list", () => {
  const lists = descriptions.filter(({ isPaged }) => isPaged)
  expect(lists.length).toBeGreaterThan(12)
  for (const { id, parameterDocs, response } of lists) {
    expect(parameterDocs, id).toHaveProperty("after")
    expect(response.body.ast, id).toHaveProperty(
      "propertySignatures",
      expect.arrayContaining([expect.objectContaining({ name: "next" })])
    )
  }
})

const openStores = [
  ["memory", async () => MemoryStore.open()],
  ["SQLite", () => SqliteStore.open(":memory:")]
] as const

describe.each(openStores)("iterating on %s", (_, open) => {
  const server = createServer()
  const close: Array<() => Promise<void>> = []
  let getAccount: (caller: string, accountName?: string) => AccountHandle
  beforeAll(async () => {
    const gate = await createTollgate({ store: (await open()) as Store["Service"], secret, tokens: grants })
    server.on("request", toNodeHandler(gate)).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const baseUrl = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    const client = createClient({ baseUrl, token: tokens.admin })
    getAccount = (caller, accountName = "acme") => (caller === "in process" ? gate : client).account(accountName)
    close.push(() => gate.close())
  })
  afterAll(async () => {
    server.close()
    server.closeAllConnections()
    for (const closeOne of close) await closeOne()
  })

  /** The items of a list, with a change after each. */
  const collect = async <A>(items: PagePromise<A>, change: (item: A) => Promise<unknown>) => {
    const found: Array<A> = []
    for await (const item of items) {
      found.push(item)
      await change(item)
    }
    return found
  }

  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

  for (const caller of ["in process", "in a client"]) {
    it(`removes all consumers, ${caller}`, async () => {
      const { consumers } = getAccount(caller).keyBucket(`remove-${caller.slice(-6)}`)
      const names = numbers(25).map((index) => `c${index}`)
      for (const name of names) await consumers.create({ name, tags: { all: "yes" } })
      const found = await collect(consumers.list({ limit: 10, tags: { all: "yes" } }), ({ name }) =>
        consumers.remove(name)
      )
      expect(found.map(({ name }) => name)).toEqual(names)
      expect((await consumers.list()).total).toBe(0)
    })

    it(`neither skips nor repeats keys that are rolled, created and removed, ${caller}`, async () => {
      const { consumers, keys } = getAccount(caller).keyBucket(`roll-${caller.slice(-6)}`)
      await consumers.create({ name: "alice" })
      const ids: Array<string> = []
      for (const _ of numbers(9)) ids.push((await keys.create("alice")).id)
      let rolls = 0
      const found = await collect(keys.list("alice", { limit: 2 }), async ({ id }) => {
        if (ids.indexOf(id) % 2 === 0) await keys.remove("alice", id)
        if (rolls++ < 3) await consumers.rollKey("alice", { expiresOn: "2099-01-01T00:00:00Z" })
      })
      expect(found.slice(0, 9).map(({ id }) => id)).toEqual(ids)
      expect(new Set(found.map(({ id }) => id)).size).toBe(12)
    })

    it(`neither skips nor repeats plans, subscriptions and events, ${caller}`, async () => {
      const account = getAccount(caller)
      const bucket = account.meteringBucket((await account.meteringBuckets.create()).id)
      const plans: Array<{ readonly id: string; readonly planExternalId: string }> = []
      for (const index of numbers(7)) {
        plans.push(
          await bucket.plans.create({
            label: "Plan",
            planExternalId: `p${index}`,
            meters: { requests: { max: 10 } }
          })
        )
      }
      const [plan] = plans
      if (plan === undefined) return expect.fail("no plan")
      const subscriptions: Array<string> = []
      for (const index of numbers(7)) {
        const fields = makeSubscription(plan.id, plan.planExternalId, { subscriptionExternalId: `s${index}` })
        subscriptions.push((await bucket.subscriptions.create(fields)).id)
      }
      const canceled = await collect(bucket.subscriptions.list({ limit: 3, status: "active" }), ({ id }) =>
        bucket.subscriptions.update(id, { status: "canceled" })
      )
      expect(canceled.map(({ id }) => id)).toEqual(subscriptions)
      const removed = await collect(bucket.subscriptions.list({ limit: 3 }), ({ id }) =>
        bucket.subscriptions.remove(id)
      )
      expect(removed.map(({ id }) => id)).toEqual(subscriptions)
      const removedPlans = await collect(bucket.plans.list({ limit: 2 }), ({ id }) => bucket.plans.remove(id))
      expect(removedPlans.map(({ id }) => id)).toEqual(plans.map(({ id }) => id))
    })

    it(`reads the log from both ends while it grows, ${caller}`, async () => {
      const accountName = `log-${caller.slice(-6)}`
      const { events, keyBucket } = getAccount(caller, accountName)
      const { consumers } = keyBucket("b")
      for (const index of numbers(12)) await consumers.create({ name: `c${index}` })
      await expect.poll(async () => (await events.list()).total).toBe(12)
      const all = (await events.list({ order: "asc" })).data.map(({ id }) => id)
      let created = 0
      const create = async () => (created++ < 2 ? consumers.create({ name: `later-${created}` }) : undefined)
      const newestFirst = await collect(events.list({ limit: 5 }), create)
      expect(newestFirst.map(({ id }) => id)).toEqual(all.toReversed())
      const oldestFirst = await collect(events.list({ limit: 5, order: "asc" }), async () => undefined)
      expect(oldestFirst.map(({ id }) => id).slice(0, 12)).toEqual(all)
      for (const order of ["asc", "desc"] as const) {
        const before = await collect(events.list({ limit: 2, order, before: all[7] ?? "" }), async () => undefined)
        const expected = all.slice(0, 7)
        expect(before.map(({ id }) => id)).toEqual(order === "asc" ? expected : expected.toReversed())
      }
    })
  }
})
