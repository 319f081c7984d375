/**
 * Builds one route per operation at startup: it authorizes the caller, decodes the request with the declared schemas,
 * calls the operation and encodes its result.
 */
import { Effect, Exit, Schema, type SchemaAST } from "effect"
import { Forbidden } from "../access/AccessError.ts"
import { Authenticator } from "../access/Authenticator.ts"
import { Principal } from "../access/Principal.ts"
import type { OperationDescription, ResponseDescription } from "../api/describeOperations.ts"
import { prefersCsv } from "../api/withCsv.ts"
import type { WithRateLimits } from "../api/withRateLimits.ts"
import { type AnyRequest, checkOwner, type Owners } from "../operations/checkOwner.ts"
import { CurrentActor } from "../outbox/CurrentActor.ts"
import { formatRateLimitHeaders } from "../rateLimits/rateLimitHeaders.ts"
import type { TransportRequest, TransportResponse } from "../runtime/Transport.ts"
import { bodyIssues, headerIssues, type InputIssue, InvalidInput, parameterIssues } from "../schema/InvalidInput.ts"
import { skipChecks } from "../schema/skipChecks.ts"
import type { Entry } from "../store/Collection.ts"
import { authorizeCaller, checkCanSeeKeyValues, toCallerScope } from "./authorizeCaller.ts"
import { isCrossSite } from "./crossSite.ts"
import { encodePage, isPage } from "./encodePage.ts"
import { makeRunIdempotent } from "./idempotency.ts"
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

/** An operation's result does not match the declared response schema. */
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

/** The schema of a JSON body. POST endpoints without a payload schema accept only an empty object. */
const getPayloadSchema = ({ payload, method }: OperationDescription): Schema.Top | undefined =>
  payload === "stream" ? undefined : (payload ?? (method === "POST" ? EmptyObject : undefined))

type Headers = Readonly<Record<string, string>>

/** Encodes a body: pages in chunks, text as it is, everything else as JSON. */
const makeBodyEncoder = ({ status, body, contentType }: ResponseDescription) => {
  const encode = Schema.encodeUnknownExit(body, skipChecks)
  const isJson = contentType === "application/json"
  return (value: unknown, headers: Headers): Effect.Effect<TransportResponse, ResponseEncodingError> => {
    const toResponse = (body: TransportResponse["body"]): TransportResponse => ({
      status,
      headers: { "content-type": contentType, ...headers },
      body
    })
    if (isPage(value)) {
      return Effect.mapBoth(encodePage(value, encode), {
        onSuccess: toResponse,
        onFailure: () => new ResponseEncodingError()
      })
    }
    const encoded = encode(value)
    if (Exit.isFailure(encoded)) return Effect.fail(new ResponseEncodingError())
    return Effect.succeed(toResponse(isJson ? JSON.stringify(encoded.value) : String(encoded.value)))
  }
}

/** Where the result of an operation can be read, and the body to send with it, if any. */
export type Locate = (
  result: unknown,
  request: AnyRequest
) => Effect.Effect<{ readonly location: string; readonly body: unknown }, never, RequestContext>

type EncodeResult = (
  result: unknown,
  request: AnyRequest
) => Effect.Effect<TransportResponse, ResponseEncodingError, RequestContext>

const csvType = "text/csv; charset=utf-8; header=present"

const makeResultEncoder = ({ id, response }: OperationDescription, locate: Locate | undefined): EncodeResult => {
  const encodeBody = makeBodyEncoder(response)
  const { kind, status, toCsv } = response
  if (kind === "empty") return () => Effect.succeed({ status, headers: {}, body: undefined })
  if (kind === "plain" && toCsv !== undefined) {
    return (result) =>
      Effect.flatMap(RequestContext, ({ request }) =>
        prefersCsv(request.headers["accept"])
          ? Effect.succeed({ status, headers: { "content-type": csvType, vary: "Accept" }, body: toCsv(result) })
          : encodeBody(result, { vary: "Accept" })
      )
  }
  if (kind === "plain") return (result) => encodeBody(result, {})
  if (kind === "versioned") {
    return (result) => {
      const { value, version } = result as Entry<unknown>
      return encodeBody(value, { etag: `"${version}"` })
    }
  }
  if (kind === "with-rate-limits") {
    return (result) => {
      const { value, policies } = result as WithRateLimits<unknown>
      return encodeBody(value, formatRateLimitHeaders(policies))
    }
  }
  if (locate === undefined) throw new Error(`The endpoint ${id} declares a Location, but none is implemented for it`)
  return (result, request) =>
    Effect.flatMap(locate(result, request), ({ location, body }) =>
      body === undefined
        ? Effect.succeed({ status: 204, headers: { location }, body: undefined })
        : encodeBody(body, { location })
    )
}

