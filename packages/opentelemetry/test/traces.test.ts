/**
 * Traces of a host that has registered OpenTelemetry: the spans of Tollgate are children of the host's spans.
 */
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Span, SpanKind, SpanStatusCode } from "@opentelemetry/api"
import type { ReadableSpan } from "@opentelemetry/sdk-trace"
import { createTollgate, type Tollgate, type TollgateOptions } from "@tollgate/core"
import { requireApiKey, tollgate } from "@tollgate/express"
import { openTelemetry } from "@tollgate/opentelemetry"
import { SqliteStore } from "@tollgate/sqlite"
import { type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { eventually } from "@tollgate/testing"
import { Effect } from "effect"
import express from "express"
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest"
import { grants, secret, tokens } from "../../core/test/secrets.ts"
import { getSpanId, registerTracing } from "./tracing.ts"

const { tracer, getSpans, getTrace, getChildren, reset, unregister } = registerTracing()
afterAll(unregister)

const account = "acme"
const bucketName = "production-bucket"
const consumerName = "alice-the-consumer"
const consumersRoute = "/v1/accounts/{accountName}/key-buckets/{bucketName}/consumers"
const consumersPath = `/v1/accounts/${account}/key-buckets/${bucketName}/consumers`

let folder: string
let store: Awaited<ReturnType<typeof SqliteStore.open>>
/** Set to make every operation of the store fail. */
let outage: StoreUnavailable | undefined
let gate: Tollgate
let url: string
let key: string
let closeServer: () => Promise<unknown>

const makeFailing = (store: StoreOperations): StoreOperations => {
  const wrap =
    <Args extends Array<unknown>, A, E>(operation: (...args: Args) => Effect.Effect<A, E>) =>
    (...args: Args): Effect.Effect<A, E | StoreUnavailable> =>
      Effect.suspend(
        (): Effect.Effect<A, E | StoreUnavailable> => (outage === undefined ? operation(...args) : Effect.fail(outage))
      )
  return {
    ...store,
    get: wrap(store.get),
    getByUniqueKey: wrap(store.getByUniqueKey),
    list: wrap(store.list),
    counters: wrap(store.counters),
    commit: wrap(store.commit) as StoreOperations["commit"],
    clear: wrap(store.clear)
  }
}

const startGate = (options: Partial<Omit<TollgateOptions, "modules">> = {}) =>
  createTollgate({
    store: makeFailing(store),
    secret,
    tokens: grants,
    logger: silent,
    modules: [openTelemetry()],
    ...options
  })

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** The host's own span of each request, named by the header `x-host-span`. Without the header there is none. */
const withHostSpan: express.RequestHandler = (req, res, next) => {
  const name = req.get("x-host-span")
  if (name === undefined) return next()
  tracer.startActiveSpan(name, { kind: SpanKind.SERVER }, (span) => {
    res.once("close", () => span.end())
    next()
  })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tollgate-"))
  store = await SqliteStore.open(join(folder, "store.db"))
  gate = await startGate()
  const acme = gate.account(account)
  const production = acme.keyBucket(bucketName)
  const created = await production.consumers.create({ name: consumerName }, { withApiKey: true })
  key = created.apiKeys?.[0]?.key ?? ""
  const billing = await acme.meteringBuckets.ensure("billing")
  await billing.plans.create({ planExternalId: "pro", meters: { requests: { max: 1_000_000 } } })
  await billing.subscriptions.create({ customerKey: consumerName, planExternalIds: ["pro"] })

  const app = express().set("env", "test").use(withHostSpan).use("/api", tollgate(gate))
  const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }
  app.get(
    "/hello",
    requireApiKey(production, { rateLimit: { limit: 1_000_000, per: "minute" }, metering }),
    (req, res) => {
      res.json({ name: req.consumer?.name })
    }
  )
  const server = createServer(app).listen(0, "127.0.0.1")
  await once(server, "listening")
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  closeServer = () => new Promise((resolve) => server.close(resolve).closeAllConnections())
})
afterAll(async () => {
  await closeServer()
  await gate.close()
  await store.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
})
beforeEach(() => {
  outage = undefined
  reset()
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const callRoute = (hostSpan: string) => fetch(`${url}/hello`, { headers: { ...bearer(key), "x-host-span": hostSpan } })

const createConsumer = (name: string, headers: Readonly<Record<string, string>>) =>
  fetch(`${url}/api${consumersPath}`, {
    method: "POST",
    headers: { ...bearer(tokens.writer), "content-type": "application/json", ...headers },
    body: JSON.stringify({ name })
  })

const find = (spans: ReadonlyArray<ReadableSpan>, name: string): ReadableSpan => {
  const found = spans.filter((span) => span.name === name)
  expect(found.map((span) => span.name)).toEqual([name])
  return found[0] as ReadableSpan
}

/** Waits until the host's span has ended, which is after the response. */
const findHostSpan = (name: string): Promise<ReadableSpan> => eventually(() => find(getSpans(), name))

const isStoreSpan = ({ name }: ReadableSpan): boolean => name.endsWith(" sqlite")

/** Everything of a span that an exporter would send. */
const inspectSpan = ({ name, kind, attributes, status, events, links }: ReadableSpan): string =>
  JSON.stringify({ name, kind, attributes, status, events, links })

describe("the trace of an Express request", () => {
  it("to a protected route leads from the host's span through the decision to the store", async () => {
    expect((await callRoute("GET /hello")).status).toBe(200)
    const host = await findHostSpan("GET /hello")
    const decision = find(getChildren(getSpanId(host)), "tollgate.authorize")
    expect(getChildren(getSpanId(host))).toEqual([decision])
    expect(decision).toMatchObject({ kind: SpanKind.INTERNAL, attributes: { "tollgate.outcome": "allowed" } })
    const storeSpans = getChildren(getSpanId(decision))
    expect(storeSpans.length).toBeGreaterThanOrEqual(2)
    expect(storeSpans.filter((span) => !isStoreSpan(span))).toEqual([])
    expect(find(storeSpans, "commit sqlite")).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: { "db.system.name": "sqlite", "db.operation.name": "commit" }
    })
    expect(getTrace(host.spanContext().traceId)).toHaveLength(2 + storeSpans.length)
  })

  it("to the HTTP API leads from the host's span through the route and the operation to the commit", async () => {
    expect((await createConsumer("bob", { "x-host-span": "POST /api" })).status).toBe(200)
    const host = await findHostSpan("POST /api")
    const route = find(getChildren(getSpanId(host)), `POST ${consumersRoute}`)
    expect(route).toMatchObject({
      kind: SpanKind.INTERNAL,
      attributes: { "http.request.method": "POST", "http.route": consumersRoute, "http.response.status_code": 200 }
    })
    const operation = find(getChildren(getSpanId(route)), "tollgate.consumers.create")
    expect(find(getChildren(getSpanId(operation)), "commit sqlite").status.code).toBe(SpanStatusCode.UNSET)
  })

  it("has exactly its own spans, among 50 concurrent requests", async () => {
    const count = 50
    const indexes = Array.from({ length: count }, (_, index) => index)
    const statuses = await Promise.all(
      indexes.flatMap((index) => [
        callRoute(`route ${index}`).then(({ status }) => status),
        createConsumer(`concurrent-${index}`, { "x-host-span": `api ${index}` }).then(({ status }) => status)
      ])
    )
    expect(statuses).toEqual(indexes.flatMap(() => [200, 200]))
    for (const index of indexes) {
      const route = await findHostSpan(`route ${index}`)
      const decision = find(getChildren(getSpanId(route)), "tollgate.authorize")
      const ofDecision = getChildren(getSpanId(decision))
      expect(ofDecision.map(({ name }) => name).filter((name) => name === "commit sqlite")).toHaveLength(1)
      expect(getTrace(route.spanContext().traceId)).toHaveLength(2 + ofDecision.length)

      const api = await findHostSpan(`api ${index}`)
      const trace = getTrace(api.spanContext().traceId)
      const operation = find(trace, "tollgate.consumers.create")
      expect(getChildren(getSpanId(find(getChildren(getSpanId(api)), `POST ${consumersRoute}`)))).toContain(operation)
      expect(getChildren(getSpanId(operation)).filter(({ name }) => name === "commit sqlite")).toHaveLength(1)
      expect(trace.filter((span) => !isStoreSpan(span))).toHaveLength(3)
    }
  })

  it("continues the caller's trace, if the host has no span", async () => {
    const [traceId, parentId] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"]
    await createConsumer("of-a-remote-caller", { traceparent: `00-${traceId}-${parentId}-01` })
    const route = find(getTrace(traceId), `POST ${consumersRoute}`)
    expect(route.kind).toBe(SpanKind.SERVER)
    expect(route.parentSpanContext).toMatchObject({ spanId: parentId, isRemote: true })
    expect(find(getTrace(traceId), "commit sqlite").parentSpanContext?.spanId).not.toBe(parentId)
  })

  it("begins with the request, if neither the host nor the caller has a span", async () => {
    await createConsumer("of-nobody", {})
    const route = find(getSpans(), `POST ${consumersRoute}`)
    expect(route.kind).toBe(SpanKind.SERVER)
    expect(route.parentSpanContext).toBeUndefined()
  })

  it("is not recorded, if the caller's trace is not sampled", async () => {
    const traceId = "1af7651916cd43dd8448eb211c80319c"
    await createConsumer("not-sampled", { traceparent: `00-${traceId}-b7ad6b7169203331-00` })
    expect(getTrace(traceId)).toEqual([])
    expect(getSpans().filter(({ name }) => name.includes("consumers"))).toEqual([])
  })
})

