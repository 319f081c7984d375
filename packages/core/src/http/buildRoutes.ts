/**
 * Makes of each declared endpoint, once, what answers it: who may call, how its request is read by its schemas, and how its
 * answer is written.
 */
import { Context, Effect, Exit, Schema, type SchemaAST } from "effect"
import { HttpApi, type HttpApiEndpoint, HttpApiSchema } from "effect/http-api"
import { Authenticator } from "../access/Authenticator.ts"
import { Forbidden, Principal } from "../access/Principal.ts"
import { Authenticated } from "../api/Authenticated.ts"
import type { TransportRequest, TransportResponse } from "../runtime/Transport.ts"
import { encodeOptions } from "../schema/encodeOptions.ts"
import { bodyIssues, type InputIssue, InvalidInput, parameterIssues } from "../schema/InvalidInput.ts"
import { Api } from "./Api.ts"
import { authorizeEndpoint } from "./authorizeEndpoint.ts"
import { isCrossSite } from "./crossSite.ts"
import { encodePage, isPage } from "./encodePage.ts"
import type { AllHandlers } from "./HandlersOf.ts"
import { RequestContext } from "./RequestContext.ts"
import { toProblems } from "./toProblems.ts"

/** What the router found in a path and its query. */
export interface RouteMatch {
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Readonly<Record<string, string | ReadonlyArray<string>>>
}

/** Answers one endpoint. What it fails with is a problem, or can be made one. */
export type RouteHandler = (
  asked: TransportRequest,
  found: RouteMatch
) => Effect.Effect<TransportResponse, unknown, RequestContext>

/** An answer that does not fit its own declaration. */
export class ResponseEncodingError extends Schema.TaggedError<ResponseEncodingError>()("ResponseEncodingError", {}) {}

type Decode = (input: unknown) => Effect.Effect<unknown, InvalidInput>

const makeDecoder = (
  schema: Schema.Top | undefined,
  options: SchemaAST.ParseOptions | undefined,
  placesIn: (error: Schema.SchemaError) => ReadonlyArray<InputIssue>
): Decode | undefined => {
  if (schema === undefined) return undefined
  const decode = Schema.decodeUnknownExit(schema as Schema.Codec<unknown>, options)
  return (input) => {
    const exit = decode(input)
    return Exit.isSuccess(exit)
      ? Effect.succeed(exit.value)
      : Effect.mapError(exit, (error) => new InvalidInput({ errors: placesIn(error) }))
  }
}

/** An object that has nothing in it; an empty struct would take any. */
const EmptyObject = Schema.Record(Schema.String, Schema.Never)

/** The schema of a JSON body; none where it is read as it comes. What is posted without need says nothing. */
const payloadSchema = ({ payload, method }: HttpApiEndpoint.Top): Schema.Top | undefined => {
  const schemas = [...payload.values()].flatMap(({ encoding, schemas }) => (encoding._tag === "Json" ? schemas : []))
  if (schemas.length > 1) return Schema.Union(schemas)
  return schemas[0] ?? (method === "POST" ? EmptyObject : undefined)
}

const json = { "content-type": "application/json" }

type Successes = ReadonlyMap<number, readonly [Schema.Top, ...Array<Schema.Top>]>
type AnswerHeaders = Readonly<Record<string, string>>

const bodySchema = (declared: Schema.Top): Schema.Top =>
  HttpApiSchema.isWithHeaders(declared) ? declared.schema : declared

/** Encodes a handler's result with the status that was declared for it: one with a body, one without, or both. */
const makeEncoder = (successes: Successes) => {
  const declared = [...successes].flatMap(([status, schemas]) =>
    schemas.map((schema) => [status, bodySchema(schema)] as const)
  )
  const [emptyStatus] = declared.find(([, schema]) => HttpApiSchema.isNoContent(schema.ast)) ?? []
  const withBody = declared.filter(([, schema]) => !HttpApiSchema.isNoContent(schema.ast))
  if (withBody.length > 1) throw new Error("an endpoint declares at most one success with a body")
  const [status, schema] = withBody[0] ?? [204, HttpApiSchema.NoContent]
  const encode = Schema.encodeUnknownExit(schema as Schema.Codec<unknown>, encodeOptions)
  const answer = (body: TransportResponse["body"], headers: AnswerHeaders): TransportResponse => ({
    status,
    headers: { ...json, ...headers },
    body
  })
  return (value: unknown, headers: AnswerHeaders): Effect.Effect<TransportResponse, ResponseEncodingError> => {
    if (emptyStatus !== undefined && (value === undefined || withBody.length === 0)) {
      return Effect.succeed({ status: emptyStatus, headers, body: undefined })
    }
    if (isPage(value)) {
      const body = Effect.mapError(encodePage(value, encode), () => new ResponseEncodingError())
      return Effect.map(body, (body) => answer(body, headers))
    }
    const encoded = encode(value)
    return Exit.isSuccess(encoded)
      ? Effect.succeed(answer(JSON.stringify(encoded.value), headers))
      : Effect.fail(new ResponseEncodingError())
  }
}

