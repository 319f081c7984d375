/**
 * Features of plans: what a customer has of them, and routes that need them.
 */
import { describe, expect, it } from "vitest"
import { combineFeatures, overrideFeatures } from "../src/metering/model/Features.ts"
import { freshAccount, openGate, useGate } from "./eventGates.ts"
import { stores, tokens } from "./stores.ts"

describe("features of several sources", () => {
  const combine = (...all: ReadonlyArray<Record<string, true | number | string>>) =>
    combineFeatures(all.map((features, createdOn) => ({ features, createdOn })))

  it("are combined: numbers the highest, and of different types that of the source created last", () => {
    expect(combine()).toEqual({})
    expect(combine({ a: true }, { b: true })).toEqual({ a: true, b: true })
    expect(combine({ seats: 5 }, { seats: 3 }, { seats: 4 })).toEqual({ seats: 5 })
    expect(combine({ help: "mail" }, { help: "phone" })).toEqual({ help: "phone" })
    expect(combine({ seats: 5 }, { seats: "many" }, { seats: 3 })).toEqual({ seats: 3 })
    expect(combine({ seats: true }, { seats: 0 })).toEqual({})
    expect(combine({ seats: 0 }, { seats: 2 })).toEqual({ seats: 2 })
    const sources = [
      { features: { seats: "many" }, createdOn: 2 },
      { features: { seats: 3 }, createdOn: 1 }
    ]
    expect(combineFeatures(sources)).toEqual({ seats: "many" })
  })

  it("are replaced by overrides, which count last", () => {
    const plans = [{ features: { seats: 5, exports: true as const, help: "mail" }, createdOn: 1 }]
    const overridden = overrideFeatures(plans, { seats: 2, exports: false, sso: true })
    expect(combineFeatures(overridden)).toEqual({ seats: 2, help: "mail", sso: true })
    const others = overrideFeatures([{ features: { exports: true as const, seats: 4, help: 1 }, createdOn: 2 }])
    expect(combineFeatures([...overridden, ...others])).toEqual({ seats: 4, exports: true, help: 1, sso: true })
  })

  it("may have names that objects have by themselves", () => {
    expect(Object.keys(combine(JSON.parse('{ "constructor": true, "__proto__": 3 }')))).toEqual([
      "constructor",
      "__proto__"
    ])
  })
})