describe("an error in a trace", () => {
  const quoted = "quoted-by-the-database"

  it("of the store has its code, but no message, and marks the spans as failed", async () => {
    outage = new StoreUnavailable({
      operation: "commit",
      problem: quoted,
      retryable: true,
      outcome: "unknown",
      cause: new Error(quoted)
    })
    expect((await createConsumer("carol", { "x-host-span": "POST /api" })).status).toBe(503)
    expect((await callRoute("GET /hello")).status).toBe(503)
    const api = await findHostSpan("POST /api")
    const route = find(getChildren(getSpanId(api)), `POST ${consumersRoute}`)
    expect(route).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "http.response.status_code": 503, "error.type": "503" }
    })
    const operation = find(getChildren(getSpanId(route)), "tollgate.consumers.create")
    const decision = find(getChildren(getSpanId(await findHostSpan("GET /hello"))), "tollgate.authorize")
    expect(decision.attributes).toMatchObject({
      "tollgate.outcome": "error",
      "tollgate.reason": "store-unavailable"
    })
    for (const span of [operation, decision, ...getChildren(getSpanId(operation))]) {
      expect(span).toMatchObject({
        status: { code: SpanStatusCode.ERROR },
        attributes: { "error.type": "store-unavailable" }
      })
    }
    expect(getSpans().filter(({ status }) => status.message !== undefined)).toEqual([])
    expect(getSpans().flatMap(({ events }) => events)).toEqual([])
    expect(getSpans().map(inspectSpan).join("\n")).not.toContain(quoted)
  })

  it("of the caller does not mark the spans as failed", async () => {
    const get = (path: string) =>
      fetch(`${url}/api${path}`, { headers: { ...bearer(tokens.writer), "x-host-span": `GET ${path}` } })
    expect((await get(`${consumersPath}/nobody`)).status).toBe(404)
    const host = await findHostSpan(`GET ${consumersPath}/nobody`)
    const route = find(getChildren(getSpanId(host)), `GET ${consumersRoute}/{consumerName}`)
    const operation = find(getChildren(getSpanId(route)), "tollgate.consumers.get")
    expect(route.attributes).toMatchObject({ "http.response.status_code": 404 })
    expect(operation.attributes).toMatchObject({ "error.type": "consumer-not-found" })
    for (const { status } of [route, operation]) expect(status).toEqual({ code: SpanStatusCode.UNSET })
    expect(route.attributes).not.toHaveProperty("error.type")
  })

  it("is no refusal of a decision", async () => {
    const response = await fetch(`${url}/hello`, { headers: { ...bearer("nonsense"), "x-host-span": "refused" } })
    expect(response.status).toBe(401)
    const decision = find(getChildren(getSpanId(await findHostSpan("refused"))), "tollgate.authorize")
    expect(decision.attributes).toMatchObject({ "tollgate.outcome": "refused", "tollgate.reason": expect.any(String) })
    expect(decision.status).toEqual({ code: SpanStatusCode.UNSET })
  })
})