interface WithHeaders {
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

const crossSiteRefused = toProblems(
  Effect.fail(
    new Forbidden({
      problem:
        "Requests from other sites are refused. Send the credential in the Authorization header instead of a cookie."
    })
  )
)

type UntypedHandler = (input: object) => Effect.Effect<unknown, unknown, Principal | RequestContext>

/** Every endpoint of the interface, by its method and path. */
export const buildRoutes = Effect.fnUntraced(function* (handlers: AllHandlers) {
  const { authenticate } = yield* Authenticator
  const endpoints: Array<readonly [method: string, path: string, endpoint: RouteHandler]> = []

  const buildRoute = (
    endpoint: HttpApiEndpoint.Top,
    annotations: Context.Context<never>,
    successes: Successes,
    handler: UntypedHandler
  ): RouteHandler => {
    const optionsFor = <Slot>(slot: Context.Key<Slot, SchemaAST.ParseOptions>) =>
      Context.getOrUndefined(annotations, slot)
    const decodeParams = makeDecoder(endpoint.params, undefined, parameterIssues)
    const decodeHeaders = makeDecoder(endpoint.headers, undefined, parameterIssues)
    const query = endpoint.query && Schema.toCodecArrayFromSingle(endpoint.query)
    const decodeQuery = makeDecoder(query, optionsFor(HttpApi.QueryParseOptions), parameterIssues)
    const decodePayload = makeDecoder(payloadSchema(endpoint), optionsFor(HttpApi.PayloadParseOptions), bodyIssues)
    const hasHeaders = [...(endpoint.success as ReadonlySet<Schema.Top>)].some(HttpApiSchema.isWithHeaders)
    const encode = makeEncoder(successes)

    const handle = Effect.fnUntraced(function* ({ headers }: TransportRequest, found: RouteMatch) {
      const input: Record<string, unknown> = {}
      if (decodeParams !== undefined) input["params"] = yield* decodeParams(found.params)
      if (decodeHeaders !== undefined) input["headers"] = yield* decodeHeaders(headers)
      if (decodeQuery !== undefined) input["query"] = yield* decodeQuery(found.query)
      if (decodePayload !== undefined)
        input["payload"] = yield* decodePayload((yield* (yield* RequestContext).body).value)
      const result = yield* handler(input)
      if (!hasHeaders) return yield* encode(result, {})
      const { body, headers: responseHeaders } = result as WithHeaders
      return yield* encode(body, responseHeaders)
    })

    // Whoever needs no credential needs no principal either.
    if (![...endpoint.middlewares].some((middleware) => middleware === Authenticated)) return handle as RouteHandler
    const admitted = authorizeEndpoint(endpoint)
    return (asked, found) => {
      if (isCrossSite(asked)) return crossSiteRefused
      return Effect.flatMap(admitted(authenticate(asked), found.params["accountName"]), (principal) =>
        Effect.provideService(handle(asked, found), Principal, principal)
      )
    }
  }

  HttpApi.reflect(Api, {
    onGroup: () => undefined,
    onEndpoint: ({ group, endpoint, mergedAnnotations, successes }) => {
      const ofGroup = handlers[group.identifier as keyof AllHandlers] as unknown as Record<string, UntypedHandler>
      const handler = ofGroup[endpoint.identifier] as UntypedHandler
      endpoints.push([endpoint.method, endpoint.path, buildRoute(endpoint, mergedAnnotations, successes, handler)])
    }
  })
  return endpoints
})
