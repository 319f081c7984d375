/**
 * What must never be seen: key values, tokens and secrets, in any log line, span, error or answer that should not
 * have them. Everything that leaves is collected, and read.
 */
import { inspect } from "node:util"
import {
  Authenticator,
  createTollgate,
  Store,
  type StoreOperations,
  StoreUnavailable,
  Tollgate,
  toWebHandler
} from "@tollgate/core"
import { MemoryStore } from "@tollgate/memory"
import { Effect, Exit, Layer, Logger, References, Tracer } from "effect"
import { describe, expect, it } from "vitest"
import { clientOf } from "./http/client.ts"
import { grants, secret, tokens } from "./stores.ts"

const supplied = "supplied-value-of-a-key-2468"
const everything = (value: unknown): string =>
  inspect(value, { depth: 12, maxStringLength: null, maxArrayLength: null })

/** All of a span: its name, attributes and events, and what it ended with. */
const whole = (span: Tracer.NativeSpan): string =>
  everything([span.name, [...span.attributes], span.events, span.status]).concat(bodiesIn(span))

/** An answer's body is bytes, in which no text is found: it is read as text. */
const bodiesIn = (span: Tracer.NativeSpan): string => {
  const exit = span.status._tag === "Ended" ? span.status.exit : undefined
  const body =
    exit !== undefined && Exit.isSuccess(exit)
      ? (exit.value as { readonly body?: { readonly body?: unknown } })?.body?.body
      : undefined
  return body instanceof Uint8Array ? Buffer.from(body).toString() : String(body ?? "")
}

/** A store that fails from the n-th call on, as real ones do: with what it was asked in the cause. */
const failing = (store: StoreOperations, after: () => number): StoreOperations => {
  let calls = 0
  const guarded =
    <A extends Array<unknown>, B, E>(operation: (...args: A) => Effect.Effect<B, E>) =>
    (...args: A): Effect.Effect<B, E | StoreUnavailable> =>
      ++calls > after()
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
    get: guarded(store.get),
    getByUniqueKey: guarded(store.getByUniqueKey),
    list: guarded(store.list),
    counters: guarded(store.counters),
    commit: guarded(store.commit) as StoreOperations["commit"],
    clear: guarded(store.clear)
  }
}

