/**
 * Tollgate does not start on a declaration that it would serve only in part.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema } from "effect/http-api"
import { Authenticator } from "../src/access/Authenticator.ts"
import { Authenticated } from "../src/api/Authenticated.ts"
import { describeOperations } from "../src/api/describeOperations.ts"
import { Area, Owner } from "../src/api/Owner.ts"
import { buildRoutes } from "../src/http/buildRoutes.ts"

class Extra extends HttpApiMiddleware.Service<Extra>()("test/Extra") {}

const Item = Schema.Struct({ id: Schema.String })
const path = "/v1/things/:id"
const get = HttpApiEndpoint.get("get", path, { success: Item })

// biome-ignore lint/suspicious/noExplicitAny: declarations of any type
const declare = (endpoint: any) =>
  HttpApi.make("test").add(HttpApiGroup.make("things").add(endpoint).middleware(Authenticated).annotate(Area, "things"))

const describeOne = (endpoint: unknown) => () => describeOperations(declare(endpoint))

describe("an endpoint", () => {
  it("is served if all of it is supported", () => {
    const [description] = describeOne(get.annotate(Owner, "account"))()
    expect(description).toMatchObject({
      id: "things.get",
      owner: "account",
      isAuthenticated: true,
      permission: "things:read",
      isReadOnly: true
    })
    const csv = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" }))
    const [text] = describeOne(HttpApiEndpoint.get("csv", path, { success: csv }).annotate(Owner, "account"))()
    expect(text?.response).toMatchObject({ kind: "plain", contentType: "text/csv" })
  })

  it.each([
    ["without an owner", get, /has no owner/],
    ["with another middleware", get.middleware(Extra).annotate(Owner, "account"), /middleware is not supported/],
    [
      "with a form as its body",
      HttpApiEndpoint.post("create", path, {
        payload: Item.pipe(HttpApiSchema.asFormUrlEncoded()),
        success: Item
      }).annotate(Owner, "account"),
      /FormUrlEncoded are not supported/
    ],
    [
      "with bytes as its response",
      HttpApiEndpoint.get("get", path, {
        success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array())
      }).annotate(Owner, "account"),
      /responses in Uint8Array are not supported/
    ],
    [
      "with two bodies of success",
      HttpApiEndpoint.get("get", path, {
        success: [Item, Schema.Struct({ other: Schema.String }).pipe(HttpApiSchema.status(201))]
      }).annotate(Owner, "account"),
      /success responses are not supported/
    ]
  ] as const)("%s is refused at start", (_, endpoint, message) => {
    expect(describeOne(endpoint)).toThrow(message)
    expect(describeOne(endpoint)).toThrow(/The endpoint things\.(get|create) cannot be served/)
  })

  it("that anyone may call cannot belong to an account", () => {
    const group = HttpApiGroup.make("things").add(get.annotate(Owner, "account"))
    expect(() => describeOperations(HttpApi.make("test").add(group))).toThrow(/without an owner may be public/)
  })

  it("without an implementation is refused at start", () => {
    const build = buildRoutes({
      descriptions: describeOne(get.annotate(Owner, "account"))(),
      getOperation: () => undefined,
      owners: {},
      locations: {}
    })
    expect(() => Effect.runSync(Effect.provide(build, Authenticator.layerRejectAll))).toThrow(/has no implementation/)
  })
})
