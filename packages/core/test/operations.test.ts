/**
 * Walks the declaration of the API: every operation exists as an Effect, as a promise, in the client, over HTTP and in
 * the OpenAPI description, with the same errors.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as entryPoint from "@tollgate/core"
import { createTollgate, isTollgateError } from "@tollgate/core"
import * as clientEntryPoint from "@tollgate/core/client"
import { createClient } from "@tollgate/core/client"
import {
  Accounts,
  Api,
  ApiKeys,
  Authenticator,
  Consumers,
  Deployments,
  Events,
  KeyBuckets,
  MeteringBuckets,
  Plans,
  Projects,
  Reservations,
  Subscriptions,
  Tollgate,
  Uploads,
  Usage,
  UsageHistory,
  Webhooks
} from "@tollgate/core/effect"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import { Arbitrary, Context, Effect, Exit, Fiber, Layer, Redacted, References, Schema, Stream } from "effect"
import { OpenApi } from "effect/http-api"
import type { OperationDescription } from "../src/api/describeOperations.ts"
import { makeRemoteOperations } from "../src/client/makeRemoteOperations.ts"
import { SecretBox } from "../src/crypto/SecretBox.ts"
import { encodeProblem } from "../src/errors/defineError.ts"
import { buildRoutes } from "../src/http/buildRoutes.ts"
import { makeStartRequest } from "../src/http/requestPipeline.ts"
import { makeRoutes } from "../src/http/routes.ts"
import { descriptions } from "../src/operations/AllOperations.ts"
import type { AnyRequest } from "../src/operations/checkOwner.ts"
import { findUnsafeJson } from "../src/schema/SafeJson.ts"
import { grants, secret, tokens } from "./stores.ts"

const listen = (handler: Parameters<typeof createServer>[1]) =>
  Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      const server = createServer(handler)
      server.listen(0, () => resume(Effect.succeed(`http://localhost:${(server.address() as AddressInfo).port}`)))
      servers.add(server)
    }),
    () =>
      Effect.sync(() => {
        for (const server of servers) server.close()
      })
  )
const servers = new Set<ReturnType<typeof createServer>>()

/** Endpoints that are not methods of a handle. */
const withoutMethod = new Set(["system.alive", "system.ready", "uploads.receive"])

/** Describes the caller of an HTTP request, and in process there is none. */
const inClientOnly = new Set(["access.me"])

const services = {
  Accounts,
  KeyBuckets,
  Consumers,
  ApiKeys,
  MeteringBuckets,
  Plans,
  Subscriptions,
  Usage,
  UsageHistory,
  Reservations,
  Projects,
  Deployments,
  Uploads,
  Events,
  Webhooks
}

/** The handle that has the methods of a group. */
// biome-ignore lint/suspicious/noExplicitAny: the test looks for methods by name
const getMethods = (gate: any, { group, name }: OperationDescription): Record<string, unknown> => {
  const account = gate.account("acme")
  const bucket = account.keyBucket("production")
  const metering = account.meteringBucket("bckt_x")
  if (name === "verify") return bucket
  if (name === "quotas" || name === "consume") return metering.usage
  return {
    access: gate,
    accounts: gate.accounts,
    keyBuckets: account.keyBuckets,
    projects: account.projects,
    consumers: bucket.consumers,
    keys: bucket.keys,
    buckets: account.meteringBuckets,
    plans: metering.plans,
    subscriptions: metering.subscriptions,
    usage: metering.usage,
    deployments: account.project("web").deployments,
    events: account.events,
    webhooks: account.webhooks
  }[group] as Record<string, unknown>
}

describe("every declared operation", () => {
  it.effect("exists as an Effect, as a promise, in the client, over HTTP and in OpenAPI", () =>
    Effect.gen(function* () {
      const layer = Tollgate.layer({ secret }).pipe(Layer.provide(MemoryStore.layer))
      const context = yield* Layer.build(layer)
      const gate = yield* Effect.promise(() => createTollgate({ store: MemoryStore.open(), secret, tokens: grants }))
      const client = createClient({ baseUrl: "http://localhost", token: tokens.writer })
      const spec = OpenApi.fromApi(Api)
      assert.isAbove(descriptions.length, 30)
      for (const description of descriptions) {
        const { id, name, method, path } = description
        if (inClientOnly.has(id)) {
          assert.notProperty(gate, name)
          assert.isFunction(getMethods(client, description)[name], `${id} in the client`)
        } else if (!withoutMethod.has(id)) {
          const implementing = Object.values(services).filter((service) => {
            const implementation = Context.get(context, service as typeof Consumers) as unknown as Record<
              string,
              unknown
            >
            return typeof implementation[name] === "function"
          })
          assert.isAbove(implementing.length, 0, `${id} as an Effect`)
          assert.isFunction(getMethods(gate, description)[name], `${id} as a promise`)
          assert.isFunction(getMethods(client, description)[name], `${id} in the client`)
        }
        const url = `http://gate${path.replace(/:\w+/g, "x")}`
        const response = yield* Effect.promise(() => gate.handler(new Request(url, { method })))
        const expected = description.isAuthenticated ? [401] : id === "uploads.receive" ? [501] : [200]
        assert.include(expected, response.status, `${id} over HTTP`)
        const documented = spec.paths[path.replace(/:(\w+)/g, "{$1}") as `/${string}`]?.[method.toLowerCase() as "get"]
        assert.strictEqual(documented?.operationId, id)
        const statuses = Object.keys(documented?.responses ?? {})
        for (const error of description.errors) {
          const type = getProblem(error)
          assert.include(statuses, String(type.status), `${id}: ${type.code} in OpenAPI`)
          assert.include(JSON.stringify(documented?.responses[type.status as 404]), "Problem", `${id}: ${type.code}`)
        }
      }
      yield* Effect.promise(() => gate.close())
    })
  )
})

