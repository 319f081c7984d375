/**
 * How requests with `charge: "success"` end when something goes wrong: too many are in flight, the store is gone, or
 * Tollgate is closed.
 */
import { once } from "node:events"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { createTollgate, type LocalKeyBucketHandle, type TollgateOptions } from "@tollgate/core"
import { requireApiKey } from "@tollgate/express"
import { requireApiKey as requireApiKeyInFastify } from "@tollgate/fastify"
import { MemoryStore } from "@tollgate/memory"
import { SqliteStore } from "@tollgate/sqlite"
import { makeFaultyStore } from "@tollgate/store-testkit"
import { eventually, isBackgroundCall, makeSubscription, temporaryFolder } from "@tollgate/testing"
import { Effect, Exit, Scope } from "effect"
import makeExpress, { type Response as ExpressResponse } from "express"
import makeFastify from "fastify"
import { afterEach, expect, it, vi } from "vitest"

const secret = "test-secret-with-at-least-32-characters"
const finalizers: Array<() => unknown> = []
afterEach(async () => {
  for (const finalize of finalizers.splice(0).reverse()) await finalize()
})

/** A Tollgate with one consumer, whose subscription has a quota of 5,000 requests. */
const setUp = async (store: TollgateOptions["store"]) => {
  const gate = await createTollgate({ store, secret })
  finalizers.push(() => gate.close())
  const production = gate.account("acme").keyBucket("production")
  const { apiKeys } = await production.consumers.create({ name: "alice" }, { withApiKey: true })
  const billing = await gate.account("acme").meteringBuckets.ensure("billing")
  const plan = await billing.plans.create({ label: "P", planExternalId: "p", meters: { requests: { max: 5000 } } })
  const subscription = await billing.subscriptions.create(makeSubscription(plan.id, "p", {}))
  const headers = { authorization: `Bearer ${apiKeys?.[0]?.key}` }
  const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }
  const readCharged = async (): Promise<number> => {
    const { data } = await billing.usage.series(subscription.id, { step: "period" })
    return data.at(-1)?.meters["requests"] ?? 0
  }
  return { gate, production, billing, subscriptionId: subscription.id, headers, metering, readCharged }
}

interface Setup {
  readonly production: LocalKeyBucketHandle
  readonly metering: { readonly meteringBucketId: string; readonly meters: Readonly<Record<string, number>> }
}

/** Serves one route, which leaves the response to the test. */
const serve = async ({ production, metering }: Setup) => {
  const responses: Array<ExpressResponse> = []
  const app = makeExpress()
  app.get("/", requireApiKey(production, { metering, charge: "success" }), (_req, res) => {
    res.write("first")
    responses.push(res)
  })
  const server = app.listen(0, "127.0.0.1")
  finalizers.push(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  await once(server, "listening")
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`
  return { url, responses }
}

it("refuses with 429 and Retry-After while 1,000 reservations are open", async () => {
  const setup = await setUp(MemoryStore.open())
  const { billing, subscriptionId, headers } = setup
  const { url } = await serve(setup)
  const reserve = () => billing.usage.reserve(subscriptionId, { meters: { requests: 1 } })
  const reservations = await Promise.all(Array.from({ length: 1000 }, reserve))
  const refused = await fetch(url, { headers })
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"])
  expect(await refused.json()).toMatchObject({ code: "rate-limited", limit: "open-reservations", retryAfterMs: 1000 })
  expect((await billing.usage.quotas(subscriptionId)).meters["requests"]?.used).toBe(1000)
  await billing.usage.release(subscriptionId, reservations[0]?.id ?? "")
  expect((await fetch(url, { headers })).status).toBe(200)
})

it("waits with close until a request that was answered is charged", async () => {
  const faulty = makeFaultyStore(MemoryStore.open(), isBackgroundCall)
  const setup = await setUp(faulty.store)
  const { url, responses } = await serve(setup)
  const response = await fetch(url, { headers: setup.headers })
  const [storeIsSlow, events] = [Promise.withResolvers<void>(), [] as string[]]
  const commit = Effect.promise(() => storeIsSlow.promise).pipe(
    Effect.andThen(Effect.sync(() => events.push("commit")))
  )
  faulty.injectAt(1, { interleave: commit })
  responses[0]?.end(" last")
  expect(await response.text()).toBe("first last")
  await eventually(() => expect(faulty.calls()).toBe(1))
  const closed = setup.gate.close().then(() => events.push("closed"))
  // Without waiting, it would be closed after a few turns of the event loop.
  for (let turn = 0; turn < 100; turn++) await setImmediate()
  storeIsSlow.resolve()
  await closed
  expect(events).toEqual(["commit", "closed"])
  // The store stays open: another Tollgate sees that the request was charged.
  const successor = await createTollgate({ store: faulty.store, secret })
  finalizers.push(() => successor.close())
  const { usage } = successor.account("acme").meteringBucket(setup.metering.meteringBucketId)
  expect((await usage.series(setup.subscriptionId, { step: "period" })).data.at(-1)?.meters).toEqual({ requests: 1 })
})

it("logs one warning if a request cannot be charged, and sends its response all the same", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined)
  finalizers.push(() => log.mockRestore())
  const scope = Scope.makeUnsafe()
  finalizers.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const folder = await Effect.runPromise(Scope.provide(temporaryFolder, scope))
  const store = await SqliteStore.open(join(folder, "store.db"))
  const setup = await setUp(store)
  const { url, responses } = await serve(setup)
  const response = await fetch(url, { headers: setup.headers })
  const findWarnings = () => log.mock.calls.map((line) => line.join(" ")).filter((line) => line.includes("not charged"))
  await store.close()
  responses[0]?.end(" last")
  expect(await response.text()).toBe("first last")
  await eventually(() => expect(findWarnings()).toHaveLength(1))
  expect(findWarnings()[0]).toMatch(
    /"level":"warn","message":"A request was not charged: .*Its reservation rsv_\w+ expires within an hour\."/
  )
})

it("shows nothing of the reservation to the route", async () => {
  const { production, metering, headers, readCharged } = await setUp(MemoryStore.open())
  const app = makeFastify()
  finalizers.push(() => app.close())
  app.get(
    "/",
    { onRequest: requireApiKeyInFastify(production, { metering, charge: "success" }) },
    (request) => request.consumer
  )
  const counted = await app.inject({ url: "/", headers })
  expect(counted.json()).toMatchObject({
    name: "alice",
    remaining: { requests: 4999 },
    quotas: { meters: { requests: { used: 1 } } }
  })
  expect(Object.keys(counted.json())).not.toContain("reportOutcome")
  await eventually(async () => expect(await readCharged()).toBe(1))
})

it("reserves what a function of the request returns, and nothing if it returns no meters", async () => {
  const { production, metering, headers, readCharged } = await setUp(MemoryStore.open())
  const app = makeFastify()
  finalizers.push(() => app.close())
  const getMetering = ({ url }: { readonly url: string }) => (url === "/free" ? undefined : metering)
  const onRequest = requireApiKeyInFastify(production, { metering: getMetering, charge: "success" })
  app.get("/free", { onRequest }, () => "free")
  app.get("/paid", { onRequest }, () => "paid")
  for (const url of ["/free", "/paid", "/free", "/paid"])
    expect((await app.inject({ url, headers })).statusCode).toBe(200)
  await eventually(async () => expect(await readCharged()).toBe(2))
})