/** Runs a function in a span of the host. */
const inHostSpan = async (run: () => Promise<unknown>): Promise<Span> =>
  tracer.startActiveSpan("host", async (span) => {
    await run()
    span.end()
    return span
  })

describe("a call in process", () => {
  it("makes spans below the span that is active where it was called", async () => {
    const production = gate.account(account).keyBucket(bucketName)
    const calls = Array.from({ length: 20 }, (_, index) =>
      inHostSpan(async () => {
        await production.consumers.create({ name: `in-process-${index}` })
        await production.authorize(key)
        await production.verify(key)
      })
    )
    for (const host of await Promise.all(calls)) {
      const children = getChildren(host.spanContext().spanId)
      const operation = find(children, "tollgate.consumers.create")
      expect(getChildren(getSpanId(operation)).map(({ name }) => name)).toContain("commit sqlite")
      find(children, "tollgate.authorize")
      // Those of `verify`, which has no span of its own.
      expect(children.filter(isStoreSpan).length).toBeGreaterThan(0)
      const trace = getTrace(host.spanContext().traceId)
      expect(
        trace
          .filter((span) => !isStoreSpan(span))
          .map(({ name }) => name)
          .sort()
      ).toEqual(["host", "tollgate.authorize", "tollgate.consumers.create"])
    }
  })

  it("of a page and of the next pages makes spans below the span of the host", async () => {
    const production = gate.account(account).keyBucket("pages")
    for (const name of ["a", "b", "c"]) await production.consumers.create({ name })
    reset()
    const names: Array<string> = []
    const host = await inHostSpan(async () => {
      for await (const { name } of production.consumers.list({ limit: 1 })) names.push(name)
    })
    expect(names).toHaveLength(3)
    const lists = getChildren(host.spanContext().spanId)
    expect(lists.map(({ name }) => name)).toEqual(Array.from({ length: 3 }, () => "tollgate.consumers.list"))
  })
})

