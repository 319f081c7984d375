/**
 * What a subscription has instead of what its plans say.
 */
import { describe, expect, it } from "vitest"
import { freshAccount, openGate, readLog, useGate } from "./eventGates.ts"
import { stores } from "./stores.ts"

describe.each(stores)("overrides of a subscription, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const open = async (overrides?: object) => {
    const accountName = freshAccount()
    const account = gate().account(accountName)
    const billing = account.meteringBucket("default")
    const meters = {
      requests: { max: 10 },
      calls: { max: 5, period: "day" },
      soft: { max: 1, isSoftLimit: true }
    } as const
    await billing.plans.create({ label: "pro", meters })
    const rateLimits = { steady: { limit: 1, per: "day" } } as const
    await billing.plans.create({ label: "limited", meters, rateLimits })
    await billing.plans.create({ label: "team", meters: { requests: { max: 100 } } })
    const input = { customerKey: "alice", planExternalIds: ["pro"], ...(overrides === undefined ? {} : { overrides }) }
    const { id } = await billing.subscriptions.create(input)
    const update = (patch: object) => billing.subscriptions.update(id, patch)
    const quotas = async () => (await billing.usage.quotas(id)).meters
    return { accountName, account, billing, id, update, quotas, alice: billing.customer("alice") }
  }

  it("replace the fields of a meter, and keep its period", async () => {
    const { id, billing, update, quotas } = await open({ meters: { requests: { max: 3.9 }, calls: { max: 7 } } })
    expect(await quotas()).toMatchObject({
      requests: { max: 3 },
      calls: { max: 7, resetsOn: expect.any(String) },
      soft: { max: 1 }
    })
    await update({ overrides: { meters: { requests: { isSoftLimit: true }, soft: { overageMax: 2 } } } })
    expect(await billing.usage.consume(id, { requests: 1_000, soft: 3 })).toMatchObject({
      meters: { requests: { max: 10, overage: 990 }, soft: { overage: 2 } }
    })
    await expect(billing.usage.consume(id, { soft: 1 })).rejects.toMatchObject({ code: "quota-exceeded", max: 3 })
    await update({ overrides: { meters: { soft: { isSoftLimit: false } } } })
    await expect(billing.usage.consume(id, { soft: 1 })).rejects.toMatchObject({ code: "quota-exceeded", max: 1 })
    await expect(billing.usage.consume(id, { requests: 1 })).rejects.toMatchObject({ code: "quota-exceeded", max: 10 })
  })

  it("add meters, and nothing if they have no maximum", async () => {
    const { alice, quotas, billing } = await open({ meters: { seats: { max: 2 }, other: { isSoftLimit: true } } })
    expect(await alice.consume({ seats: 2 })).toMatchObject({ meters: { seats: { max: 2, remaining: 0 } } })
    expect(Object.keys(await quotas()).sort()).toEqual(["calls", "requests", "seats", "soft"])
    expect((await billing.usage.totals()).data.at(-1)?.meters).toMatchObject({ seats: 2 })
  })

  it("survive changes of plan and are not prorated; an update replaces them whole, and null removes them", async () => {
    const { id, billing, update, quotas } = await open({ meters: { requests: { max: 50 } } })
    await update({ planExternalIds: ["team"], prorate: 0.5 })
    expect(await quotas()).toMatchObject({ requests: { max: 50 } })
    expect((await billing.subscriptions.get(id)).overrides).toEqual({ meters: { requests: { max: 50 } } })
    await update({ overrides: { meters: { seats: { max: 1 } } } })
    expect(await quotas()).toMatchObject({ requests: { max: 50 }, seats: { max: 1 } })
    expect(await update({ overrides: null })).not.toHaveProperty("overrides")
    expect(await quotas()).toEqual({ requests: { max: 50, used: 0, remaining: 50 } })
  })

  it("replace and lift rate limits, at once in every process", async () => {
    const { accountName, billing, alice, update } = await open()
    const other = await openGate(store())
    await update({ planExternalIds: ["limited"] })
    const elsewhere = other.account(accountName).meteringBucket(billing.id).customer("alice")
    await alice.consume({ requests: 1 })
    await expect(elsewhere.consume({ requests: 1 })).rejects.toMatchObject({ code: "rate-limited", limit: "steady" })
    await update({ overrides: { rateLimits: { steady: null } } })
    await elsewhere.consume({ requests: 1 })
    await update({ overrides: { rateLimits: { steady: { limit: 2, per: "day" }, more: { limit: 3, per: "hour" } } } })
    for (const customer of [alice, elsewhere]) await customer.consume({ requests: 1 })
    await expect(alice.consume({ requests: 1 })).rejects.toMatchObject({ code: "rate-limited", limit: "steady" })
    await update({ overrides: null })
    await expect(alice.consume({ requests: 1 })).rejects.toMatchObject({ code: "rate-limited", limit: "steady" })
    await other.close()
  })

  it("are in the events, and checked", async () => {
    const { accountName, update } = await open()
    await update({ overrides: { meters: { requests: { max: 1 } } } })
    const event = (await readLog(store(), gate(), accountName)).findLast(({ type }) => type === "subscription.updated")
    expect(event?.data).toMatchObject({ overrides: { meters: { requests: { max: 1 } } } })
    for (const [overrides, pointer] of [
      [{ meters: { requests: { max: -1 } } }, "/overrides/meters/requests/max"],
      [{ meters: { requests: { max: 1, period: "day" } } }, "/overrides/meters/requests/period"],
      [{ rateLimits: { steady: { per: "day" } } }, "/overrides/rateLimits/steady/limit"],
      [{ seats: 1 }, "/overrides/seats"]
    ] as const) {
      await expect(update({ overrides })).rejects.toMatchObject({ errors: [{ pointer }] })
    }
  })

  it("add no more names of meters than a metering bucket may have", async () => {
    const small = await openGate(store(), { limits: { metersPerMeteringBucket: 2 } })
    const billing = small.account(freshAccount()).meteringBucket("default")
    await billing.plans.create({ label: "pro", meters: { requests: { max: 10 } } })
    const create = (names: ReadonlyArray<string>) =>
      billing.subscriptions.create({
        customerKey: "alice",
        planExternalIds: ["pro"],
        overrides: { meters: Object.fromEntries(names.map((name) => [name, { max: 1 }])) }
      })
    const { id } = await create(["one"])
    await expect(create(["one", "two"])).rejects.toMatchObject({ code: "limit-reached" })
    await expect(
      billing.subscriptions.update(id, { overrides: { meters: { two: { max: 1 } } } })
    ).rejects.toMatchObject({ code: "limit-reached" })
    await small.close()
  })
})
