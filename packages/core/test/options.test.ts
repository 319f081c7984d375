/**
 * The options of `createTollgate`, `Tollgate.layer`, `Authenticator.layerBearer` and `createClient`.
 */

import { assert, describe, it } from "@effect/vitest"
import { ConfigurationError, createTollgate, type TollgateOptions } from "@tollgate/core"
import { createClient } from "@tollgate/core/client"
import { Authenticator, SecretBox, type ServiceOptions, Tollgate } from "@tollgate/core/effect"
import { Options } from "@tollgate/core/internal"
import { deployments, memorySourceStore, memoryTarget } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { webhooks } from "@tollgate/webhooks"
import { Effect, Exit, Layer, Redacted } from "effect"
import { secret } from "./stores.ts"

const notify = (): void => undefined
const token = "x".repeat(24)
const limits = { projectsPerAccount: 5 }
const deploymentOptions = { sources: memorySourceStore(), target: memoryTarget() }

/** Each option once: an option without a row here does not compile. */
const services: { readonly [Name in keyof Required<ServiceOptions>]: ServiceOptions[Name] } = {
  secret,
  keyPrefix: "shop",
  keyStorage: "encrypted",
  verifyCache: { ttl: 1000 },
  limits,
  events: { retentionDays: 30, systemRetentionDays: 7, maxSystemEventsPerAccount: 10 },
  modules: [webhooks({ allowPrivateNetworks: false }), deployments(deploymentOptions)],
  onEvent: notify,
  onDecision: notify,
  onQuotaThreshold: notify,
  background: true,
  publicUrl: "https://api.example"
}
const all: { readonly [Name in keyof Required<TollgateOptions>]: TollgateOptions[Name] } = {
  ...services,
  store: MemoryStore.open(),
  tokens: [{ token, account: "acme" }],
  authenticate: undefined,
  bodyLimit: 1000,
  docs: true,
  metrics: true,
  logger: console,
  telemetry: { spanNames: true }
}
const required = { store: all.store, secret }

const assertError = (error: unknown, option: string): ConfigurationError => {
  assert.instanceOf(error, ConfigurationError)
  assert.strictEqual(error.option, option)
  assert.notInclude(error.message, "s3cret")
  return error
}

const getError = (create: () => unknown): Promise<unknown> =>
  (async () => create())().then(
    () => "accepted",
    (error) => error
  )

const create = (options: unknown): Promise<unknown> =>
  getError(async () => (await createTollgate(options as TollgateOptions)).close())

const buildLayer = (layer: Layer.Layer<never, unknown, never>): Promise<unknown> =>
  getError(() => Effect.runPromise(Effect.scoped(Layer.build(layer))))

const createLayer = (options: unknown): Promise<unknown> =>
  buildLayer(
    Layer.effectDiscard(Effect.void).pipe(
      Layer.provide([Tollgate.layer(options as ServiceOptions)]),
      Layer.provide(MemoryStore.layer)
    )
  )

const wrongKinds = [null, 5.5, Symbol("s3cret"), { other: "s3cret" }, ["s3cret", 1]]