describe("background work", () => {
  it("makes no traces of single store operations", async () => {
    const { consumers } = gate.account(account).keyBucket("background")
    await inHostSpan(() => Promise.all(["a", "b", "c"].map((name) => consumers.create({ name }))))
    await eventually(async () => {
      const { data } = await gate.account(account).events.list({ type: "consumer.created" })
      expect(data.map(({ subject }) => subject.name)).toEqual(expect.arrayContaining(["a", "b", "c"]))
    })
    expect(getSpans().filter((span) => isStoreSpan(span) && span.parentSpanContext === undefined)).toEqual([])
  })
})

describe("names of tenants", () => {
  const names = [account, bucketName, consumerName, "alice"]

  const trace = async (gate: Tollgate) => {
    const response = await gate.handler(
      new Request(`http://gate${consumersPath}/${consumerName}`, { headers: bearer(tokens.writer) })
    )
    expect(response.status).toBe(200)
    const decision = await gate.account(account).keyBucket(bucketName).authorize(key)
    expect(decision.allowed).toBe(true)
  }

  it("are not in spans", async () => {
    await trace(gate)
    expect(getSpans().length).toBeGreaterThan(3)
    const output = getSpans().map(inspectSpan).join("\n")
    for (const name of names) expect(output).not.toContain(name)
  })

  it("are in spans if spanNames is true", async () => {
    const naming = await startGate({ telemetry: { spanNames: true } })
    onTestFinished(() => naming.close())
    await trace(naming)
    expect(find(getSpans(), "tollgate.authorize").attributes).toMatchObject({
      "tollgate.account.name": account,
      "tollgate.key_bucket.name": bucketName,
      "tollgate.consumer.name": consumerName
    })
    expect(find(getSpans(), `GET ${consumersRoute}/{consumerName}`).attributes).toMatchObject({
      "url.path": `${consumersPath}/${consumerName}`
    })
  })
})
