/**
 * Builds one route per operation at startup: it authorizes the caller, decodes the request with the declared schemas,
 * calls the operation and encodes its result.
 */

import {
  type Decode,
  decodeParts,
  deepFreeze,
  type Entry,
  type InvalidInput,
  makeDecoder,
  omitUndefined,
  skipChecks,
  type TransportRequest,
  type TransportResponse,
  UnsupportedMediaType,
  WorkOwner
} from "@tollgate/store/internal"
import { Context, Effect, Exit, Schema } from "effect"
import { Forbidden } from "../access/AccessError.ts"
import { Authenticator } from "../access/Authenticator.ts"
import { type CallerShape, Principal } from "../access/Principal.ts"
import type { AnyRequest } from "../api/AnyRequest.ts"
import { prefersType } from "../api/accept.ts"
import { checkOwner, type Owners, readScopeHeaders } from "../api/checkOwner.ts"
import type { OperationDescription, ResponseDescription } from "../api/describeOperations.ts"
import { csvType } from "../api/withCsv.ts"
import type { EventStreamShape } from "../api/withEventStream.ts"
import { linesType } from "../api/withLines.ts"
import type { WithRateLimits } from "../api/withRateLimits.ts"
import { CurrentActor } from "../outbox/CurrentActor.ts"
import { formatRateLimitHeaders } from "../rateLimits/rateLimitHeaders.ts"
import { checkRequest, findRefusal, toCallerScope } from "./authorizeCaller.ts"
import { type BodyError, shortBodyBytes } from "./body.ts"
import { isCrossSite } from "./crossSite.ts"
import { encodePage, isPage, type Page } from "./encodePage.ts"
import { makeEventStreams } from "./eventStreams.ts"
import { makeRunIdempotent } from "./idempotency.ts"
import { bodyLanes, listLanes, makeLanes } from "./lanes.ts"
import { RequestContext } from "./RequestContext.ts"
import { streamLines } from "./streamLines.ts"

