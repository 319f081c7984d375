/**
 * Key values, tokens and secrets must not appear in log lines, spans, errors, the store, or responses that should not contain
 * them. The tests collect all output and search it.
 */

import { inspect } from "node:util"
import { createTollgate } from "@tollgate/core"
import { Authenticator, Tollgate, toWebHandler } from "@tollgate/core/effect"
import { SourceStoreError } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { openTelemetry } from "@tollgate/opentelemetry"
import { RecordUnreadable, Store, StoreConflict, type StoreOperations, StoreUnavailable } from "@tollgate/store"
import { encodeProblem } from "@tollgate/store/internal"
import { eventually } from "@tollgate/testing"
import { webhooks } from "@tollgate/webhooks"
import { Effect, Exit, Layer, Logger, References, Tracer } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { registerMetrics } from "../../opentelemetry/test/metering.ts"
import { registerTracing } from "../../opentelemetry/test/tracing.ts"
import { respondWith, startReceiver } from "../../webhooks/test/receivers.ts"
import { makeClient } from "./http/client.ts"
import { grants, secret, tokens } from "./stores.ts"

const suppliedKey = "supplied-value-of-a-key-2468"
const inspectDeep = (value: unknown): string =>
  inspect(value, { depth: 12, maxStringLength: null, maxArrayLength: null })

/** The name, attributes, events and exit of a span. */
const inspectSpan = (span: Tracer.NativeSpan): string =>
  inspectDeep([span.name, [...span.attributes], span.events, span.status]).concat(readBody(span))

/** Decodes the response body in a span's exit: a search for a string finds nothing in bytes. */
const readBody = (span: Tracer.NativeSpan): string => {
  const exit = span.status._tag === "Ended" ? span.status.exit : undefined
  const body =
    exit !== undefined && Exit.isSuccess(exit)
      ? (exit.value as { readonly body?: { readonly body?: unknown } })?.body?.body
      : undefined
  return body instanceof Uint8Array ? Buffer.from(body).toString() : String(body ?? "")
}

/** Fails after a number of calls. The cause contains the arguments, as with a real store. */
const makeFailingStore = (store: StoreOperations, maxCalls: () => number): StoreOperations => {
  let calls = 0
  const wrap =
    <A extends Array<unknown>, B, E>(operation: (...args: A) => Effect.Effect<B, E>) =>
    (...args: A): Effect.Effect<B, E | StoreUnavailable> =>
      ++calls > maxCalls()
        ? Effect.fail(
            new StoreUnavailable({
              operation: "commit",
              problem: "it is broken for this test",
              retryable: true,
              outcome: "not-applied",
              cause: new Error(`while doing ${JSON.stringify(args)}`)
            })
          )
        : operation(...args)
  return {
    get: wrap(store.get),
    getByUniqueKey: wrap(store.getByUniqueKey),
    list: wrap(store.list),
    search: wrap(store.search),
    counters: wrap(store.counters),
    commit: wrap(store.commit) as StoreOperations["commit"],
    clear: wrap(store.clear)
  }
}

