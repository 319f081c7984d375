/**
 * A rate limit is counted in one bucket: the metering bucket of the call, or the key bucket if the call has none.
 */
import { ConfigurationError, createTollgate, InvalidInput } from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { makeAuthorizeRequest, type RequireApiKeyOptions } from "@tollgate/protect"
import type { StoreOperations } from "@tollgate/store"
import { isBackgroundCall, makeSubscription } from "@tollgate/testing"
import { describe, expect, it } from "vitest"
import { secret } from "./stores.ts"

const rateLimit = { limit: 5, per: "hour" } as const

/** A consumer with a key and a subscription. */
const setUp = async () => {
  const calls: Array<string> = []
  const store = MemoryStore.open()
  const recording: StoreOperations = {
    ...store,
    getByUniqueKey: (...args) => {
      calls.push("read")
      return store.getByUniqueKey(...args)
    },
    get: (...args) => {
      if (!isBackgroundCall("get", args[0], args[1])) calls.push("read")
      return store.get(...args)
    },
    commit: (...args) => {
      if (!isBackgroundCall("commit", args[0], args[1])) calls.push("commit")
      return store.commit(...args)
    }
  }
  const gate = await createTollgate({ store: recording, secret })
  const acme = gate.account("acme")
  const production = acme.keyBucket("production")
  const { apiKeys = [] } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  const { id: meteringBucketId } = await acme.meteringBuckets.create()
  const billing = acme.meteringBucket(meteringBucketId)
  const plan = await billing.plans.create({
    label: "Plan",
    planExternalId: "plan",
    meters: { requests: { max: 100 } }
  })
  await billing.subscriptions.create(makeSubscription(plan.id, plan.planExternalId, {}))
  return { gate, acme, production, key: apiKeys[0]?.key ?? "", meteringBucketId, calls }
}

describe("a rate limit", () => {
  it("is one limit for calls with meters and for those that name the metering bucket", async () => {
    const { gate, production, key, meteringBucketId } = await setUp()
    const metering = { meteringBucketId, meters: { requests: 1 } }
    const allowed: Array<boolean> = []
    for (let index = 0; index < 10; index++) {
      const options = index % 2 === 0 ? { rateLimit, metering } : { rateLimit, limitsIn: meteringBucketId }
      allowed.push((await production.authorize(key, options)).allowed)
    }
    expect(allowed).toEqual(Array.from({ length: 10 }, (_, index) => index < 5))
    await gate.close()
  })

  it("needs one read and one commit in a metering bucket, as in a key bucket", async () => {
    const { gate, production, key, meteringBucketId, calls } = await setUp()
    const options = { rateLimit, limitsIn: meteringBucketId }
    await production.authorize(key, options)
    calls.length = 0
    expect(await production.authorize(key, options)).toMatchObject({ allowed: true, rateLimits: [{ remaining: 3 }] })
    expect(calls).toEqual(["read", "commit"])
    await gate.close()
  })

  it("is not counted in a metering bucket of another account, or in one that does not exist any more", async () => {
    const { gate, acme, production, key } = await setUp()
    const other = await gate.account("other").meteringBuckets.create()
    const removed = await acme.meteringBuckets.create()
    await production.authorize(key, { rateLimit, limitsIn: removed.id })
    await acme.meteringBuckets.remove(removed.id)
    for (const limitsIn of [other.id, removed.id, "bckt_unknown"]) {
      await expect(production.authorize(key, { rateLimit, limitsIn })).rejects.toMatchObject({
        _tag: "MeteringBucketNotFound"
      })
    }
    await gate.close()
  })

  it("cannot be counted in another metering bucket than the meters", async () => {
    const { gate, production, key, meteringBucketId } = await setUp()
    const metering = { meteringBucketId, meters: { requests: 1 } }
    await production.authorize(key, { rateLimit, metering, limitsIn: meteringBucketId })
    const error = await production
      .authorize(key, { rateLimit, metering, limitsIn: "bckt_other" })
      .catch((error) => error)
    expect(error).toBeInstanceOf(InvalidInput)
    expect(error.message).toContain("limitsIn: must be the meteringBucketId of metering")
    await gate.close()
  })
})

describe("the rate limit of a route", () => {
  const getError = (make: () => unknown) => {
    try {
      make()
    } catch (error) {
      return error
    }
    return expect.fail("The route was made")
  }

  it("is refused in a second bucket, unless the route names the first or the limit has another name", async () => {
    const { gate, acme, production, meteringBucketId } = await setUp()
    const makeRoute = (options: RequireApiKeyOptions, bucket = production) => makeAuthorizeRequest(bucket, options)
    const metering = { meteringBucketId, meters: { requests: 1 } }
    makeRoute({ rateLimit, metering })
    makeRoute({ rateLimit, metering })
    for (const options of [
      { rateLimit },
      { rateLimits: [{ name: "default", ...rateLimit, burst: 5 }] },
      { rateLimit, limitsIn: (await acme.meteringBuckets.create()).id }
    ]) {
      const error = getError(() => makeRoute(options))
      expect(error).toBeInstanceOf(ConfigurationError)
      expect(String(error)).toContain(`limitsIn: the limit "default" of this route is counted in`)
    }
    makeRoute({ rateLimit, limitsIn: meteringBucketId })
    makeRoute({ rateLimit: { ...rateLimit, name: "unmetered" } })
    makeRoute({ rateLimit: { ...rateLimit, limit: 6 } })
    makeRoute({ rateLimit }, acme.keyBucket("test"))
    await gate.close()
  })

  it("needs limitsIn if metering is a function, which returns that metering bucket or none", async () => {
    const { gate, production, key, meteringBucketId } = await setUp()
    const error = getError(() => makeAuthorizeRequest(production, { rateLimit, metering: () => undefined }))
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(String(error)).toContain("limitsIn: is needed beside rate limits if metering is a function")
    makeAuthorizeRequest(production, { metering: () => undefined })

    const route = makeAuthorizeRequest(production, {
      rateLimit,
      limitsIn: meteringBucketId,
      metering: (id: string | undefined) =>
        id === undefined ? undefined : { meteringBucketId: id, meters: { requests: 1 } }
    })
    const request = { header: () => `Bearer ${key}`, query: () => undefined }
    const remaining: Array<unknown> = []
    for (const id of [meteringBucketId, undefined, meteringBucketId]) {
      const result = await route(request, id)
      remaining.push(result.allowed ? result.consumer?.rateLimits?.[0]?.remaining : result)
    }
    expect(remaining).toEqual([4, 3, 2])
    await expect(route(request, "bckt_other")).rejects.toMatchObject({
      message: expect.stringContaining("metering: returned invalid options: limitsIn: must be the meteringBucketId")
    })
    await gate.close()
  })
})
