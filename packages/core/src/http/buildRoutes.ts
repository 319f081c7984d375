/**
 * Builds one route per declared endpoint at startup: it authorizes the caller, decodes the request with the endpoint's
 * schemas, calls the handler and encodes the response.
 */
import { Context, Effect, Exit, Schema, type SchemaAST } from "effect"
import { HttpApi, type HttpApiEndpoint, HttpApiSchema } from "effect/http-api"
import { Authenticator } from "../access/Authenticator.ts"
import { Forbidden, Principal } from "../access/Principal.ts"
import { Authenticated } from "../api/Authenticated.ts"
import type { TransportRequest, TransportResponse } from "../runtime/Transport.ts"
import { bodyIssues, type InputIssue, InvalidInput, parameterIssues } from "../schema/InvalidInput.ts"
import { skipChecks } from "../schema/skipChecks.ts"
import { Api } from "./Api.ts"
import { authorizeEndpoint } from "./authorizeEndpoint.ts"
import { isCrossSite } from "./crossSite.ts"
import { encodePage, isPage } from "./encodePage.ts"
import type { AllHandlers } from "./GroupHandlers.ts"
import { mapErrorsToProblems } from "./mapErrorsToProblems.ts"
import { RequestContext } from "./RequestContext.ts"

/** The path parameters and the query, as the router parsed them. */
interface RouteMatch {
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Readonly<Record<string, string | ReadonlyArray<string>>>
}

/** Handles the requests of one endpoint. `requestPipeline` turns its failures into problem responses. */
export type RouteHandler = (
  request: TransportRequest,
  match: RouteMatch
) => Effect.Effect<TransportResponse, unknown, RequestContext>

/** A handler's result does not match the declared response schema. */
export class ResponseEncodingError extends Schema.TaggedError<ResponseEncodingError>()("ResponseEncodingError", {}) {}

type Decode = (input: unknown) => Effect.Effect<unknown, InvalidInput>

const makeDecoder = (
  schema: Schema.Top | undefined,
  options: SchemaAST.ParseOptions | undefined,
  toIssues: (error: Schema.SchemaError) => ReadonlyArray<InputIssue>
): Decode | undefined => {
  if (schema === undefined) return undefined
  const decode = Schema.decodeUnknownExit(schema as Schema.Codec<unknown>, options)
  return (input) => {
    const exit = decode(input)
    return Exit.isSuccess(exit)
      ? Effect.succeed(exit.value)
      : Effect.mapError(exit, (error) => new InvalidInput({ errors: toIssues(error) }))
  }
}

/** Schema for `{}` only: an empty `Struct` would accept any object. */
const EmptyObject = Schema.Record(Schema.String, Schema.Never)

/**
 * The schema of a JSON body; `undefined` if the handler streams the body itself. POST endpoints without a payload schema
 * accept only an empty object.
 */
const payloadSchema = ({ payload, method }: HttpApiEndpoint.Top): Schema.Top | undefined => {
  const schemas = [...payload.values()].flatMap(({ encoding, schemas }) => (encoding._tag === "Json" ? schemas : []))
  if (schemas.length > 1) return Schema.Union(schemas)
  return schemas[0] ?? (method === "POST" ? EmptyObject : undefined)
}

const json = { "content-type": "application/json" }

type Successes = ReadonlyMap<number, readonly [Schema.Top, ...Array<Schema.Top>]>
type ResponseHeaders = Readonly<Record<string, string>>

const bodySchema = (declared: Schema.Top): Schema.Top =>
  HttpApiSchema.isWithHeaders(declared) ? declared.schema : declared