describe("secrets", () => {
  it("do not appear in log lines, spans or responses", async () => {
    const logLines: Array<string> = []
    const spans: Array<Tracer.NativeSpan> = []
    const logger = Logger.make((line) => {
      logLines.push(inspectDeep([line.message, line.cause, line.fiber.getRef(References.CurrentLogAnnotations)]))
    })
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    let maxCalls = Number.POSITIVE_INFINITY
    const store = makeFailingStore(MemoryStore.open(), () => maxCalls)
    const services = Authenticator.layerBearer(grants).pipe(
      Layer.provideMerge(Tollgate.layer({ secret })),
      Layer.provideMerge(Layer.succeed(Store, store)),
      Layer.provideMerge(
        Layer.mergeAll(
          Logger.layer([logger]),
          Layer.succeed(Tracer.Tracer, tracer),
          Layer.succeed(References.MinimumLogLevel, "All")
        )
      )
    )
    const { handler, dispose } = toWebHandler(services)
    const call = makeClient(handler)
    const P = "/v1/accounts/acme/key-buckets/b"
    const created = await call("POST", `${P}/consumers?with-api-key=true`, { body: { name: "alice" } })
    const value = created.body.apiKeys[0].key as string
    const responses: Array<unknown> = []
    const send = async (...args: Parameters<typeof call>) => responses.push(inspectDeep(await call(...args)))

    await call("POST", `${P}/consumers/alice/keys`, { body: { key: suppliedKey } })
    await send("POST", `${P}/consumers/alice/keys`, { body: { key: suppliedKey } })
    await send("POST", `${P}/consumers/alice/keys`, { body: { key: `${suppliedKey} with space` } })
    await send("POST", `${P}/consumers/alice/keys`, { body: { kee: suppliedKey } })
    await send("POST", `${P}/consumers/alice/keys`, { raw: `{"key":"${suppliedKey}"` })
    await send("POST", `${P}/consumers`, { body: { name: suppliedKey.toUpperCase() + value } })
    await send("GET", `${P}/consumers/alice?include-api-keys=true`)
    await send("GET", `${P}/consumers/alice?include-api-keys=true&key-format=visible`, { token: tokens.reader })
    await send("GET", `${P}/consumers?limit=${value}`)
    await send("GET", `${P}/consumers`, { token: `${secret.slice(0, 20).replaceAll(" ", "-")}` })
    await send("POST", `${P}/$verify`, { body: { key: value } })
    await send("POST", `${P}/$verify`, { body: { key: `${value}x` } })
    await send("POST", `${P}/$verify`, { body: { key: value, other: value } })
    for (const route of ["consumers/alice", "consumers", "consumers/alice/keys"]) {
      maxCalls = 0
      await send("GET", `${P}/${route}`)
      maxCalls = Number.POSITIVE_INFINITY
    }
    maxCalls = 0
    await send("POST", `${P}/consumers/alice/keys`, { body: { key: `${suppliedKey}-again` } })
    await send("POST", `${P}/$verify`, { body: { key: value } })
    expect(logLines.length).toBeGreaterThan(3)
    expect(spans.length).toBeGreaterThan(3)
    await dispose()

    const output = [...logLines, ...responses.map(String), ...spans.map(inspectSpan)].join("\n")
    for (const hidden of [value, suppliedKey, secret, ...Object.values(tokens)]) expect(output).not.toContain(hidden)
  })

  it("do not appear in the spans, metrics and log entries of the host, nor names of tenants in spans and metrics", async () => {
    const { getSpans, unregister } = registerTracing()
    onTestFinished(unregister)
    const { collect } = registerMetrics()
    const logged: Array<string> = []
    const log = (...values: ReadonlyArray<unknown>) => void logged.push(inspectDeep(values))
    let maxCalls = Number.POSITIVE_INFINITY
    const inner = MemoryStore.open()
    const gate = await createTollgate({
      store: { ...makeFailingStore(inner, () => maxCalls), description: { system: "memory" } },
      secret,
      tokens: grants,
      metrics: true,
      logger: { debug: log, info: log, warn: log, error: log },
      verifyCache: { ttl: 60_000 },
      modules: [webhooks({ allowPrivateNetworks: true }), openTelemetry()],
      onEvent: ({ data }) => {
        throw new Error(`a hook that quotes ${JSON.stringify(data).length} characters`)
      }
    })
    onTestFinished(() => gate.close())
    const names = ["acme", "bucket-of-acme", "alice-of-acme", "limit-of-acme"]
    const acme = gate.account("acme")
    const keyBucket = acme.keyBucket("bucket-of-acme")
    const receiver = await startReceiver(respondWith(500))
    const webhook = await acme.webhooks.create({ url: `${receiver.url}?token=${tokens.reader}` })
    const created = await keyBucket.consumers.create(
      { name: "alice-of-acme", apiKeys: [{}, { key: suppliedKey }] },
      { idempotencyKey: tokens.reader }
    )
    const value = created.apiKeys?.[0]?.key ?? ""
    const call = makeClient(gate.handler)
    const P = "/v1/accounts/acme/key-buckets/bucket-of-acme"
    const attempt = async (key: string) => {
      const rateLimit = { name: "limit-of-acme", limit: 1, per: "day" } as const
      await keyBucket.authorize(key, { rateLimit }).catch(() => undefined)
      await keyBucket.authorize(key, { scopes: [suppliedKey] }).catch(() => undefined)
      await keyBucket.verify(key).catch(() => undefined)
      await keyBucket.keys.create("alice-of-acme", { key }).catch(() => undefined)
      await keyBucket.keys.create("alice-of-acme", { kee: key } as never).catch(() => undefined)
      await call("POST", `${P}/$verify`, { body: { key } })
      await call("GET", `${P}/consumers/alice-of-acme?include-api-keys=true&key-format=visible`)
      await call("GET", `${P}/consumers?limit=${key}`)
      await call("GET", `${P}/consumers/${key}`, { token: `${tokens.writer}x` })
      await call("POST", `${P}/consumers`, { raw: `{"key":"${key}"` })
      await call(
        key
          .slice(0, 8)
          .toUpperCase()
          .replaceAll(/[^A-Z]/g, "X"),
        `${P}/consumers`
      )
      await call("GET", `/v1/unknown/${key}`, { headers: { traceparent: `00-${key}-01`, tracestate: `a=${key}` } })
    }
    for (const key of [value, suppliedKey, `${suppliedKey} with space`.replaceAll(" ", "-")]) await attempt(key)
    await eventually(() => expect(receiver.requests.length).toBeGreaterThan(0))
    await eventually(async () => expect(await gate.metrics()).toContain("tollgate_webhooks_attempts_total"))
    maxCalls = 0
    await attempt(value)
    await attempt(suppliedKey)
    maxCalls = Number.POSITIVE_INFINITY
    const text = await gate.metrics()
    await gate.close()

    const spans = getSpans().map((span) => {
      const { name, attributes, events, links, status, parentSpanContext } = span
      return inspectDeep([name, attributes, events, links, status, parentSpanContext, span.spanContext()])
    })
    const metrics = inspectDeep(await collect()) + text
    expect(spans.length).toBeGreaterThan(50)
    expect(logged.length).toBeGreaterThan(20)
    expect(metrics).toContain("store-unavailable")
    for (const hidden of [value, suppliedKey, secret, webhook.secret, ...Object.values(tokens)]) {
      for (const output of [spans.join("\n"), metrics, logged.join("\n")]) expect(output).not.toContain(hidden)
    }
    for (const output of [spans.join("\n"), metrics]) for (const name of names) expect(output).not.toContain(name)
  })

  it("do not appear in the errors of in-process calls", async () => {
    let maxCalls = Number.POSITIVE_INFINITY
    const gate = await createTollgate({
      store: makeFailingStore(MemoryStore.open(), () => maxCalls),
      secret,
      tokens: grants
    })
    const keyBucket = gate.account("acme").keyBucket("b")
    await keyBucket.consumers.create({ name: "alice", apiKeys: [{ key: suppliedKey }] })
    const errors: Array<unknown> = []
    const collectError = (attempt: Promise<unknown>) =>
      attempt.then(
        () => errors.push("no error"),
        (error) => errors.push(error)
      )
    await collectError(keyBucket.keys.create("alice", { key: suppliedKey }))
    await collectError(keyBucket.keys.create("alice", { key: `${suppliedKey} ` }))
    await collectError(keyBucket.keys.create("alice", { kee: suppliedKey } as never))
    await collectError(keyBucket.keys.get("alice", suppliedKey.toUpperCase()))
    maxCalls = 0
    await collectError(keyBucket.verify(suppliedKey))
    expect(errors.every((error) => error !== "no error")).toBe(true)
    const output = errors.map((error) => inspectDeep(error) + JSON.stringify(error)).join("\n")
    for (const hidden of [suppliedKey, secret, ...Object.values(tokens)]) expect(output).not.toContain(hidden)
    await gate.close()
  })

  it("do not appear in the store", async () => {
    const commits: Array<string> = []
    const inner = MemoryStore.open()
    const gate = await createTollgate({
      store: {
        ...inner,
        commit: (partition, changes, idempotency) => {
          commits.push(inspectDeep([partition, changes, idempotency]))
          return inner.commit(partition, changes, idempotency)
        }
      },
      secret,
      tokens: grants
    })
    const keyBucket = gate.account("acme").keyBucket("b")
    const created = await keyBucket.consumers.create(
      { name: "alice", apiKeys: [{}, { key: suppliedKey }] },
      { idempotencyKey: "once" }
    )
    const output = commits.join("\n")
    for (const { key = "" } of created.apiKeys ?? []) expect(output).not.toContain(key)
    for (const hidden of [suppliedKey, secret, ...Object.values(tokens)]) expect(output).not.toContain(hidden)
    await gate.close()
  })
})