describe("createTollgate", () => {
  it("accepts every option", async () => {
    assert.strictEqual(await create(all), "accepted")
    assert.strictEqual(await create({ ...all, tokens: undefined, authenticate: () => undefined }), "accepted")
  })

  it.each(Object.keys(all))("rejects a value of another kind for %s, and a misspelled name", async (name) => {
    const others = {
      ...all,
      ...(name === "authenticate" ? { tokens: undefined } : {}),
      // Which limits there are depends on the modules.
      ...(name === "modules" ? { limits: undefined } : {})
    }
    for (const wrong of wrongKinds) {
      const error = await create({ ...others, [name]: wrong })
      assert.instanceOf(error, ConfigurationError)
      assert.match(error.option, new RegExp(`^${name}([.[]|$)`))
      assert.notInclude(error.message, "s3cret")
    }
    const { message } = assertError(await create({ ...all, [`${name}x`]: undefined }), `${name}x`)
    assert.include(message, "unknown option; the options are store, tokens")
  })

  it("treats undefined as an option that is not set", async () => {
    const unset = Object.fromEntries(Object.keys(all).map((name) => [name, undefined]))
    assert.strictEqual(await create({ ...unset, ...required }), "accepted")
    const nested = {
      tokens: [{ token, account: "acme", access: undefined }],
      verifyCache: { ttl: 1, capacity: undefined },
      limits: { projectsPerAccount: undefined },
      modules: [deployments({ ...deploymentOptions, sourceLimit: undefined, productionBranch: undefined })]
    }
    assert.strictEqual(await create({ ...all, ...nested }), "accepted")
  })

  it("requires the store and the secret", async () => {
    for (const absent of [undefined, {}, { secret }, { secret, store: undefined }]) {
      assertError(await create(absent), "store")
    }
    assertError(await create({ store: all.store }), "secret")
  })

  it.each([null, "s3cret", [], 5, notify])("rejects %s instead of options", async (options) => {
    const { message } = assertError(await create(options), "options")
    assert.include(message, "must be an object; the options are store, tokens")
  })

  it.each<readonly [option: string, options: object, problem: string]>([
    ["secret", { secret: "" }, "entry 1 has fewer than 32 characters"],
    ["secret", { secret: [] }, "must have at least 32 characters"],
    ["secret", { secret: undefined }, "must have at least 32 characters"],
    ["secret", { secret: [secret, "s3cret"] }, "entry 2 has fewer than 32 characters"],
    ["secret", { secret: [secret, secret] }, "contains the same secret twice"],
    ["store", { store: "redis://:s3cret@host" }, "must be a store, such as MemoryStore.open()"],
    ["store", { store: { commit: notify } }, "must be a store"],
    ["store", { store: Promise.resolve(MemoryStore.open()) }, "is a promise; await it"],
    ["keyPrefix", { keyPrefix: "Capital" }, "must be 2 to 16"],
    ["keyPrefix", { keyPrefix: "x" }, "must be 2 to 16"],
    ["keyStorage", { keyStorage: "hash" }, 'must be "encrypted" or "hash-only"'],
    ["tokens", { tokens: "s3cret" }, "must be an array of { token, account, access, name }"],
    ["tokens[0]", { tokens: ["s3cret"] }, "must be an object; the options are token, account, name, access"],
    ["tokens[0].token", { tokens: [{ token: "s3cret", account: "acme" }] }, "must have at least 24"],
    ["tokens[0].token", { tokens: [{ account: "acme" }] }, "must have at least 24"],
    ["tokens[0].account", { tokens: [{ token, account: "a b" }] }, "must consist of"],
    ["tokens[0].access", { tokens: [{ token, account: "a", access: "admin" }] }, 'must be "read" or "write"'],
    ["tokens[0].acces", { tokens: [{ token, account: "a", acces: "read" }] }, "unknown option"],
    [
      "tokens[1].token",
      {
        tokens: [
          { token, account: "a" },
          { token, account: "b" }
        ]
      },
      "duplicate token"
    ],
    ["authenticate", { tokens: [], authenticate: () => undefined }, "set one of the two"],
    ["authenticate", { authenticate: "s3cret" }, "must be a function"],
    ["verifyCache", { verifyCache: 1000 }, "must be an object; the options are ttl, capacity"],
    ["verifyCache.ttl", { verifyCache: {} }, "must be a number of milliseconds, a positive integer"],
    ["verifyCache.ttl", { verifyCache: { ttl: 0 } }, "must be a number of milliseconds, a positive integer"],
    ["verifyCache.capacity", { verifyCache: { ttl: 1, capacity: "5" } }, "must be a number of results"],
    ["verifyCache.size", { verifyCache: { ttl: 1, size: 5 } }, "unknown option; the options are ttl, capacity"],
    ["onQuotaThreshold", { onQuotaThreshold: "often" }, "must be a function"],
    ["onQuotaThreshold.thresholds", { onQuotaThreshold: { thresholds: [2], notify } }, "must be an array of numbers"],
    ["onQuotaThreshold.thresholds", { onQuotaThreshold: { thresholds: ["1"], notify } }, "must be an array of numbers"],
    ["onQuotaThreshold.thresholds", { onQuotaThreshold: { notify } }, "must be an array of numbers"],
    ["onQuotaThreshold.notify", { onQuotaThreshold: { thresholds: [1] } }, "must be a function"],
    ["limits.projects", { limits: { projects: 5 } }, "unknown option; the options are consumersPerKeyBucket"],
    ["limits.projectsPerAccount", { limits }, "unknown option; the options are consumersPerKeyBucket"],
    ["limits.plansPerMeteringBucket", { limits: { plansPerMeteringBucket: null } }, "must be a positive integer"],
    [
      "limits.projectsPerAccount",
      { limits: { projectsPerAccount: null }, modules: all.modules },
      "must be a positive integer"
    ],
    ["bodyLimit", { bodyLimit: Number.NaN }, "must be a number of bytes, a positive integer"],
    ["docs", { docs: "private" }, 'must be true, false or "protected"'],
    ["publicUrl", { publicUrl: new URL("https://:s3cret@a.example") }, "must be a URL such as"],
    ["publicUrl", { modules: [deployments(deploymentOptions)] }, "is required for deployments"],
    ["modules", { modules: webhooks() }, "must be an array of modules"],
    ["modules", { modules: [webhooks] }, "must be an array of modules"]
  ])("names %s in %o", async (option, options, problem) => {
    assert.include(assertError(await create({ ...required, ...options }), option).problem, problem)
  })
})