/** Encodes a handler's result: with the declared 204 status if it is empty, otherwise as JSON with the declared status. */
const makeEncoder = (successes: Successes) => {
  const declared = [...successes].flatMap(([status, schemas]) =>
    schemas.map((schema) => [status, bodySchema(schema)] as const)
  )
  const [emptyStatus] = declared.find(([, schema]) => HttpApiSchema.isNoContent(schema.ast)) ?? []
  const withBody = declared.filter(([, schema]) => !HttpApiSchema.isNoContent(schema.ast))
  if (withBody.length > 1) throw new Error("An endpoint may declare at most one success response with a body")
  const [status, schema] = withBody[0] ?? [204, HttpApiSchema.NoContent]
  const encode = Schema.encodeUnknownExit(schema as Schema.Codec<unknown>, skipChecks)
  const toResponse = (body: TransportResponse["body"], headers: ResponseHeaders): TransportResponse => ({
    status,
    headers: { ...json, ...headers },
    body
  })
  return (value: unknown, headers: ResponseHeaders): Effect.Effect<TransportResponse, ResponseEncodingError> => {
    if (emptyStatus !== undefined && (value === undefined || withBody.length === 0)) {
      return Effect.succeed({ status: emptyStatus, headers, body: undefined })
    }
    if (isPage(value)) {
      const body = Effect.mapError(encodePage(value, encode), () => new ResponseEncodingError())
      return Effect.map(body, (body) => toResponse(body, headers))
    }
    const encoded = encode(value)
    return Exit.isSuccess(encoded)
      ? Effect.succeed(toResponse(JSON.stringify(encoded.value), headers))
      : Effect.fail(new ResponseEncodingError())
  }
}

interface WithHeaders {
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

const rejectCrossSite = mapErrorsToProblems(
  Effect.fail(
    new Forbidden({
      problem: "Cross-site requests are refused. Send the credential in the Authorization header instead of a cookie."
    })
  )
)

type UntypedHandler = (input: object) => Effect.Effect<unknown, unknown, Principal | RequestContext>

/** Builds the routes of all endpoints of the API. */
export const buildRoutes = Effect.fnUntraced(function* (handlers: AllHandlers) {
  const { authenticate } = yield* Authenticator
  const routes: Array<readonly [method: string, path: string, handler: RouteHandler]> = []

  const buildRoute = (
    endpoint: HttpApiEndpoint.Top,
    annotations: Context.Context<never>,
    successes: Successes,
    handler: UntypedHandler
  ): RouteHandler => {
    const getParseOptions = <Slot>(slot: Context.Key<Slot, SchemaAST.ParseOptions>) =>
      Context.getOrUndefined(annotations, slot)
    const decodeParams = makeDecoder(endpoint.params, undefined, parameterIssues)
    const decodeHeaders = makeDecoder(endpoint.headers, undefined, parameterIssues)
    const query = endpoint.query && Schema.toCodecArrayFromSingle(endpoint.query)
    const decodeQuery = makeDecoder(query, getParseOptions(HttpApi.QueryParseOptions), parameterIssues)
    const decodePayload = makeDecoder(payloadSchema(endpoint), getParseOptions(HttpApi.PayloadParseOptions), bodyIssues)
    const hasHeaders = [...(endpoint.success as ReadonlySet<Schema.Top>)].some(HttpApiSchema.isWithHeaders)
    const encode = makeEncoder(successes)

    const handle = Effect.fnUntraced(function* ({ headers }: TransportRequest, match: RouteMatch) {
      const input: Record<string, unknown> = {}
      if (decodeParams !== undefined) input["params"] = yield* decodeParams(match.params)
      if (decodeHeaders !== undefined) input["headers"] = yield* decodeHeaders(headers)
      if (decodeQuery !== undefined) input["query"] = yield* decodeQuery(match.query)
      if (decodePayload !== undefined)
        input["payload"] = yield* decodePayload((yield* (yield* RequestContext).body).value)
      const result = yield* handler(input)
      if (!hasHeaders) return yield* encode(result, {})
      const { body, headers: responseHeaders } = result as WithHeaders
      return yield* encode(body, responseHeaders)
    })

    // Public endpoints: their handlers do not require a Principal.
    if (![...endpoint.middlewares].some((middleware) => middleware === Authenticated)) return handle as RouteHandler
    const authorize = authorizeEndpoint(endpoint)
    return (request, match) => {
      if (isCrossSite(request)) return rejectCrossSite
      return Effect.flatMap(authorize(authenticate(request), match.params["accountName"]), (principal) =>
        Effect.provideService(handle(request, match), Principal, principal)
      )
    }
  }

  HttpApi.reflect(Api, {
    onGroup: () => undefined,
    onEndpoint: ({ group, endpoint, mergedAnnotations, successes }) => {
      const groupHandlers = handlers[group.identifier as keyof AllHandlers] as unknown as Record<string, UntypedHandler>
      const handler = groupHandlers[endpoint.identifier] as UntypedHandler
      routes.push([endpoint.method, endpoint.path, buildRoute(endpoint, mergedAnnotations, successes, handler)])
    }
  })
  return routes
})