describe.each(stores)("features, on %s", (_, layer) => {
  const { store, gate } = useGate(layer)
  const open = async () => {
    const accountName = freshAccount()
    const account = gate().account(accountName)
    const { id: meteringBucketId } = await account.meteringBuckets.create()
    const billing = account.meteringBucket(meteringBucketId)
    const meters = { requests: { max: 1_000 } }
    const free = await billing.plans.create({ label: "free", meters, features: { seats: 1 } })
    const features = { seats: 5, exports: true, help: "mail" } as const
    await billing.plans.create({ label: "pro", meters, features })
    await billing.plans.create({ label: "plain", meters })
    const keys = account.keyBucket("production")
    const { apiKeys } = await keys.consumers.create({ name: "alice" }, { withApiKey: true })
    const key = apiKeys[0].key ?? ""
    const subscribe = (plan: string, more: object = {}) =>
      billing.subscriptions.create({ customerKey: "alice", planExternalIds: [plan], ...more })
    const metering = { meteringBucketId, meters: { requests: 1 } }
    const authorize = (needed?: ReadonlyArray<string>, on = gate()) =>
      on
        .account(accountName)
        .keyBucket("production")
        .authorize(key, { metering, ...(needed && { features: needed }) })
    const post = (body: object, idempotencyKey?: string) =>
      gate()
        .handler(
          new Request(`http://gate/v1/accounts/${accountName}/key-buckets/production/authorize`, {
            method: "POST",
            headers: {
              authorization: `Bearer ${tokens.admin}`,
              "content-type": "application/json",
              ...(idempotencyKey && { "idempotency-key": idempotencyKey })
            },
            body: JSON.stringify({ key, metering, ...body })
          })
        )
        .then((response) => response.json())
    return { accountName, billing, free, key, subscribe, authorize, post, metering, alice: billing.customer("alice") }
  }
  const lacks = (...features: ReadonlyArray<string>) => ({ allowed: false, reason: "missing-feature", features })

  it("are what a decision carries, and what a request may need; a refusal counts nothing", async () => {
    const { subscribe, authorize, alice } = await open()
    expect(await authorize(["exports"])).toMatchObject({ allowed: false, reason: "no-subscription" })
    await subscribe("free")
    expect(await authorize(["exports"])).toMatchObject({ ...lacks("exports"), consumer: { name: "alice" } })
    expect(await authorize(["seats", "help", "constructor"])).toMatchObject(lacks("help", "constructor"))
    expect(await authorize(["seats"])).toMatchObject({ allowed: true, features: { seats: 1 } })
    expect(await authorize([])).toMatchObject({ allowed: true, features: { seats: 1 } })
    expect(await alice.get()).toMatchObject({
      features: { seats: 1 },
      meters: { requests: { allowance: { used: 2 } } }
    })
  })

  it("are none with a plain plan", async () => {
    const { subscribe, authorize, alice } = await open()
    await subscribe("plain")
    expect(await authorize()).not.toHaveProperty("features")
    expect(await authorize(["seats"])).toMatchObject(lacks("seats"))
    expect((await alice.get()).features).toEqual({})
  })

  it("are those of all subscriptions that allow usage, at once in every process", async () => {
    const { billing, free, subscribe, authorize } = await open()
    const other = await openGate(store())
    const pro = await subscribe("pro")
    await subscribe("free")
    for (const process of [gate(), other]) {
      expect(await authorize(["exports"], process)).toMatchObject({
        features: { seats: 5, exports: true, help: "mail" }
      })
    }
    await billing.plans.update(pro.planIds[0] ?? "", { features: { seats: 9, exports: true } })
    expect(await authorize(undefined, other)).toMatchObject({ features: { seats: 9, exports: true } })
    await billing.plans.update(free.id, { features: { seats: 10, sso: true } })
    expect(await authorize(["sso"], other)).toMatchObject({ features: { seats: 10, exports: true, sso: true } })
    await billing.subscriptions.update(pro.id, { overrides: { features: { exports: false, seats: 2, help: "phone" } } })
    expect(await authorize(["exports"], other)).toMatchObject(lacks("exports"))
    expect(await authorize(["help"], other)).toMatchObject({ features: { seats: 10, sso: true, help: "phone" } })
    await billing.subscriptions.update(pro.id, { overrides: null })
    await billing.subscriptions.update(pro.id, { status: "inactive" })
    expect(await authorize(["exports"], other)).toMatchObject(lacks("exports"))
    await billing.subscriptions.update(pro.id, { status: "active" })
    expect(await authorize(["exports"], other)).toMatchObject({ allowed: true })
    await billing.plans.update(pro.planIds[0] ?? "", { features: {} })
    expect(await authorize(["exports"], other)).toMatchObject(lacks("exports"))
    expect(await billing.plans.get(pro.planIds[0] ?? "")).not.toHaveProperty("features")
    await other.close()
  })

  it("end with a trial", async () => {
    const { billing, subscribe, authorize } = await open()
    await subscribe("free")
    const inMs = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString()
    const trial = { status: "trialing", trialEndDate: inMs(3_600_000), trialEndStatus: "canceled" }
    const { id } = await subscribe("pro", trial)
    expect(await authorize(["exports"])).toMatchObject({ allowed: true })
    await billing.subscriptions.update(id, { trialEndDate: inMs(300) })
    await expect.poll(() => authorize(["exports"])).toMatchObject(lacks("exports"))
    expect(await authorize(["seats"])).toMatchObject({ features: { seats: 1 } })
  })

  it("are decided over HTTP, and are in the replay of a request", async () => {
    const { subscribe, post } = await open()
    await subscribe("pro")
    const features = { seats: 5, exports: true, help: "mail" }
    const first = await post({ features: ["exports"] }, "once")
    expect(first).toMatchObject({ allowed: true, status: 200, features })
    expect(await post({ features: ["exports"] }, "once")).toEqual(first)
    expect(await post({ features: ["sso", "seats"] })).toMatchObject({
      ...lacks("sso"),
      status: 403,
      problem: { code: "missing-feature", status: 403, features: ["sso"], detail: "The plan lacks the feature sso" }
    })
    expect(await post({ features: ["exports"], metering: undefined })).toMatchObject({
      code: "bad-request",
      errors: [{ pointer: "/features" }]
    })
  })

  it("are checked", async () => {
    const { accountName, billing, key, subscribe, metering } = await open()
    const invalid = [
      [{ exports: false }, "/features/exports"],
      [{ seats: -1 }, "/features/seats"],
      [{ seats: Number.NaN }, "/features/seats"],
      [{ help: "" }, "/features/help"],
      [{ help: "x".repeat(257) }, "/features/help"],
      [{ help: null }, "/features/help"],
      [{ "not a name": true }, "/features/not a name"],
      [Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`f${index}`, true])), "/features"]
    ] as const
    for (const [features, pointer] of invalid) {
      const creating = billing.plans.create({ label: "x", meters: { requests: { max: 1 } }, features } as never)
      await expect(creating, pointer).rejects.toMatchObject({ code: "bad-request", errors: [{ pointer }] })
    }
    await expect(subscribe("pro", { overrides: { features: { help: [] } } })).rejects.toMatchObject({
      errors: [{ pointer: "/overrides/features/help" }]
    })
    const keys = gate().account(accountName).keyBucket("production")
    for (const options of [
      { features: ["exports"] },
      { features: ["not a name"], metering },
      { features: "exports", metering },
      { features: Array.from({ length: 51 }, () => "f"), metering }
    ]) {
      await expect(keys.authorize(key, options as never)).rejects.toMatchObject({ code: "bad-request" })
    }
  })
})