describe("deployments", () => {
  it.each<readonly [option: string, options: object, problem: string]>([
    ["sitesUrl", { sitesUrl: 5 }, "must be a URL such as"],
    ["target", { target: {} }, "must be a deployment target"],
    ["productionBranch", { productionBranch: "" }, "must be the name of"],
    ["folder", { folder: "s3cret" }, "unknown option; the options are sources, target"]
  ])("names %s in %o", async (option, options, problem) => {
    const error = await getError(() => deployments({ ...deploymentOptions, ...options } as never))
    assert.include(assertError(error, option).problem, problem)
  })
})

describe("Tollgate.layer", () => {
  it("accepts every option, and none but the secret", async () => {
    assert.strictEqual(await createLayer(services), "accepted")
    assert.strictEqual(await createLayer({ secret }), "accepted")
  })

  it.each<readonly [option: string, options: unknown]>([
    ["secret", undefined],
    ["secret", {}],
    ["options", null],
    ["options", "s3cret"],
    ["options", []],
    ["store", { secret, store: MemoryStore.open() }],
    ["tokens", { secret, tokens: [] }],
    ["verifyCache.ttl", { secret, verifyCache: { ttl: "1" } }],
    ["publicUrl", { secret, modules: [deployments(deploymentOptions)] }]
  ])("fails with a ConfigurationError for %s", async (option, options) => {
    assertError(await createLayer(options), option)
  })
})

describe("Authenticator.layerBearer", () => {
  it.each<readonly [option: string, tokens: unknown]>([
    ["tokens", undefined],
    ["tokens", null],
    ["tokens", "s3cret"],
    ["tokens[0]", [null]],
    ["tokens[1].account", [{ token, account: "*" }, { token: `${token}2` }]]
  ])("fails with a ConfigurationError for %s", async (option, tokens) => {
    const layer = Layer.effectDiscard(Effect.void).pipe(
      Layer.provide(Authenticator.layerBearer(tokens as never)),
      Layer.provide(SecretBox.layer({ secrets: [Redacted.make(secret)] }))
    )
    assertError(await buildLayer(layer), option)
  })
})

describe("createClient", () => {
  const baseUrl = "https://api.example"
  it.each<readonly [option: string, options: unknown]>([
    ["baseUrl", undefined],
    ["baseUrl", {}],
    ["options", null],
    ["options", baseUrl],
    ["options", [baseUrl, token]],
    ["baseUrl", { token }],
    ["baseUrl", { baseUrl: "ftp://:s3cret@host", token }],
    ["baseUrl", { baseUrl: new URL(baseUrl), token }],
    ["token", { baseUrl }],
    ["token", { baseUrl, token: null }],
    ["token", { baseUrl, token: "" }],
    ["tokn", { baseUrl, tokn: token }]
  ])("throws a ConfigurationError for %s: %o", async (option, options) => {
    assertError(await getError(() => createClient(options as never)), option)
  })
})

describe("Options", () => {
  interface Example {
    readonly ttl: number
    readonly mode?: "a" | "b" | undefined
  }
  const ttl = Options.positiveInteger()
  const mode = Options.optional(Options.literals(["a", "b"]))

  it("compiles only schemas that match the interface", () => {
    Options.struct<Example>()({ ttl, mode })
    // @ts-expect-error `mode` is missing.
    Options.struct<Example>()({ ttl })
    // @ts-expect-error `size` is not an option.
    Options.struct<Example>()({ ttl, mode, size: ttl })
    // @ts-expect-error `ttl` is required.
    Options.struct<Example>()({ ttl: Options.optional(ttl), mode })
    // @ts-expect-error `mode` is optional.
    Options.struct<Example>()({ ttl, mode: Options.literals(["a", "b"]) })
    // @ts-expect-error `ttl` is a number.
    Options.struct<Example>()({ ttl: Options.string("must be text"), mode })
    // @ts-expect-error `mode` can also be "b".
    Options.struct<Example>()({ ttl, mode: Options.optional(Options.literals(["a"])) })
  })

  it("drops options that are undefined, so that defaults apply", () => {
    const schema = Options.struct<Example>()({ ttl, mode })
    assert.deepStrictEqual(Options.decode(schema, { ttl: 1, mode: undefined }), Exit.succeed({ ttl: 1 }))
    assert.deepStrictEqual(Options.withDefaults({ ttl: 1, mode: "a" }, { ttl: 2, mode: undefined }), {
      ttl: 2,
      mode: "a"
    })
  })
})
