/**
 * `plans.ensure`: the plans are as a list says, whatever they were, and whichever processes do it at once.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { EnsuredPlansJson, PlanCreateInput } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { toNodeHandler } from "@tollgate/node"
import { describe, expect, it } from "vitest"
import { freshAccount, openGate, readLog, types, useGate } from "./eventGates.ts"
import { makeClient } from "./http/client.ts"
import { stores, tokens } from "./stores.ts"

const free: PlanCreateInput = { planExternalId: "free", meters: { requests: { max: 10 } } }
const pro: PlanCreateInput = {
  planExternalId: "pro",
  label: "Pro",
  meters: { tokens: { label: "Tokens", max: 1_000, isSoftLimit: true, overageMax: 10 }, requests: { max: 100 } },
  rateLimits: { steady: { limit: 5, per: "second" } },
  features: { exports: true, seats: 5 },
  trialDays: 14
}

const summarize = ({ data }: EnsuredPlansJson) =>
  data.map(({ outcome, changedFields, plan }) => [plan.planExternalId, outcome, ...changedFields])

describe.each(stores)("plans.ensure, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const open = async (accountName = freshAccount()) => {
    const billing = await gate().account(accountName).meteringBuckets.ensure("billing")
    const events = async () =>
      types(await readLog(store(), gate(), accountName)).filter((type) => type.startsWith("plan."))
    return { accountName, billing, plans: billing.plans, events }
  }

  it("creates, updates and leaves plans, and says what it has changed", async () => {
    const { plans, events, billing } = await open()
    const created = await plans.ensure([free, pro])
    expect(summarize(created)).toEqual([
      ["free", "created"],
      ["pro", "created"]
    ])
    expect(created.data[0]?.plan).toMatchObject({ label: "free", hasSubscriptions: false })
    expect((await plans.list()).data).toEqual(created.data.map(({ plan }) => plan))
    await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    // The order of names does not matter.
    const { rateLimits, ...rest } = pro
    const same = { rateLimits, ...rest, meters: Object.fromEntries(Object.entries(pro.meters).reverse()) }
    const again = await plans.ensure([same as PlanCreateInput, free])
    expect(summarize(again)).toEqual([
      ["pro", "unchanged"],
      ["free", "unchanged"]
    ])
    expect(again.data[0]?.plan).toMatchObject({ hasSubscriptions: true, updatedOn: created.data[1]?.plan.updatedOn })
    const { trialDays: _, ...withoutTrial } = pro
    const changed = await plans.ensure([
      free,
      {
        ...withoutTrial,
        rateLimits: {},
        features: { exports: true, seats: 6 },
        meters: { ...pro.meters, requests: { max: 200 } }
      },
      { planExternalId: "team", meters: { seats: { max: 5, period: "none" } } }
    ])
    expect(summarize(changed)).toEqual([
      ["free", "unchanged"],
      ["pro", "updated", "features", "meters", "rateLimits", "trialDays"],
      ["team", "created"]
    ])
    const updated = changed.data[1]?.plan
    expect(updated).toMatchObject({ id: created.data[1]?.plan.id, createdOn: created.data[1]?.plan.createdOn })
    expect(updated).not.toHaveProperty("trialDays")
    expect(await plans.get(updated?.id ?? "")).toMatchObject({ ...updated })
    expect(await billing.customer("alice").get()).toMatchObject({ meters: { requests: { allowance: { max: 200 } } } })
    expect(await billing.usage.totals()).toMatchObject({ data: expect.anything() })
    expect([...(await events())].sort()).toEqual(["plan.created", "plan.created", "plan.created", "plan.updated"])
  })

  it("leaves plans that the list does not name", async () => {
    const { plans } = await open()
    const { id } = await plans.create(pro)
    await plans.ensure([free])
    expect(await plans.get(id)).toMatchObject({ trialDays: 14 })
  })

  it("creates each plan once when processes start at once with the same list", async () => {
    const { accountName, plans, events } = await open()
    const others = await Promise.all([1, 2, 3].map(() => openGate(store())))
    const handles = [plans, ...others.map((other) => other.account(accountName).meteringBucket("billing").plans)]
    const list = Array.from({ length: 20 }, (_, index) => ({ ...free, planExternalId: `p-${index}` }))
    const outcomes = (await Promise.all(handles.map((plans) => plans.ensure(list)))).flatMap(({ data }) => data)
    expect(outcomes.filter(({ outcome }) => outcome === "created")).toHaveLength(20)
    expect(outcomes.filter(({ outcome }) => outcome === "unchanged")).toHaveLength(60)
    expect((await plans.list({ limit: 100 })).total).toBe(20)
    expect(await events()).toHaveLength(20)
    // Half of the list is new to some of them.
    const longer = Array.from({ length: 40 }, (_, index) => ({ ...free, planExternalId: `p-${index}` }))
    await Promise.all(handles.map((plans) => plans.ensure(longer)))
    expect((await plans.list({ limit: 100 })).total).toBe(40)
    for (const other of others) await other.close()
  })

  it("changes nothing if one plan is refused", async () => {
    const { billing, plans, events } = await open()
    await plans.ensure([free, pro])
    await billing.subscriptions.create({ customerKey: "alice", planExternalIds: ["pro"] })
    const before = (await plans.list()).data
    const fresh = { ...free, planExternalId: "new" }
    const hourly = { ...pro, meters: { requests: { max: 1, period: "hour" } } } as const
    await expect(plans.ensure([fresh, hourly])).rejects.toMatchObject({
      code: "plan-in-use",
      planId: before.find(({ planExternalId }) => planExternalId === "pro")?.id
    })
    const refuse = (list: unknown, ...pointers: ReadonlyArray<string>) =>
      expect(plans.ensure(list as never)).rejects.toMatchObject({
        code: "bad-request",
        errors: pointers.map((pointer) => expect.objectContaining({ pointer }))
      })
    await refuse([fresh, { ...fresh }], "/plans/1/planExternalId")
    await refuse([fresh, { ...free, meters: {} }], "/plans/1/meters")
    await refuse([fresh, { ...free, extra: 1 }], "/plans/1/extra")
    await refuse([fresh, { meters: free.meters }], "/plans/1/label", "/plans/1/planExternalId")
    await refuse([], "/plans")
    await refuse(
      Array.from({ length: 101 }, (_, index) => ({ ...free, planExternalId: `${index}` })),
      "/plans"
    )
    await refuse(fresh, "/plans")
    await refuse([null], "/plans/0/label", "/plans/0/planExternalId", "/plans/0/meters")
    expect((await plans.list()).data).toMatchObject(before.map(({ id, updatedOn }) => ({ id, updatedOn })))
    expect(await events()).toHaveLength(2)
    await billing.subscriptions.update((await billing.subscriptions.list()).data[0]?.id ?? "", {
      planExternalIds: ["free"]
    })
    expect(summarize(await plans.ensure([hourly]))).toEqual([["pro", "updated", "meters"]])
  })

  it("respects the limits of a metering bucket", async () => {
    const { accountName } = await open()
    const limited = await openGate(store(), { limits: { plansPerMeteringBucket: 3, metersPerMeteringBucket: 2 } })
    const { plans } = await limited.account(accountName).meteringBuckets.ensure("limited")
    const list = ["a", "b", "c", "d"].map((planExternalId) => ({ ...free, planExternalId }))
    await expect(plans.ensure(list)).rejects.toMatchObject({ code: "limit-reached", limit: "plansPerMeteringBucket" })
    expect((await plans.list()).total).toBe(0)
    await plans.ensure(list.slice(0, 3))
    await plans.ensure(list.slice(0, 3).map((plan) => ({ ...plan, trialDays: 1 })))
    await expect(plans.ensure(list.slice(3))).rejects.toMatchObject({ code: "limit-reached" })
    const meters = { one: { max: 1 }, two: { max: 1 } }
    await expect(plans.ensure([{ planExternalId: "a", meters }])).rejects.toMatchObject({
      code: "limit-reached",
      limit: "metersPerMeteringBucket"
    })
    await limited.close()
  })

  it("is offered over HTTP and by the client", async () => {
    const { billing } = await open("acme")
    const call = makeClient(gate().handler)
    const path = `/v1/metering/${billing.id}/plans`
    const body = { plans: [{ ...free, label: "Free" }] }
    expect(await call("PUT", path, { body })).toMatchObject({
      status: 200,
      body: { data: [{ outcome: "created", changedFields: [], plan: { label: "Free" } }] }
    })
    expect(await call("PUT", path, { body, token: tokens.reader })).toMatchObject({ status: 403 })
    expect(await call("PUT", path, { body: body.plans })).toMatchObject({ status: 400 })
    expect(await call("PUT", "/v1/metering/bckt_none/plans", { body })).toMatchObject({ status: 404 })
    const server = createServer(toNodeHandler(gate()))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const remote = createClient({ baseUrl, token: tokens.writer }).account("acme").meteringBucket("billing")
    expect(summarize(await remote.plans.ensure([free]))).toEqual([["free", "updated", "label"]])
    server.close()
  })
})