describe("an idempotent request", () => {
  const guessable = "partner-key-000482913"
  const create = { name: "alice", apiKeys: [{ key: guessable }] }

  /** Records the idempotency ids, fingerprints and results that the store receives. */
  const makeRecordingStore = () => {
    const store = MemoryStore.open()
    const recorded: Array<string> = []
    const commit: typeof store.commit = (partition, changes, idempotency) => {
      if (idempotency !== undefined) recorded.push(idempotency.id, idempotency.fingerprint, idempotency.result)
      return store.commit(partition, changes, idempotency)
    }
    return { store: { ...store, commit }, recorded }
  }

  it("is stored under digests that depend on the secret", async () => {
    const recordDigests = async (secret: string) => {
      const { store, recorded } = makeRecordingStore()
      const gate = await createTollgate({ store, secret, tokens: grants })
      const keyBucket = gate.account("acme").keyBucket("b")
      await keyBucket.consumers.create(create, { idempotencyKey: "once" })
      await keyBucket.consumers.remove("alice")
      const call = makeClient(gate.handler)
      const headers = { "idempotency-key": "once" }
      await call("POST", "/v1/accounts/acme/key-buckets/b/consumers", { body: create, headers })
      await gate.close()
      return recorded
    }
    const [left, right] = [await recordDigests(secret), await recordDigests(`${secret}, another`)]
    expect(left).toHaveLength(6)
    expect(left.filter((text) => right.includes(text))).toEqual([])
  })

  it("is replayed while the secret is being replaced", async () => {
    const store = MemoryStore.open()
    const next = `${secret}, the next`
    const make = async (secrets: ReadonlyArray<string>) => {
      const gate = await createTollgate({ store, secret: secrets })
      const keyBucket = gate.account("acme").keyBucket("b")
      const created = await keyBucket.consumers.create(create, { idempotencyKey: "once" })
      const other = await keyBucket.consumers
        .create({ name: "bob" }, { idempotencyKey: "once" })
        .catch((error: unknown) => error)
      expect(other).toMatchObject({ _tag: "IdempotencyKeyReused" })
      await gate.close()
      return created
    }
    const first = await make([secret])
    expect(await make([next, secret])).toEqual(first)
  })

  it("never returns the result of a request of another account", async () => {
    const authenticate = (request: Request) => ({
      id: "the same user",
      account: request.headers.get("x-organisation") ?? "",
      access: "write" as const
    })
    const gate = await createTollgate({ store: MemoryStore.open(), secret, authenticate })
    const call = makeClient(gate.handler)
    const make = (organisation: string) =>
      call("POST", "/v1/metering", { headers: { "x-organisation": organisation, "idempotency-key": "k" } })
    const [a, b, replayed] = [await make("a"), await make("b"), await make("a")]
    expect([a.body.accountName, b.body.accountName]).toEqual(["a", "b"])
    expect(replayed.body.id).toBe(a.body.id)
    await gate.close()
  })
})