const rejectCrossSite = Effect.fail(
  new Forbidden({
    detail: "Cross-site requests are refused. Send the credential in the Authorization header instead of a cookie."
  })
)

export type UntypedOperation = (request: AnyRequest) => Effect.Effect<unknown, unknown, RequestContext>

export interface RouteImplementations {
  readonly descriptions: ReadonlyArray<OperationDescription>
  /** Returns the implementation of an operation; `undefined` if it has none. */
  readonly getOperation: (description: OperationDescription) => UntypedOperation | undefined
  readonly owners: Owners
  /** The implementations of `Location`, by operation id. */
  readonly locations: Readonly<Record<string, Locate>>
}

/** Builds the routes of all operations. Throws if an operation is not implemented. */
export const buildRoutes = Effect.fnUntraced(function* ({
  descriptions,
  getOperation,
  owners,
  locations
}: RouteImplementations) {
  const { authenticate } = yield* Authenticator
  const runIdempotent = makeRunIdempotent()

  const buildRoute = (description: OperationDescription): RouteHandler => {
    const operation = getOperation(description)
    if (operation === undefined) throw new Error(`The endpoint ${description.id} has no implementation`)
    const decodeParams = makeDecoder(description.params, undefined, parameterIssues)
    const decodeHeaders = makeDecoder(description.headers, undefined, headerIssues)
    const query = description.query && Schema.toCodecArrayFromSingle(description.query)
    const decodeQuery = makeDecoder(query, description.queryParseOptions, parameterIssues)
    const decodePayload = makeDecoder(getPayloadSchema(description), description.payloadParseOptions, bodyIssues)
    const encodeResult = makeResultEncoder(description, locations[description.id])

    const decodeRequest = Effect.fnUntraced(function* ({ headers }: TransportRequest, match: RouteMatch) {
      const request: Record<string, unknown> = {}
      if (decodeParams !== undefined) request["params"] = yield* decodeParams(match.params)
      if (decodeHeaders !== undefined) request["headers"] = yield* decodeHeaders(headers)
      if (decodeQuery !== undefined) request["query"] = yield* decodeQuery(match.query)
      if (decodePayload !== undefined) {
        request["payload"] = yield* decodePayload((yield* (yield* RequestContext).body).value)
      }
      return request as AnyRequest
    })

    if (!description.isAuthenticated) {
      return (transportRequest, match) =>
        Effect.flatMap(decodeRequest(transportRequest, match), (request) =>
          Effect.flatMap(operation(request), (result) => encodeResult(result, request))
        )
    }

    const handle = Effect.fnUntraced(function* (transportRequest: TransportRequest, match: RouteMatch) {
      const decoded = yield* decodeRequest(transportRequest, match)
      const principal = yield* Principal
      yield* checkCanSeeKeyValues(principal, decoded)
      const request = yield* checkOwner(owners, description, toCallerScope(principal), decoded)
      const { idempotencyKey } = (request.headers ?? {}) as { readonly idempotencyKey?: string }
      return yield* encodeResult(yield* runIdempotent(idempotencyKey, operation(request)), request)
    })

    return (request, match) => {
      if (isCrossSite(request)) return rejectCrossSite
      const authorized = authorizeCaller(description, authenticate(request), match.params["accountName"])
      return Effect.flatMap(authorized, (principal) =>
        handle(request, match).pipe(
          Effect.provideService(Principal, principal),
          Effect.provideService(CurrentActor, { type: "token", id: principal.id })
        )
      )
    }
  }

  return descriptions.map((description) => [description.method, description.path, buildRoute(description)] as const)
})
