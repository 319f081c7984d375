import { assert, describe, it } from "@effect/vitest"
import { createTollgate, LimitReached } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { limitReached } from "../src/accounts/limits/LimitReached.ts"
import { withAllModules } from "./allModules.ts"
import { secret } from "./stores.ts"

const open = (limits: unknown) =>
  createTollgate({ store: MemoryStore.open(), secret, limits: limits as never, ...withAllModules() })

describe("option limits", () => {
  it("accepts any subset of the limits", async () => {
    for (const limits of [undefined, {}, { projectsPerAccount: 1 }, { projectsPerAccount: undefined }]) {
      await (await open(limits)).close()
    }
  })

  it("rejects unknown names, listing the valid ones, and values below 1", async () => {
    for (const [limits, expected] of [
      [{ projects: 5 }, /^limits\.projects: .*projectsPerAccount, deploymentsPerAccount/],
      [{ toString: 5 }, /^limits\.toString: unknown option; the options are/],
      [{ projectsPerAccount: 0 }, /^limits\.projectsPerAccount: must be a positive integer/],
      [{ projectsPerAccount: 1.5 }, /^limits\.projectsPerAccount/],
      [{ projectsPerAccount: "5" }, /^limits\.projectsPerAccount/],
      [7, /^limits: must be an object/],
      [[], /^limits: must be an object/]
    ] as const) {
      const problem = await open(limits).then(
        () => "accepted",
        (error: Error) => error.message
      )
      assert.match(problem, expected)
    }
  })
})

describe("metersPerMeteringBucket", () => {
  it("counts the names of all plans that a metering bucket ever had", async () => {
    const gate = await open({ metersPerMeteringBucket: 3 })
    const { plans } = await gate.account("acme").meteringBuckets.ensure("default")
    const isRefused = (change: Promise<unknown>) =>
      change.then(
        () => false,
        (error: unknown) => error instanceof LimitReached && error.limit === "metersPerMeteringBucket"
      )
    const free = await plans.create({ label: "free", meters: { requests: { max: 1 }, tokens: { max: 1 } } })
    assert.isFalse(await isRefused(plans.update(free.id, { meters: { requests: { max: 2 } } })))
    assert.isFalse(await isRefused(plans.create({ label: "pro", meters: { tokens: { max: 1 }, files: { max: 1 } } })))
    assert.isTrue(await isRefused(plans.create({ label: "new", meters: { bytes: { max: 1 } } })))
    assert.isTrue(await isRefused(plans.update(free.id, { meters: { bytes: { max: 1 } } })))
    assert.isFalse(await isRefused(plans.create({ label: "same", meters: { tokens: { max: 1 } } })))
    await gate.close()
  })
})

describe("plansPerMeteringBucket and subscriptionsPerMeteringBucket", () => {
  it("count what a metering bucket has", async () => {
    const gate = await open({ plansPerMeteringBucket: 2, subscriptionsPerMeteringBucket: 1 })
    const { plans, subscriptions } = await gate.account("acme").meteringBuckets.ensure("default")
    const findLimit = (change: Promise<unknown>) =>
      change.then(
        () => undefined,
        (error: unknown) => (error instanceof LimitReached ? error.limit : error)
      )
    const create = (planExternalId: string) => plans.create({ planExternalId, meters: { requests: { max: 1 } } })
    const free = await create("free")
    await create("pro")
    assert.strictEqual(await findLimit(create("more")), "plansPerMeteringBucket")
    await plans.remove(free.id)
    await create("more")
    const subscribe = (customerKey: string) => subscriptions.create({ customerKey, planExternalIds: ["pro"] })
    const { id } = await subscribe("alice")
    assert.strictEqual(await findLimit(subscribe("bob")), "subscriptionsPerMeteringBucket")
    await subscriptions.remove(id)
    await subscribe("bob")
    await gate.close()
  })
})

describe("LimitReached", () => {
  it("names the limit, its value and the remedy in its message", () => {
    const { message } = limitReached("meteringBucketsPerAccount", 1_000)
    assert.strictEqual(
      message,
      "An account may have at most 1,000 metering buckets. Remove one first or raise limits.meteringBucketsPerAccount."
    )
  })
})
