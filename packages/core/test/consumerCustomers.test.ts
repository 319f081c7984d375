/**
 * The customer of a consumer: whose subscriptions count its requests.
 */
import { describe, expect, it } from "vitest"
import { freshAccount, useGate } from "./eventGates.ts"
import { stores } from "./stores.ts"

describe.each(stores)("the customer of a consumer, on %s", (_, layer) => {
  const { gate } = useGate(layer)
  const open = async () => {
    const account = gate().account(freshAccount())
    const production = account.keyBucket("production")
    const billing = await account.meteringBuckets.ensure("default")
    await billing.plans.create({ label: "pro", meters: { requests: { max: 3 } } })
    const subscribe = (customerKey: string) =>
      billing.subscriptions.create({ customerKey, planExternalIds: ["pro"], subscriptionExternalId: customerKey })
    const create = async (name: string, customerKey?: string) => {
      const { apiKeys } = await production.consumers.create({ name, customerKey }, { withApiKey: true })
      return apiKeys[0].key ?? ""
    }
    const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }
    return { production, subscribe, create, metering }
  }

  it("has the name of the consumer, unless it is set", async () => {
    const { production, subscribe, create, metering } = await open()
    await subscribe("alice")
    const alice = await create("alice")
    expect(await production.authorize(alice, { metering })).toMatchObject({ allowed: true })
    expect(await production.consumers.get("alice")).not.toHaveProperty("customerKey")
    expect((await production.verify(alice)) as object).not.toHaveProperty("consumer.customerKey")
  })

  it("is shared by consumers, which then share a quota", async () => {
    const { production, subscribe, create, metering } = await open()
    await subscribe("cus_N1/é")
    const [one, two] = [await create("one", "cus_N1/é"), await create("two", "cus_N1/é")]
    for (const key of [one, two, one]) expect((await production.authorize(key, { metering })).allowed).toBe(true)
    expect(await production.authorize(two, { metering })).toMatchObject({ allowed: false, reason: "over-quota" })
    expect(await production.verify(two)).toMatchObject({ valid: true, consumer: { customerKey: "cus_N1/é" } })
  })

  it("changes at once for all keys, and null makes it the name again", async () => {
    const { production, subscribe, create, metering } = await open()
    await subscribe("acme-inc")
    const key = await create("alice")
    expect(await production.authorize(key, { metering })).toMatchObject({ allowed: false, reason: "no-subscription" })
    expect((await production.consumers.update("alice", { customerKey: "acme-inc" })).customerKey).toBe("acme-inc")
    expect(await production.authorize(key, { metering })).toMatchObject({
      allowed: true,
      consumer: { name: "alice", customerKey: "acme-inc" },
      subscription: { subscriptionExternalId: "acme-inc" }
    })
    await production.consumers.update("alice", { customerKey: null })
    expect(await production.authorize(key, { metering })).toMatchObject({ allowed: false, reason: "no-subscription" })
  })

  it("gives way to the customer of a call", async () => {
    const { production, subscribe, create, metering } = await open()
    await subscribe("one")
    await subscribe("two")
    const key = await create("alice", "one")
    const decision = await production.authorize(key, { metering, customer: "two" })
    expect(decision).toMatchObject({ allowed: true, subscription: { subscriptionExternalId: "two" } })
  })

  it("has 1 to 256 characters", async () => {
    const { production } = await open()
    for (const customerKey of ["", "x".repeat(257)]) {
      await expect(production.consumers.create({ name: "alice", customerKey })).rejects.toMatchObject({
        errors: [{ pointer: "/customerKey" }]
      })
    }
  })
})