it.each([
  new StoreConflict({ reason: "unique-key", subject: "name alice" }),
  new RecordUnreadable({ key: "k", problem: "it was written by a newer version" }),
  new SourceStoreError({ problem: "cannot write to the folder /srv/sources" })
])("what only the operator may see of $name is not in its problem", (error) => {
  expect(Object.keys(encodeProblem(error, "r1"))).toEqual(["type", "title", "status", "detail", "instance", "code"])
})

describe("the HTTP API with an unavailable store", () => {
  it("returns 503 with the outcome of the request and the remedy", async () => {
    const store = MemoryStore.open()
    let outcome: "not-applied" | "unknown" | undefined
    const commit: typeof store.commit = (...args) =>
      outcome === undefined
        ? store.commit(...args)
        : Effect.fail(new StoreUnavailable({ operation: "commit", problem: "broken", retryable: true, outcome }))
    const gate = await createTollgate({ store: { ...store, commit }, secret, tokens: grants })
    const call = makeClient(gate.handler)
    const make = () => call("POST", "/v1/accounts/acme/key-buckets/b/consumers", { body: { name: "alice" } })
    outcome = "unknown"
    const unknown = await make()
    expect(unknown).toMatchObject({ status: 503, body: { outcome: "unknown" } })
    expect(unknown.body.detail).toMatch(/may or may not have been applied.*Idempotency-Key/)
    outcome = "not-applied"
    const notApplied = await make()
    expect(notApplied).toMatchObject({ status: 503, body: { outcome: "not-applied" } })
    expect(notApplied.body.detail).toMatch(/Nothing was changed/)
    await gate.close()
  })

  it("returns 503 with Retry-After and without the store's error message, and the service recovers", async () => {
    let maxCalls = Number.POSITIVE_INFINITY
    const gate = await createTollgate({
      store: makeFailingStore(MemoryStore.open(), () => maxCalls),
      secret,
      tokens: grants
    })
    const call = makeClient(gate.handler)
    maxCalls = 0
    for (const path of ["/v1/accounts/acme/key-buckets/b/consumers", "/readyz"]) {
      const response = await call("GET", path)
      expect(response).toMatchObject({ status: 503, body: { type: "urn:tollgate:problem:store-unavailable" } })
      expect(response.headers.get("retry-after")).toBe("1")
      expect(JSON.stringify(response.body)).not.toContain("broken")
    }
    expect((await call("GET", "/healthz")).status).toBe(200)
    maxCalls = Number.POSITIVE_INFINITY
    expect((await call("GET", "/readyz")).status).toBe(200)
    await gate.close()
  })
})