interface DeclaredProblem {
  readonly code: string
  readonly status: number
}

/** The code and the status that an error class declares. */
const getProblem = (error: Schema.Top): DeclaredProblem => {
  const sample = Effect.runSync(sampleError(error))
  assert.isTrue(isTollgateError(sample))
  return sample as unknown as DeclaredProblem
}

/** A value that can be sent and read again: generated dates may be out of range, generated text not well-formed. */
const sampleValid = <A>(codec: Schema.Codec<A>) =>
  Effect.map(
    Effect.orDie(Arbitrary.sampleEffect(Arbitrary.schema(Schema.toType(codec)), { count: 100, seed: 7 })),
    (samples) =>
      samples.find((sample) => {
        const json = Schema.encodeUnknownExit(codec)(sample)
        return (
          Exit.isSuccess(json) &&
          findUnsafeJson(json.value) === undefined &&
          Exit.isSuccess(Schema.decodeUnknownExit(codec)(json.value))
        )
      }) as A
  )

/** One sample for each error class: many operations declare the same errors. */
const errorSamples = new Map<Schema.Top, object>()

const sampleError = Effect.fnUntraced(function* (error: Schema.Top) {
  const sample = errorSamples.get(error) ?? (yield* sampleValid(error as Schema.Codec<object>))
  errorSamples.set(error, sample)
  return sample
})

/** A valid request of an operation. */
const sampleRequest = ({ path, isPaged, payload }: OperationDescription) =>
  Effect.gen(function* () {
    const params = Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name, "acme"]))
    const query = isPaged ? { limit: 10, offset: 0 } : {}
    if (payload === undefined || payload === "stream") return { params, query } as AnyRequest
    return { params, query, payload: yield* sampleValid(payload as Schema.Codec<unknown>) } as AnyRequest
  })

/** What an error says, without the request that it responds to. */
const toMembers = (error: object) => {
  const { instance: _, ...members } = encodeProblem(error, "")
  return members
}

describe("every declared error", () => {
  it.live("reaches the client over HTTP as the same class with the same fields", () =>
    Effect.gen(function* () {
      let failure: object | undefined
      const fail = () => Effect.suspend(() => Effect.fail(failure))
      const owner = () => Effect.succeed({ accountName: "acme" })
      const routes = yield* Effect.provide(
        buildRoutes({
          descriptions,
          getOperation: () => fail,
          owners: { meteringBucket: owner, deployment: owner },
          locations: { "consumers.rollKey": () => Effect.succeed({ location: "", body: undefined }) }
        }),
        Authenticator.layerBearer(grants).pipe(Layer.provide(SecretBox.layer({ secrets: [Redacted.make(secret)] })))
      )
      const startRequest = makeStartRequest(
        routes,
        makeRoutes({ docs: false, metrics: false, sites: false, console: false }),
        {
          bodyLimit: 2 ** 20
        }
      )
      const baseUrl = yield* listen(
        toNodeHandler({
          handler: () => Promise.reject(new Error("not used")),
          dispatch: (request) =>
            Effect.runPromise(Fiber.join(startRequest(request, Context.make(References.MinimumLogLevel, "None")))),
          matches: () => true
        })
      )
      const { call, upload } = makeRemoteOperations(baseUrl, tokens.admin)
      const checked = new Set<string>()
      for (const description of descriptions) {
        const request = yield* sampleRequest(description)
        for (const schema of description.errors) {
          failure = yield* sampleError(schema)
          const response: Effect.Effect<unknown, unknown> =
            description.id === "uploads.receive"
              ? upload({ id: "x", expires: "1", signature: "x" }, Stream.make(new Uint8Array(1)))
              : call(description, {}, request)
          const error = (yield* Effect.flip(response)) as object
          const label = `${description.id}: ${failure.constructor.name}`
          assert.strictEqual(error.constructor, failure.constructor, label)
          assert.deepEqual(toMembers(error), toMembers(failure), label)
          checked.add(failure.constructor.name)
        }
      }
      assert.isAbove(checked.size, 30)
      for (const name of checked) {
        assert.property(entryPoint, name, "in the first entry point")
        assert.property(clientEntryPoint, name, "in the client's entry point")
      }
    }).pipe(Effect.scoped)
  )
})