/** The path parameters and the query, as the router parsed them. */
export interface RouteMatch {
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

/** The declarations of operations do not tell the types of their schemas. */
const toCodec = (schema: Schema.Top) => schema as Schema.Codec<unknown>

/** Decodes an empty query once, as most requests have none. Its value is frozen, because requests share it. */
const makeQueryDecoder = ({ query, queryParseOptions }: OperationDescription): Decode | undefined => {
  if (query === undefined) return undefined
  const decode = makeDecoder(toCodec(Schema.toCodecArrayFromSingle(query)), "parameters", queryParseOptions)
  let decodedEmpty: ReturnType<Decode> | undefined
  return (input) => {
    for (const _ in input as object) return decode(input)
    decodedEmpty ??= Exit.map(decode(input), deepFreeze)
    return decodedEmpty
  }
}

/** Whether a `Content-Type` names a media type, with whatever parameters. */
const isOfType = (contentType: string | undefined, mediaType: string): boolean =>
  contentType?.split(";", 1)[0]?.trim().toLowerCase() === mediaType

type PartName = "params" | "query" | "headers"

/** Makes a decoder of all parts of a request that the operation declares, except its body. */
const makeHeadDecoder = (description: OperationDescription) => {
  const { params, headers } = description
  const decoders: Readonly<Record<PartName, Decode | undefined>> = {
    params: params && makeDecoder(toCodec(params), "parameters"),
    query: makeQueryDecoder(description),
    headers: headers && makeDecoder(toCodec(headers), "headers")
  }
  const declared = Object.entries(decoders).filter((entry): entry is [PartName, Decode] => entry[1] !== undefined)
  return (parts: Readonly<Record<PartName, unknown>>) =>
    decodeParts(declared, parts) as Exit.Exit<AnyRequest, InvalidInput>
}

/** Schema for `{}` only: an empty `Struct` would accept any object. */
const EmptyObject = Schema.Record(Schema.String, Schema.Never)

/** The schema of a JSON body. POST endpoints without a payload schema accept only an empty object. */
const getPayloadSchema = ({ payload, method }: OperationDescription): Schema.Top | undefined =>
  payload === "stream" ? undefined : (payload ?? (method === "POST" ? EmptyObject : undefined))

type Headers = Readonly<Record<string, string>>

/** Encodes what an operation returns, or a part of a page. */
const makeEncode = ({ body }: ResponseDescription) => {
  const encode = Schema.encodeUnknownExit(body, skipChecks)
  return (value: unknown) => Exit.mapError(encode(value), () => new ResponseEncodingError())
}

/** Encodes a body: pages in chunks, text as it is, everything else as JSON. */
const makeBodyEncoder = (response: ResponseDescription) => {
  const { status, contentType } = response
  const encode = makeEncode(response)
  const isJson = contentType === "application/json"
  return (value: unknown, headers: Headers): Effect.Effect<TransportResponse, ResponseEncodingError> => {
    const toResponse = (body: TransportResponse["body"]): TransportResponse => ({
      status,
      headers: { "content-type": contentType, ...headers },
      body
    })
    if (isPage(value)) return Effect.map(encodePage(value, encode), toResponse)
    return Exit.map(encode(value), (encoded) => toResponse(isJson ? JSON.stringify(encoded) : String(encoded)))
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

const makeResultEncoder = ({ id, response }: OperationDescription, locate: Locate | undefined): EncodeResult => {
  const encodeBody = makeBodyEncoder(response)
  const { kind, status, toCsv } = response
  if (kind === "empty") return () => Effect.succeed({ status, headers: {}, body: undefined })
  if (kind === "plain" && toCsv !== undefined) {
    return (result) =>
      Effect.flatMap(RequestContext, ({ request }) =>
        prefersType("text/csv", request.headers["accept"])
          ? Effect.succeed({ status, headers: { "content-type": csvType, vary: "Accept" }, body: toCsv(result) })
          : encodeBody(result, { vary: "Accept" })
      )
  }
  if (kind === "plain") return (result) => encodeBody(result, response.hasLines ? { vary: "Accept" } : {})
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

/** Customers in their portal cannot take the turns of the account that they belong to. */
const toWorkOwner = ({ account, id, portal }: CallerShape): string => {
  if (portal !== undefined) return `${account}/portal`
  return account === "*" ? id : account
}

const withPrincipal =
  (principal: CallerShape) =>
  (context: Context.Context<RequestContext>): Context.Context<RequestContext | Principal> =>
    context.pipe(
      Context.add(Principal, principal),
      Context.add(CurrentActor, omitUndefined({ type: "token" as const, id: principal.id, name: principal.name })),
      Context.add(WorkOwner, toWorkOwner(principal))
    )

const rejectCrossSite = Effect.fail(
  new Forbidden({
    detail: "Cross-site requests are refused. Send the credential in the Authorization header instead of a cookie."
  })
)

/** What a body counts that does not say how long it is, which most of HTTP/2 do not. */
const unknownBytes = 256 * 1024

const getBodyBytes = (headers: TransportRequest["headers"], limit = Number.POSITIVE_INFINITY): number => {
  const length = Number(headers["content-length"])
  return Math.min(length >= 0 ? length : unknownBytes, limit)
}

/** Items of a list that is streamed, read at a time. */
const linesAtATime = 100

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
  const listInTurn = makeLanes(listLanes)
  const readInTurn = makeLanes(bodyLanes)
  const streamEvents = makeEventStreams()

  const buildRoute = (description: OperationDescription): RouteHandler => {
    const operation = getOperation(description)
    if (operation === undefined) throw new Error(`The endpoint ${description.id} has no implementation`)
    const decodeHead = makeHeadDecoder(description)
    const payloadSchema = getPayloadSchema(description)
    const decodePayload = payloadSchema && makeDecoder(toCodec(payloadSchema), "body", description.payloadParseOptions)
    const encodeResult = makeResultEncoder(description, locations[description.id])
    /** Pages, series of usage and searches: what may be large, or take long. */
    const isList = description.isPaged || description.readsMuch || description.response.toCsv !== undefined

    const decodeRequest = (
      { headers }: TransportRequest,
      { params, query }: RouteMatch
    ): Effect.Effect<AnyRequest, InvalidInput | UnsupportedMediaType | BodyError, RequestContext> => {
      const head = decodeHead({ params, headers, query })
      if (decodePayload === undefined || Exit.isFailure(head)) return head
      const { mediaType } = description
      if (mediaType !== undefined && !isOfType(headers["content-type"], mediaType)) {
        return Effect.fail(new UnsupportedMediaType({ mediaType }))
      }
      return Effect.flatMap(RequestContext, ({ readBody }) =>
        Effect.flatMap(readBody(description.bodyLimit), ({ value }) =>
          Exit.map(decodePayload(value), (payload) => ({ ...head.value, payload }))
        )
      )
    }

    if (!description.isAuthenticated) {
      return (transportRequest, match) =>
        Effect.flatMap(decodeRequest(transportRequest, match), (request) =>
          Effect.flatMap(operation(request), (result) => encodeResult(result, request))
        )
    }

    /** Checks whether the caller may send a request. */
    const admit = Effect.fnUntraced(function* (
      principal: CallerShape,
      { headers }: TransportRequest,
      decoded: AnyRequest
    ) {
      yield* checkRequest(description, principal, decoded)
      return yield* checkOwner(owners, description, toCallerScope(principal), decoded, readScopeHeaders(headers))
    })

    const handle = Effect.fnUntraced(function* (
      principal: CallerShape,
      transportRequest: TransportRequest,
      match: RouteMatch
    ) {
      const decoded = yield* decodeRequest(transportRequest, match)
      const request = yield* admit(principal, transportRequest, decoded)
      const { idempotencyKey } = (request.headers ?? {}) as { readonly idempotencyKey?: string }
      return yield* encodeResult(yield* runIdempotent(idempotencyKey, operation(request)), request)
    })

    const { eventStream, hasLines, toCsv } = description.response
    const encodePart = makeEncode(description.response)

    /** Authenticates a caller again whose response goes on. */
    const authenticateAgain = (transportRequest: TransportRequest, { params }: RouteMatch) =>
      Effect.flatMap(authenticate(transportRequest), (principal) => {
        const refusal = findRefusal(description, principal, params)
        return refusal === undefined ? Effect.succeed(principal) : Effect.fail(refusal)
      })

    /** Streams all items of a list. */
    const handleLines = (
      principal: CallerShape,
      transportRequest: TransportRequest,
      match: RouteMatch,
      isCsv: boolean
    ) =>
      streamLines({
        principal,
        toCsv: isCsv ? toCsv : undefined,
        authorize: authenticateAgain(transportRequest, match),
        read: (principal, after) =>
          Effect.gen(function* () {
            const { offset: _, ...query } = match.query
            const page = after === undefined ? match : { ...match, query: { ...query, after } }
            const decoded = yield* decodeRequest(transportRequest, page)
            const request = yield* admit(principal, transportRequest, decoded)
            const result = yield* operation({ ...request, query: { ...request.query, limit: linesAtATime } })
            return result as Page
          }).pipe(Effect.updateContext(withPrincipal(principal))),
        encode: encodePart
      })

    /** Streams what the operation returns, again and again, for as long as the caller may call it. */
    const handleStream = Effect.fnUntraced(function* (
      shape: EventStreamShape<unknown>,
      principal: CallerShape,
      transportRequest: TransportRequest,
      match: RouteMatch
    ) {
      const decoded = yield* decodeRequest(transportRequest, match)
      const { after } = (decoded.headers ?? {}) as { readonly after?: string }
      return yield* streamEvents({
        shape,
        owner: match.params["accountName"] ?? (yield* WorkOwner),
        after,
        principal,
        authorize: authenticateAgain(transportRequest, match),
        read: (principal, after) =>
          Effect.gen(function* () {
            const request = yield* admit(principal, transportRequest, decoded)
            return yield* operation({ ...request, headers: omitUndefined({ after }) })
          }).pipe(Effect.updateContext(withPrincipal(principal)))
      })
    })

    const inTurn = <E, R>(response: Effect.Effect<TransportResponse, E, R>, { headers }: TransportRequest) => {
      if (isList) return listInTurn(response)
      const bytes = decodePayload === undefined ? 0 : getBodyBytes(headers, description.bodyLimit)
      return bytes <= shortBodyBytes ? response : readInTurn(response, bytes)
    }

    return (request, match) => {
      if (isCrossSite(request)) return rejectCrossSite
      return Effect.flatMap(authenticate(request), (principal) => {
        const refusal = findRefusal(description, principal, match.params)
        if (refusal !== undefined) return Effect.fail(refusal)
        const { accept } = request.headers
        const isCsv = toCsv !== undefined && prefersType("text/csv", accept)
        const response =
          eventStream !== undefined && prefersType("text/event-stream", accept)
            ? handleStream(eventStream, principal, request, match)
            : hasLines && (prefersType(linesType, accept) || isCsv)
              ? handleLines(principal, request, match, isCsv)
              : handle(principal, request, match)
        return Effect.updateContext(inTurn(response, request), withPrincipal(principal))
      })
    }
  }

  return descriptions.map((description) => [description.method, description.path, buildRoute(description)] as const)
})
