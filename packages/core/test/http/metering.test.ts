import { createTollgate, type Tollgate } from "@tollgate/core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { grants, secret, stores, tokens } from "../stores.ts"
import { type Client, makeClient } from "./client.ts"

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const planInput = (planExternalId: string, fields: object = {}) => ({
  label: `Plan ${planExternalId}`,
  planExternalId,
  meters: { requests: { label: "Requests", max: 10 } },
  ...fields
})

describe.each(stores)("metering over HTTP, on %s", (_, store) => {
  let gate: Tollgate
  let call: Client
  beforeAll(async () => {
    gate = await createTollgate({ store, secret, tokens: grants })
    call = makeClient(gate.handler)
  })
  afterAll(() => gate.close())

  const makeBucket = async () => `/v1/metering/${(await call("POST", "/v1/metering")).body.id}`
  const makePlan = async (bucket: string, body: object) => {
    const created = await call("POST", `${bucket}/plans`, { body })
    expect(created.status).toBe(200)
    return created.body
  }
  let count = 0
  const subscriptionInput = (plans: ReadonlyArray<{ id: string; planExternalId: string }>, fields: object = {}) => ({
    planIds: plans.map(({ id }) => id),
    planExternalIds: plans.map(({ planExternalId }) => planExternalId),
    status: "active",
    type: "periodic",
    renewalStrategy: "monthly",
    region: "us-central1",
    customerKey: "alice",
    subscriptionExternalId: `external-${++count}`,
    customerExternalId: "customer-1",
    ...fields
  })
  const makeSubscription = async (bucket: string, body: object) => {
    const created = await call("POST", `${bucket}/subscriptions`, { body })
    expect(created.status).toBe(200)
    return created.body
  }

  describe("buckets", () => {
    it("are created, read, listed and deleted", async () => {
      const created = await call("POST", "/v1/metering")
      expect(created).toMatchObject({ status: 200 })
      expect(created.body).toEqual({
        id: expect.stringMatching(/^bckt_[0-9A-Za-z]{24}$/),
        createdOn: timestamp,
        updatedOn: timestamp,
        accountName: "acme"
      })
      const path = `/v1/metering/${created.body.id}`
      const read = await call("GET", path)
      expect(read.body).toEqual(created.body)
      expect(read.headers.get("etag")).toBe(created.headers.get("etag"))
      const listed = await call("GET", "/v1/metering")
      expect(listed.body.data).toContainEqual(created.body)
      expect(listed.body).toMatchObject({ limit: 1000, offset: 0 })
      expect((await call("DELETE", path, { headers: { "if-match": '"999"' } })).status).toBe(412)
      expect(await call("DELETE", path)).toMatchObject({ status: 204, body: "" })
      for (const method of ["GET", "DELETE"]) {
        expect(await call(method, path)).toMatchObject({
          status: 404,
          body: { type: "urn:tollgate:problem:bucket-not-found" }
        })
      }
      expect((await call("GET", "/v1/metering")).body.data).not.toContainEqual(created.body)
      expect((await call("GET", "/v1/metering/nonsense")).status).toBe(404)
    })

    it("belong to the caller's account, which a caller for all accounts must name", async () => {
      const bucket = await makeBucket()
      expect((await call("POST", "/v1/metering", { body: { accountName: "acme" } })).status).toBe(200)
      expect((await call("POST", "/v1/metering", { body: { accountName: "other" } })).status).toBe(403)
      expect(await call("POST", "/v1/metering", { token: tokens.admin })).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: "/accountName" }] }
      })
      const theirs = await call("POST", "/v1/metering", { token: tokens.admin, body: { accountName: "other" } })
      expect(theirs.body.accountName).toBe("other")
      for (const path of [
        "",
        "/plans",
        "/subscriptions",
        "/plans/plan_x",
        "/subscriptions/sbsc_x",
        "/subscriptions/sbsc_x/quotas"
      ]) {
        const response = await call("GET", `${bucket}${path}`, { token: tokens.otherAccount })
        expect(response).toMatchObject({ status: 404, body: { type: "urn:tollgate:problem:bucket-not-found" } })
      }
      expect((await call("DELETE", bucket, { token: tokens.otherAccount })).status).toBe(404)
      expect((await call("POST", `${bucket}/plans`, { token: tokens.otherAccount, body: planInput("x") })).status).toBe(
        404
      )
      const own = (await call("GET", "/v1/metering", { token: tokens.otherAccount })).body
      expect(own.data.every(({ accountName }: { accountName: string }) => accountName === "other")).toBe(true)
      const all = (await call("GET", "/v1/metering", { token: tokens.admin })).body
      for (const account of ["acme", "other"]) {
        const filtered = await call("GET", `/v1/metering?accountName=${account}`, { token: tokens.admin })
        const accounts = filtered.body.data.map(({ accountName }: { accountName: string }) => accountName)
        expect(new Set(accounts)).toEqual(new Set([account]))
        expect(filtered.body.total).toBe(accounts.length)
        const theirs = await call("GET", `/v1/metering?accountName=${account}`, { token: tokens.otherAccount })
        expect(theirs.status).toBe(account === "other" ? 200 : 403)
      }
      expect((await call("GET", "/v1/metering?accountName=a%20b", { token: tokens.admin })).status).toBe(400)
      expect(new Set(all.data.map(({ accountName }: { accountName: string }) => accountName))).toEqual(
        new Set(["acme", "other"])
      )
      expect((await call("POST", "/v1/metering", { token: tokens.reader })).status).toBe(403)
      expect((await call("GET", bucket, { token: tokens.reader })).status).toBe(200)
    })

    it("are created once per Idempotency-Key", async () => {
      const make = () => call("POST", "/v1/metering", { headers: { "idempotency-key": "bucket" } })
      const first = await make()
      expect((await make()).body).toEqual(first.body)
      expect((await call("GET", `/v1/metering/${first.body.id}`)).status).toBe(200)
    })

    it("are deleted with everything in them", async () => {
      const bucket = await makeBucket()
      const created = await makePlan(bucket, planInput("x"))
      const subscription = await makeSubscription(bucket, subscriptionInput([created]))
      await call("POST", `${bucket}/subscriptions/${subscription.id}/quotas/consume`, {
        body: { meters: { requests: 3 } }
      })
      expect((await call("DELETE", bucket)).status).toBe(204)
      for (const path of ["/plans", `/plans/${created.id}`, "/subscriptions", `/subscriptions/${subscription.id}`]) {
        expect((await call("GET", `${bucket}${path}`)).status).toBe(404)
      }
    })
  })

  describe("plans", () => {
    it("are created with every field, read, listed, updated and deleted", async () => {
      const bucket = await makeBucket()
      const full = {
        label: "Pro",
        planExternalId: "price_1",
        meters: { requests: { label: "Requests", max: 1000.5 }, "storage.gb": { max: 0 } },
        trialDays: 14,
        trialEndStatus: "paused",
        isTrialCollectPayment: true
      }
      const created = await call("POST", `${bucket}/plans`, { body: full })
      expect(created.body).toEqual({
        id: expect.stringMatching(/^plan_[0-9A-Za-z]{24}$/),
        createdOn: timestamp,
        updatedOn: timestamp,
        hasSubscriptions: false,
        ...full
      })
      const path = `${bucket}/plans/${created.body.id}`
      expect((await call("GET", path)).body).toEqual(created.body)
      await makePlan(bucket, planInput("price_2"))
      const list = (await call("GET", `${bucket}/plans?limit=1&offset=1`)).body
      expect(list).toMatchObject({ limit: 1, offset: 1, total: 2 })
      expect(list.data[0].planExternalId).toBe("price_2")
      const changed = await call("PATCH", path, { body: { label: "Max", meters: { calls: { max: 5 } }, trialDays: 0 } })
      expect(changed.body).toEqual({
        ...created.body,
        label: "Max",
        meters: { calls: { max: 5 } },
        trialDays: 0,
        updatedOn: timestamp
      })
      expect(
        (await call("PATCH", path, { body: {}, headers: { "if-match": created.headers.get("etag") ?? "" } })).status
      ).toBe(412)
      const taken = await call("PATCH", path, { body: { planExternalId: "price_2" } })
      expect(taken).toMatchObject({ status: 409, body: { type: "urn:tollgate:problem:plan-external-id-taken" } })
      expect((await call("POST", `${bucket}/plans`, { body: planInput("price_1") })).status).toBe(409)
      expect((await call("POST", `${await makeBucket()}/plans`, { body: planInput("price_1") })).status).toBe(200)
      expect(await call("DELETE", path)).toMatchObject({ status: 204, body: "" })
      expect((await call("GET", path)).body.type).toBe("urn:tollgate:problem:plan-not-found")
      expect((await call("DELETE", path)).status).toBe(404)
      expect((await call("POST", `${bucket}/plans`, { body: planInput("price_1") })).status).toBe(200)
    })

    it("cannot be deleted while in use, whatever the status of the subscription", async () => {
      const bucket = await makeBucket()
      const created = await makePlan(bucket, planInput("x"))
      const subscription = await makeSubscription(bucket, subscriptionInput([created], { status: "canceled" }))
      expect((await call("GET", `${bucket}/plans`)).body.data[0].hasSubscriptions).toBe(true)
      const rejected = await call("DELETE", `${bucket}/plans/${created.id}`)
      expect(rejected).toMatchObject({ status: 409, body: { type: "urn:tollgate:problem:plan-in-use" } })
      expect((await call("DELETE", `${bucket}/subscriptions/${subscription.id}`)).status).toBe(204)
      expect((await call("GET", `${bucket}/plans/${created.id}`)).body.hasSubscriptions).toBe(false)
      expect((await call("DELETE", `${bucket}/plans/${created.id}`)).status).toBe(204)
    })

    it.each([
      [{ label: undefined }, "/label"],
      [{ label: "" }, "/label"],
      [{ label: 5 }, "/label"],
      [{ planExternalId: "" }, "/planExternalId"],
      [{ meters: {} }, "/meters"],
      [{ meters: { "a b": { max: 1 } } }, undefined],
      [{ meters: { a: { max: -1 } } }, "/meters/a/max"],
      [{ meters: { a: {} } }, "/meters/a/max"],
      [{ meters: { a: { max: "1" } } }, "/meters/a/max"],
      [{ meters: { a: { max: 1, min: 0 } } }, "/meters/a/min"],
      [{ meters: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`m${i}`, { max: 1 }])) }, "/meters"],
      [{ trialDays: -1 }, "/trialDays"],
      [{ trialDays: 3651 }, "/trialDays"],
      [{ trialDays: 1.5 }, "/trialDays"],
      [{ trialEndStatus: "ended" }, "/trialEndStatus"],
      [{ isTrialCollectPayment: "yes" }, "/isTrialCollectPayment"],
      [{ hasSubscriptions: true }, "/hasSubscriptions"],
      [{ id: "plan_1" }, "/id"],
      [{ price: 5 }, "/price"]
    ] as ReadonlyArray<readonly [object, string | undefined]>)("are rejected with %j", async (fields, pointer) => {
      const bucket = await makeBucket()
      const { status, body } = await call("POST", `${bucket}/plans`, { body: planInput("x", fields) })
      expect(status).toBe(400)
      if (pointer !== undefined)
        expect(body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer)
      expect((await call("GET", `${bucket}/plans`)).body.total).toBe(0)
    })
  })

  describe("subscriptions", () => {
    it("are created with every field, read and deleted", async () => {
      const bucket = await makeBucket()
      const [one, two] = [await makePlan(bucket, planInput("one")), await makePlan(bucket, planInput("two"))]
      const input = subscriptionInput([one, two], {
        renewalStrategy: "yearly",
        region: "europe-west4",
        quotaResetAnchor: "2026-01-31T00:00:00Z",
        metadata: { seats: 3 },
        trialEndStatus: "anything",
        trialEndDate: "2026-03-01T00:00:00Z",
        trialStartDate: "2026-02-01T00:00:00Z",
        nextBillingCycle: "2099-01-31T00:00:00Z",
        productKey: "product"
      })
      const created = await call("POST", `${bucket}/subscriptions`, { body: input })
      expect(created.body).toEqual({
        ...input,
        id: expect.stringMatching(/^sbsc_[0-9A-Za-z]{24}$/),
        createdOn: timestamp,
        updatedOn: timestamp,
        quotaResetAnchor: "2026-01-31T00:00:00.000Z",
        trialEndDate: "2026-03-01T00:00:00.000Z",
        trialStartDate: "2026-02-01T00:00:00.000Z",
        nextBillingCycle: "2099-01-31T00:00:00.000Z"
      })
      const path = `${bucket}/subscriptions/${created.body.id}`
      const read = await call("GET", path)
      expect(read.body).toEqual(created.body)
      expect(read.headers.get("etag")).toMatch(/^"\d+"$/)
      expect(created.headers.get("etag")).toBe(read.headers.get("etag"))
      const conditional = { body: { status: "unpaid" }, headers: { "if-match": created.headers.get("etag") ?? "" } }
      const changed = await call("PATCH", path, conditional)
      expect(changed.status).toBe(200)
      expect(changed.headers.get("etag")).toBe((await call("GET", path)).headers.get("etag"))
      expect((await call("PATCH", path, conditional)).status).toBe(412)
      expect((await call("DELETE", path, { headers: { "if-match": '"1"' } })).status).toBe(412)
      expect(await call("DELETE", path)).toMatchObject({ status: 204, body: "" })
      expect((await call("GET", path)).body.type).toBe("urn:tollgate:problem:subscription-not-found")
    })

    it("get a default anchor and next billing cycle", async () => {
      const bucket = await makeBucket()
      const { body } = await call("POST", `${bucket}/subscriptions`, {
        body: subscriptionInput([await makePlan(bucket, planInput("x"))])
      })
      expect(body.quotaResetAnchor).toBe(body.createdOn)
      expect(Date.parse(body.nextBillingCycle)).toBeGreaterThan(Date.parse(body.createdOn) + 27 * 86_400_000)
    })

    it("must reference the same plans of their bucket by both kinds of ID", async () => {
      const bucket = await makeBucket()
      const [one, two] = [await makePlan(bucket, planInput("one")), await makePlan(bucket, planInput("two"))]
      const elsewhere = await makePlan(await makeBucket(), planInput("elsewhere"))
      const invalid: ReadonlyArray<readonly [object, number]> = [
        [{ planIds: [one.id], planExternalIds: ["two"] }, 422],
        [{ planIds: [one.id, two.id], planExternalIds: ["one"] }, 422],
        [{ planIds: [one.id], planExternalIds: ["unknown"] }, 422],
        [{ planIds: ["plan_unknown"], planExternalIds: ["one"] }, 422],
        [{ planIds: [elsewhere.id], planExternalIds: ["elsewhere"] }, 422],
        [{ planIds: [], planExternalIds: [] }, 400],
        [{ planIds: [one.id, one.id], planExternalIds: ["one", "one"] }, 400],
        [{ planIds: one.id }, 400]
      ]
      for (const [fields, status] of invalid) {
        expect((await call("POST", `${bucket}/subscriptions`, { body: subscriptionInput([one], fields) })).status).toBe(
          status
        )
      }
      const swapped = await makeSubscription(
        bucket,
        subscriptionInput([], { planIds: [one.id, two.id], planExternalIds: ["two", "one"] })
      )
      expect([swapped.planIds, swapped.planExternalIds]).toEqual([
        [one.id, two.id],
        ["one", "two"]
      ])
      expect((await call("GET", `${bucket}/subscriptions`)).body.total).toBe(1)
      await call("PATCH", `${bucket}/plans/${two.id}`, { body: { planExternalId: "renamed" } })
      expect((await call("GET", `${bucket}/subscriptions/${swapped.id}`)).body.planExternalIds).toEqual([
        "one",
        "renamed"
      ])
    })

    it.each([
      { status: "paused" },
      { status: undefined },
      { type: "once" },
      { renewalStrategy: "weekly" },
      { region: "moon" },
      { customerKey: "" },
      { customerKey: undefined },
      { subscriptionExternalId: undefined },
      { customerExternalId: 5 },
      { quotaResetAnchor: "2026-02-30T00:00:00Z" },
      { metadata: [] },
      { trialEndDate: "soon" },
      { prorate: 1 },
      { id: "sbsc_1" },
      { unknown: 1 }
    ])("are rejected with %j", async (fields) => {
      const bucket = await makeBucket()
      const body = subscriptionInput([await makePlan(bucket, planInput("x"))], fields)
      expect((await call("POST", `${bucket}/subscriptions`, { body })).status).toBe(400)
      expect((await call("GET", `${bucket}/subscriptions`)).body.total).toBe(0)
    })

    it("have unique external IDs, and are created once per Idempotency-Key", async () => {
      const bucket = await makeBucket()
      const body = subscriptionInput([await makePlan(bucket, planInput("x"))])
      const make = (key: string) =>
        call("POST", `${bucket}/subscriptions`, { body, headers: { "idempotency-key": key } })
      const first = await make("one")
      expect((await make("one")).body).toEqual(first.body)
      expect(await make("two")).toMatchObject({
        status: 409,
        body: { type: "urn:tollgate:problem:subscription-external-id-taken" }
      })
    })

    it("are listed by customer, external IDs and status", async () => {
      const bucket = await makeBucket()
      const one = await makePlan(bucket, planInput("x"))
      const a = await makeSubscription(bucket, subscriptionInput([one], { customerKey: "a", customerExternalId: "ca" }))
      const b = await makeSubscription(bucket, subscriptionInput([one], { customerKey: "b", status: "past-due" }))
      const ids = async (query: string) => {
        const { status, body } = await call("GET", `${bucket}/subscriptions${query}`)
        expect(status).toBe(200)
        return body.data.map(({ id }: { id: string }) => id)
      }
      expect(await ids("")).toEqual([a.id, b.id])
      expect(await ids("?limit=1&offset=1")).toEqual([b.id])
      expect(await ids("?customerKey=a")).toEqual([a.id])
      expect(await ids("?customerExternalId=ca")).toEqual([a.id])
      expect(await ids(`?subscriptionExternalId=${b.subscriptionExternalId}`)).toEqual([b.id])
      expect(await ids("?status=past-due")).toEqual([b.id])
      expect(await ids("?status=past-due&customerKey=a")).toEqual([])
      expect((await call("GET", `${bucket}/subscriptions?status=nonsense`)).status).toBe(400)
      expect((await call("GET", `${bucket}/subscriptions?customer=a`)).status).toBe(400)
    })

    it("update status, plans, metadata and trial end", async () => {
      const bucket = await makeBucket()
      const [one, two] = [await makePlan(bucket, planInput("one")), await makePlan(bucket, planInput("two"))]
      const created = await makeSubscription(bucket, subscriptionInput([one], { metadata: { a: 1 } }))
      const path = `${bucket}/subscriptions/${created.id}`
      for (const status of [
        "inactive",
        "incomplete",
        "incomplete-expired",
        "trialing",
        "past-due",
        "canceled",
        "unpaid",
        "active"
      ]) {
        expect((await call("PATCH", path, { body: { status } })).body.status).toBe(status)
        expect((await call("GET", `${bucket}/subscriptions?status=${status}`)).body.total).toBe(1)
      }
      const changed = await call("PATCH", path, {
        body: { planExternalIds: ["two", "one"], metadata: { b: 2 }, trialEndDate: "2030-01-01T00:00:00Z" }
      })
      expect(changed.body).toEqual({
        ...created,
        planIds: [two.id, one.id],
        planExternalIds: ["two", "one"],
        metadata: { b: 2 },
        trialEndDate: "2030-01-01T00:00:00.000Z",
        updatedOn: timestamp
      })
      const invalid: ReadonlyArray<readonly [object, number]> = [
        [{ planExternalIds: ["unknown"] }, 422],
        [{ planExternalIds: [] }, 400],
        [{ planExternalIds: ["one", "one"] }, 400],
        [{ prorate: 1.1 }, 400],
        [{ prorate: -0.1 }, 400],
        [{ status: "x" }, 400],
        [{ planIds: [one.id] }, 400],
        [{ customerKey: "b" }, 400]
      ]
      for (const [body, status] of invalid) expect((await call("PATCH", path, { body })).status).toBe(status)
      expect((await call("GET", path)).body).toEqual(changed.body)
    })
  })

  it("rejects every query parameter of operations that have none, and changes nothing", async () => {
    const bucket = await makeBucket()
    const created = await makePlan(bucket, planInput("x"))
    const subscription = await makeSubscription(bucket, subscriptionInput([created]))
    for (const path of [bucket, `${bucket}/plans/${created.id}`, `${bucket}/subscriptions/${subscription.id}`]) {
      for (const method of path === bucket ? ["DELETE"] : ["PATCH", "DELETE"]) {
        for (const name of ["tag.env", "if-match", "lable"]) {
          const response = await call(method, `${path}?${name}=x`, method === "PATCH" ? { body: {} } : {})
          expect(response).toMatchObject({ status: 400, body: { errors: [{ parameter: name }] } })
        }
      }
    }
    expect((await call("GET", `${bucket}/subscriptions/${subscription.id}`)).body).toEqual(subscription)
  })

  it("limits the end of a trial to the year 9999", async () => {
    const bucket = await makeBucket()
    const created = await makePlan(bucket, planInput("x", { trialDays: 3650 }))
    const body = subscriptionInput([created], { status: "trialing", trialStartDate: "9999-12-31T00:00:00Z" })
    expect((await call("POST", `${bucket}/subscriptions`, { body })).body.trialEndDate).toBe("9999-12-31T23:59:59.999Z")
  })

  describe("quotas", () => {
    const setUp = async (fields: object = {}, planFields: object = {}) => {
      const bucket = await makeBucket()
      const one = await makePlan(bucket, planInput("one", planFields))
      const { id } = await makeSubscription(bucket, subscriptionInput([one], fields))
      const path = `${bucket}/subscriptions/${id}`
      const consume = (meters: object, headers: Record<string, string> = {}) =>
        call("POST", `${path}/quotas/consume`, { body: { meters }, headers })
      return { bucket, one, path, consume }
    }

    it("are consumed atomically, up to the maximum and never over", async () => {
      const { path, consume } = await setUp({}, { meters: { requests: { max: 10.9 }, tokens: { max: 100 } } })
      expect((await call("GET", `${path}/quotas`)).body).toEqual({
        meters: { requests: { max: 10, used: 0, remaining: 10 }, tokens: { max: 100, used: 0, remaining: 100 } },
        periodStart: timestamp,
        resetsOn: timestamp
      })
      const used = await consume({ requests: 4, tokens: 60 })
      expect(used.body.meters).toEqual({
        requests: { max: 10, used: 4, remaining: 6 },
        tokens: { max: 100, used: 60, remaining: 40 }
      })
      const over = await consume({ requests: 1, tokens: 41 })
      expect(over).toMatchObject({
        status: 429,
        body: { type: "urn:tollgate:problem:quota-exceeded", meter: "tokens", max: 100, resetsOn: used.body.resetsOn }
      })
      const wait = Number(over.headers.get("retry-after"))
      expect(Math.abs(wait - (Date.parse(used.body.resetsOn) - Date.now()) / 1000)).toBeLessThan(10)
      expect((await consume({ requests: 6, tokens: 40 })).status).toBe(200)
      expect((await consume({ requests: 1 })).status).toBe(429)
      expect((await call("GET", `${path}/quotas`)).body.meters).toEqual({
        requests: { max: 10, used: 10, remaining: 0 },
        tokens: { max: 100, used: 100, remaining: 0 }
      })
    })

    it("reject invalid amounts and unknown meters", async () => {
      const { path, consume } = await setUp()
      for (const meters of [
        {},
        { requests: 0 },
        { requests: -1 },
        { requests: 1.5 },
        { requests: "1" },
        { "a b": 1 },
        { requests: 2 ** 53 }
      ]) {
        expect((await consume(meters)).status).toBe(400)
      }
      expect((await call("POST", `${path}/quotas/consume`)).status).toBe(400)
      expect(await consume({ requests: 1, unknown: 1 })).toMatchObject({
        status: 422,
        body: { type: "urn:tollgate:problem:unknown-meter" }
      })
      expect((await call("GET", `${path}/quotas`)).body.meters.requests.used).toBe(0)
    })

    it("are consumed once per Idempotency-Key", async () => {
      const { path, consume } = await setUp()
      const first = await consume({ requests: 3 }, { "idempotency-key": "use" })
      expect((await consume({ requests: 3 }, { "idempotency-key": "use" })).body).toEqual(first.body)
      expect((await consume({ requests: 4 }, { "idempotency-key": "use" })).status).toBe(422)
      expect((await consume({ requests: 8 }, { "idempotency-key": "over" })).status).toBe(429)
      expect((await consume({ requests: 7 }, { "idempotency-key": "over" })).status).toBe(200)
      expect((await call("GET", `${path}/quotas`)).body.meters.requests.used).toBe(10)
    })

    it("replay the first response for an Idempotency-Key, whatever has changed since", async () => {
      const { bucket, one, path, consume } = await setUp()
      const use = () => consume({ requests: 3 }, { "idempotency-key": "use" })
      const first = (await use()).body
      await call("PATCH", `${bucket}/plans/${one.id}`, { body: { meters: { requests: { max: 500 } } } })
      expect((await use()).body).toEqual(first)
      await call("PATCH", `${bucket}/plans/${one.id}`, { body: { meters: { other: { max: 1 } } } })
      expect((await use()).body).toEqual(first)
      await call("PATCH", path, { body: { status: "canceled" } })
      expect((await use()).body).toEqual(first)
      expect((await consume({ requests: 4 }, { "idempotency-key": "use" })).status).toBe(422)
      await call("DELETE", path)
      expect((await use()).body).toEqual(first)
      expect((await consume({ requests: 3 }, { "idempotency-key": "new" })).status).toBe(404)
    })

    it("are prorated without rounding errors", async () => {
      const { bucket, path } = await setUp()
      await makePlan(bucket, planInput("hundred", { meters: { requests: { max: 100 } } }))
      for (const [share, max] of [
        [0.29, 29],
        [0.57, 57],
        [0.58, 58],
        [0.999, 99],
        [0, 0]
      ] as const) {
        await call("PATCH", path, { body: { planExternalIds: ["one"] } })
        await call("PATCH", path, { body: { planExternalIds: ["hundred"], prorate: share } })
        expect((await call("GET", `${path}/quotas`)).body.meters.requests.max).toBe(max)
      }
    })

    it.each([
      ["active", 200],
      ["trialing", 200],
      ["past-due", 200],
      ["inactive", 403],
      ["incomplete", 403],
      ["incomplete-expired", 403],
      ["canceled", 403],
      ["unpaid", 403]
    ])("respond to consume for a subscription that is %s with %i", async (status, expected) => {
      const { path, consume } = await setUp({ status })
      const response = await consume({ requests: 1 })
      expect(response.status).toBe(expected)
      if (expected === 403) expect(response.body.type).toBe("urn:tollgate:problem:subscription-not-active")
      expect((await call("GET", `${path}/quotas`)).body.meters.requests.used).toBe(expected === 200 ? 1 : 0)
    })

    it("are summed over several plans, and follow a change of plans", async () => {
      const { bucket, one, path, consume } = await setUp()
      await makePlan(bucket, planInput("two", { meters: { requests: { max: 5 }, extra: { max: 1 } } }))
      await consume({ requests: 8 })
      const patch = (body: object) => call("PATCH", path, { body })
      const getMaxAndUsed = async () => {
        const { meters } = (await call("GET", `${path}/quotas`)).body
        return Object.fromEntries(
          Object.entries<{ max: number; used: number }>(meters).map(([name, { max, used }]) => [name, [max, used]])
        )
      }
      await patch({ planExternalIds: ["one", "two"] })
      expect(await getMaxAndUsed()).toEqual({ requests: [15, 8], extra: [1, 0] })
      await patch({ planExternalIds: ["two"], prorate: 0.5 })
      expect(await getMaxAndUsed()).toEqual({ requests: [2, 8], extra: [0, 0] })
      expect((await call("GET", `${path}/quotas`)).body.meters.requests.remaining).toBe(0)
      expect((await consume({ requests: 1 })).status).toBe(429)
      await patch({ planExternalIds: ["two"], prorate: 1 })
      expect(await getMaxAndUsed()).toEqual({ requests: [2, 8], extra: [0, 0] })
      await patch({ planExternalIds: ["one"] })
      expect(await getMaxAndUsed()).toEqual({ requests: [10, 8] })
      await call("PATCH", `${bucket}/plans/${one.id}`, { body: { meters: { requests: { max: 9 } } } })
      expect((await consume({ requests: 1 })).status).toBe(200)
      expect((await consume({ requests: 1 })).status).toBe(429)
    })
  })
})