describe("nothing secret", () => {
  it("is in a log line, a span, or an answer to those who may not see it", async () => {
    const seen: Array<string> = []
    const spans: Array<Tracer.NativeSpan> = []
    const logger = Logger.make((line) => {
      seen.push(everything([line.message, line.cause, line.fiber.getRef(References.CurrentLogAnnotations)]))
    })
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    let limit = Number.POSITIVE_INFINITY
    const store = failing(MemoryStore.open(), () => limit)
    const services = Layer.mergeAll(Tollgate.layer({ secret }), Authenticator.layerBearer(grants)).pipe(
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
    const call = clientOf(handler)
    const P = "/v1/accounts/acme/key-buckets/b"
    const made = await call("POST", `${P}/consumers?with-api-key=true`, { body: { name: "alice" } })
    const value = made.body.apiKeys[0].key as string
    const answers: Array<unknown> = []
    const ask = async (...args: Parameters<typeof call>) => answers.push(everything(await call(...args)))

    await call("POST", `${P}/consumers/alice/keys`, { body: { key: supplied } })
    await ask("POST", `${P}/consumers/alice/keys`, { body: { key: supplied } })
    await ask("POST", `${P}/consumers/alice/keys`, { body: { key: `${supplied} with space` } })
    await ask("POST", `${P}/consumers/alice/keys`, { body: { kee: supplied } })
    await ask("POST", `${P}/consumers/alice/keys`, { raw: `{"key":"${supplied}"` })
    await ask("POST", `${P}/consumers`, { body: { name: supplied.toUpperCase() + value } })
    await ask("GET", `${P}/consumers/alice?include-api-keys=true`)
    await ask("GET", `${P}/consumers/alice?include-api-keys=true&key-format=visible`, { token: tokens.reader })
    await ask("GET", `${P}/consumers?limit=${value}`)
    await ask("GET", `${P}/consumers`, { token: `${secret.slice(0, 20).replaceAll(" ", "-")}` })
    await ask("POST", `${P}/$verify`, { body: { key: value } })
    await ask("POST", `${P}/$verify`, { body: { key: `${value}x` } })
    await ask("POST", `${P}/$verify`, { body: { key: value, other: value } })
    for (const route of ["consumers/alice", "consumers", "consumers/alice/keys"]) {
      limit = 0
      await ask("GET", `${P}/${route}`)
      limit = Number.POSITIVE_INFINITY
    }
    limit = 0
    await ask("POST", `${P}/consumers/alice/keys`, { body: { key: `${supplied}-again` } })
    await ask("POST", `${P}/$verify`, { body: { key: value } })
    expect(seen.length).toBeGreaterThan(3)
    expect(spans.length).toBeGreaterThan(3)
    await dispose()

    const out = [...seen, ...answers.map(String), ...spans.map(whole)].join("\n")
    for (const hidden of [value, supplied, secret, ...Object.values(tokens)]) expect(out).not.toContain(hidden)
  })

  it("is in an error that a caller catches", async () => {
    let limit = Number.POSITIVE_INFINITY
    const gate = await createTollgate({ store: failing(MemoryStore.open(), () => limit), secret, tokens: grants })
    await gate.consumers.create("acme", "b", { name: "alice", apiKeys: [{ key: supplied }] })
    const errors: Array<unknown> = []
    const caught = (attempt: Promise<unknown>) =>
      attempt.then(
        () => errors.push("nothing"),
        (error) => errors.push(error)
      )
    await caught(gate.keys.create("acme", "b", "alice", { key: supplied }))
    await caught(gate.keys.create("acme", "b", "alice", { key: `${supplied} ` }))
    await caught(gate.keys.create("acme", "b", "alice", { kee: supplied } as never))
    await caught(gate.keys.get("acme", "b", "alice", supplied.toUpperCase()))
    limit = 0
    await caught(gate.keys.verify("acme", "b", supplied))
    expect(errors.every((error) => error !== "nothing")).toBe(true)
    const out = errors.map((error) => everything(error) + JSON.stringify(error)).join("\n")
    for (const hidden of [supplied, secret, ...Object.values(tokens)]) expect(out).not.toContain(hidden)
    await gate.close()
  })

  it("is in the store: neither values nor tokens, and what is sealed does not open elsewhere", async () => {
    const bodies: Array<string> = []
    const inner = MemoryStore.open()
    const gate = await createTollgate({
      store: {
        ...inner,
        commit: (partition, changes, once) => {
          bodies.push(everything([partition, changes, once]))
          return inner.commit(partition, changes, once)
        }
      },
      secret,
      tokens: grants
    })
    const made = await gate.consumers.create(
      "acme",
      "b",
      { name: "alice", apiKeys: [{}, { key: supplied }] },
      { idempotencyKey: "once" }
    )
    const out = bodies.join("\n")
    for (const { key = "" } of made.apiKeys ?? []) expect(out).not.toContain(key)
    for (const hidden of [supplied, secret, ...Object.values(tokens)]) expect(out).not.toContain(hidden)
    await gate.close()
  })
})

describe("an idempotent request", () => {
  const guessable = "partner-key-000482913"
  const create = { name: "alice", apiKeys: [{ key: guessable }] }

  /** Everything that a store was given to remember requests by. */
  const watching = () => {
    const store = MemoryStore.open()
    const remembered: Array<string> = []
    const commit: typeof store.commit = (partition, changes, once) => {
      if (once !== undefined) remembered.push(once.id, once.fingerprint, once.result)
      return store.commit(partition, changes, once)
    }
    return { store: { ...store, commit }, remembered }
  }

  it("is remembered by digests that cannot be guessed without the secret", async () => {
    const digestsUnder = async (secret: string) => {
      const { store, remembered } = watching()
      const gate = await createTollgate({ store, secret, tokens: grants })
      await gate.consumers.create("acme", "b", create, { idempotencyKey: "once" })
      await gate.consumers.remove("acme", "b", "alice")
      const call = clientOf(gate.handler)
      const headers = { "idempotency-key": "once" }
      await call("POST", "/v1/accounts/acme/key-buckets/b/consumers", { body: create, headers })
      await gate.close()
      return remembered
    }
    const [left, right] = [await digestsUnder(secret), await digestsUnder(`${secret}, another`)]
    expect(left).toHaveLength(6)
    expect(left.filter((text) => right.includes(text))).toEqual([])
  })

  it("is recognised while the secret is being replaced", async () => {
    const store = MemoryStore.open()
    const next = `${secret}, the next`
    const make = async (secrets: ReadonlyArray<string>) => {
      const gate = await createTollgate({ store, secret: secrets })
      const made = await gate.consumers.create("acme", "b", create, { idempotencyKey: "once" })
      const other = await gate.consumers
        .create("acme", "b", { name: "bob" }, { idempotencyKey: "once" })
        .catch((error: unknown) => error)
      expect(other).toMatchObject({ _tag: "IdempotencyKeyReused" })
      await gate.close()
      return made
    }
    const first = await make([secret])
    expect(await make([next, secret])).toEqual(first)
  })

  it("of one account is never answered with what was made for another", async () => {
    const authenticate = (request: Request) => ({
      id: "the same user",
      account: request.headers.get("x-organisation") ?? "",
      access: "write" as const
    })
    const gate = await createTollgate({ store: MemoryStore.open(), secret, authenticate })
    const call = clientOf(gate.handler)
    const make = (organisation: string) =>
      call("POST", "/v1/metering", { headers: { "x-organisation": organisation, "idempotency-key": "k" } })
    const [a, b, again] = [await make("a"), await make("b"), await make("a")]
    expect([a.body.accountName, b.body.accountName]).toEqual(["a", "b"])
    expect(again.body.id).toBe(a.body.id)
    await gate.close()
  })
})

describe("a store that cannot be reached", () => {
  it("is answered with whether the request may have been applied, and what to do about it", async () => {
    const store = MemoryStore.open()
    let outcome: "not-applied" | "unknown" | undefined
    const commit: typeof store.commit = (...args) =>
      outcome === undefined
        ? store.commit(...args)
        : Effect.fail(new StoreUnavailable({ operation: "commit", problem: "broken", retryable: true, outcome }))
    const gate = await createTollgate({ store: { ...store, commit }, secret, tokens: grants })
    const call = clientOf(gate.handler)
    const make = () => call("POST", "/v1/accounts/acme/key-buckets/b/consumers", { body: { name: "alice" } })
    outcome = "unknown"
    const unknown = await make()
    expect(unknown).toMatchObject({ status: 503, body: { outcome: "unknown" } })
    expect(unknown.body.detail).toMatch(/may or may not have been applied.*Idempotency-Key/)
    outcome = "not-applied"
    const refused = await make()
    expect(refused).toMatchObject({ status: 503, body: { outcome: "not-applied" } })
    expect(refused.body.detail).toMatch(/Nothing was changed/)
    await gate.close()
  })

  it("is answered with 503, when to try again, and not a word of its own; and the service goes on", async () => {
    let limit = Number.POSITIVE_INFINITY
    const gate = await createTollgate({ store: failing(MemoryStore.open(), () => limit), secret, tokens: grants })
    const call = clientOf(gate.handler)
    limit = 0
    for (const path of ["/v1/accounts/acme/key-buckets/b/consumers", "/readyz"]) {
      const answer = await call("GET", path)
      expect(answer).toMatchObject({ status: 503, body: { type: "urn:tollgate:problem:store-unavailable" } })
      expect(answer.headers.get("retry-after")).toBe("1")
      expect(JSON.stringify(answer.body)).not.toContain("broken")
    }
    expect((await call("GET", "/healthz")).status).toBe(200)
    limit = Number.POSITIVE_INFINITY
    expect((await call("GET", "/readyz")).status).toBe(200)
    await gate.close()
  })
})
