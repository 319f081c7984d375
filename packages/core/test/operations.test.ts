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
  Alerts,
  ApiKeys,
  Authenticator,
  Consumers,
  Customers,
  Decisions,
  Events,
  Grants,
  KeyBuckets,
  MeteringBuckets,
  Plans,
  Reservations,
  Subscriptions,
  Tollgate,
  Usage,
  UsageHistory
} from "@tollgate/core/effect"
import * as decisionsEntryPoint from "@tollgate/decisions"
import { DecisionLog } from "@tollgate/decisions"
import * as decisionsClientEntryPoint from "@tollgate/decisions/client"
import * as deploymentsEntryPoint from "@tollgate/deployments"
import { Deployments, Projects, Uploads } from "@tollgate/deployments"
import * as deploymentsClientEntryPoint from "@tollgate/deployments/client"
import { MemoryStore } from "@tollgate/memory"
import { toNodeHandler } from "@tollgate/node"
import * as portalEntryPoint from "@tollgate/portal"
import { Portal, PortalSessions } from "@tollgate/portal"
import * as portalClientEntryPoint from "@tollgate/portal/client"
import * as tokensEntryPoint from "@tollgate/tokens"
import { Sessions, Tokens } from "@tollgate/tokens"
import * as tokensClientEntryPoint from "@tollgate/tokens/client"
import * as webhooksEntryPoint from "@tollgate/webhooks"
import { Webhooks } from "@tollgate/webhooks"
import * as webhooksClientEntryPoint from "@tollgate/webhooks/client"
import { Arbitrary, Context, Effect, Exit, Fiber, Layer, Redacted, References, Schema, Stream } from "effect"
import { OpenApi } from "effect/http-api"
import { SecretBox } from "../../store/src/crypto/SecretBox.ts"
import { encodeProblem } from "../../store/src/errors/defineError.ts"
import { findUnsafeJson } from "../../store/src/schema/SafeJson.ts"
import type { AnyRequest } from "../src/api/AnyRequest.ts"
import type { OperationDescription } from "../src/api/describeOperations.ts"
import { makeRemoteOperations } from "../src/client/makeRemoteOperations.ts"
import { buildRoutes } from "../src/http/buildRoutes.ts"
import { makeStartRequest } from "../src/http/requestPipeline.ts"
import { makeRoutes } from "../src/http/routes.ts"
import { Api, clientModules, descriptions, withAllModules } from "./allModules.ts"
import { getMethods } from "./methodsOfHandles.ts"
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
const withoutMethod = new Set([
  "system.alive",
  "system.ready",
  "uploads.receive",
  "allSessions.list",
  "allSessions.remove",
  "allSessions.removeAll"
])

/** Describes the caller of an HTTP request, and in process there is none. */
const inClientOnly = new Set(["access.me"])

const services = {
  Accounts,
  KeyBuckets,
  Consumers,
  Decisions,
  ApiKeys,
  DecisionLog,
  MeteringBuckets,
  Customers,
  Alerts,
  Grants,
  Plans,
  Subscriptions,
  Usage,
  UsageHistory,
  Reservations,
  Projects,
  Deployments,
  Uploads,
  Events,
  Portal,
  PortalSessions,
  Sessions,
  Tokens,
  Webhooks
}

describe("every declared operation", () => {
  it.effect("exists as an Effect, as a promise, in the client, over HTTP and in OpenAPI", () =>
    Effect.gen(function* () {
      const layer = Tollgate.layer({ secret, ...withAllModules() }).pipe(Layer.provide(MemoryStore.layer))
      const context = yield* Layer.build(layer)
      const gate = yield* Effect.promise(() =>
        createTollgate({ store: MemoryStore.open(), secret, tokens: grants, ...withAllModules() })
      )
      const client = createClient({ baseUrl: "http://localhost", token: tokens.writer, modules: clientModules })
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
        const expected = description.isAuthenticated ? [401] : id === "uploads.receive" ? [403] : [200]
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
    Effect.orDie(Arbitrary.sampleEffect(Arbitrary.schema(Schema.toType(codec)), { count: 100, size: 4, seed: 7 })),
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
const sampleRequest = ({ id, path, isPaged, payload }: OperationDescription) =>
  Effect.gen(function* () {
    const params = Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name, "acme"]))
    const needed: Readonly<Record<string, object>> = {
      "search.find": { q: "acme" },
      "usage.top": { meter: "tokens" },
      "usage.export": { month: "2026-11" }
    }
    const query = { ...(isPaged ? { limit: 10, offset: 0 } : {}), ...needed[id] }
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
      const owner = { find: () => Effect.succeed({ accountName: "acme" }), notFound: () => new entryPoint.Forbidden() }
      const operations = yield* Effect.provide(
        buildRoutes({
          descriptions,
          getOperation: () => fail,
          owners: { "metering-bucket": owner, deployment: owner },
          locations: { "consumers.rollKey": () => Effect.succeed({ location: "", body: undefined }) }
        }),
        Authenticator.layerBearer([{ token: tokens.admin, account: "*", permissions: ["*"] }]).pipe(
          Layer.provide(SecretBox.layer({ secrets: [Redacted.make(secret)] }))
        )
      )
      const startRequest = makeStartRequest(makeRoutes(operations, []), [], { bodyLimit: 2 ** 20 })
      const baseUrl = yield* listen(
        toNodeHandler({
          handler: () => Promise.reject(new Error("not used")),
          dispatch: (request) =>
            Effect.runPromise(Fiber.join(startRequest(request, Context.make(References.MinimumLogLevel, "None")))),
          matches: () => true
        })
      )
      const owned = { "metering-bucket": owner.notFound, deployment: owner.notFound }
      const call = makeRemoteOperations({ api: Api, descriptions }, owned, baseUrl, tokens.admin)
      const checked = new Set<string>()
      for (const description of descriptions) {
        const request = yield* sampleRequest(description)
        for (const schema of description.errors) {
          failure = yield* sampleError(schema)
          const content = description.payload === "stream" ? { payload: Stream.make(new Uint8Array(1)) } : {}
          const error = (yield* Effect.flip(call(description, {}, { ...request, ...content }))) as object
          const label = `${description.id}: ${failure.constructor.name}`
          assert.strictEqual(error.constructor, failure.constructor, label)
          assert.deepEqual(toMembers(error), toMembers(failure), label)
          checked.add(failure.constructor.name)
        }
      }
      assert.isAbove(checked.size, 30)
      const server = {
        ...entryPoint,
        ...decisionsEntryPoint,
        ...deploymentsEntryPoint,
        ...portalEntryPoint,
        ...tokensEntryPoint,
        ...webhooksEntryPoint
      }
      const client = {
        ...clientEntryPoint,
        ...decisionsClientEntryPoint,
        ...deploymentsClientEntryPoint,
        ...portalClientEntryPoint,
        ...tokensClientEntryPoint,
        ...webhooksClientEntryPoint
      }
      for (const name of checked) {
        assert.property(server, name, "in the first entry point of its package")
        assert.property(client, name, "in the client's entry point of its package")
      }
    }).pipe(Effect.scoped)
  )
})
