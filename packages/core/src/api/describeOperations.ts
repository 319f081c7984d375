/**
 * Reads the declared endpoints once, for HTTP, promises, the client and the OpenAPI description. Throws if an endpoint
 * declares what these do not support, or has no owner or permission: otherwise it would be ignored silently.
 */
import { Context, Exit, Schema, SchemaAST } from "effect"
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Authenticated } from "./Authenticated.ts"
import {
  Area,
  BodyLimit,
  FurtherPermissions,
  IsReadOnly,
  NarrowPermissions,
  NeedsNoPermission,
  OptionalPermissions,
  Owner,
  type OwnerKind,
  PathParameters,
  Permission,
  type PermissionsByRequest,
  Portal,
  ReadsMuch
} from "./Owner.ts"
import { getInProcessFields, getParameterDocs } from "./parameters.ts"
import { getToCsv } from "./withCsv.ts"
import { type EventStreamShape, getEventStream } from "./withEventStream.ts"
import { hasLines } from "./withLines.ts"
import { withRateLimitsAnnotation } from "./withRateLimits.ts"

const jsonType = "application/json"

/**
 * A successful response. `empty` has no body; `versioned` has an ETag; `with-rate-limits` has `RateLimit` headers; `located` has a
 * Location and maybe a body.
 */
export interface ResponseDescription {
  readonly kind: "empty" | "plain" | "versioned" | "with-rate-limits" | "located"
  readonly status: number
  /** The codec of the body. */
  readonly body: Schema.Codec<unknown, unknown>
  readonly contentType: string
  /** Writes the result as CSV, for clients that prefer it. */
  readonly toCsv?: ((result: unknown) => string) | undefined
  /** How the result is streamed as events, for clients that prefer that. */
  readonly eventStream?: EventStreamShape<unknown> | undefined
  /** Whether clients can get all items of the list as lines. */
  readonly hasLines?: boolean
}

export interface OperationDescription {
  /** The group and the name of the operation, such as `consumers.create`. */
  readonly id: string
  readonly group: string
  readonly name: string
  readonly method: string
  readonly path: string
  readonly owner: OwnerKind
  /** Whether the endpoint requires a credential. */
  readonly isAuthenticated: boolean
  /** What a credential needs; `undefined` if any will do, or none is needed. */
  readonly permission: string | undefined
  /** What some requests need beside it. */
  readonly furtherPermissions: PermissionsByRequest
  /** What is enough instead of it, for some requests. */
  readonly narrowPermissions: PermissionsByRequest
  /** Those with which it tells more. */
  readonly optionalPermissions: ReadonlyArray<string>
  /** What a customer in its portal needs one of; `undefined` if the operation is not for customers. */
  readonly portal: ReadonlyArray<string> | undefined
  /** Whether it changes nothing. */
  readonly isReadOnly: boolean
  /** Whether it accepts an Idempotency-Key. */
  readonly isIdempotent: boolean
  /** Whether it accepts `tag.*` parameters. */
  readonly takesTags: boolean
  /** Whether it returns one page of a list, from an offset. */
  readonly isPaged: boolean
  /** Whether it reads as much as a list. */
  readonly readsMuch: boolean
  /** Maximum bytes of the body, if it is less than that of the server. */
  readonly bodyLimit: number | undefined
  /** Whether the body may be omitted, because all its fields are optional. */
  readonly isBodyOptional: boolean
  /** The documentation of query parameters and headers, by wire name. */
  readonly parameterDocs: Readonly<Record<string, object>>
  /** What the parameters in its path are, if their names do not say it. */
  readonly pathParameters: Readonly<Record<string, string>>
  readonly params: Schema.Top | undefined
  readonly query: Schema.Top | undefined
  readonly headers: Schema.Top | undefined
  /** The schema of the JSON body; `stream` if the operation reads the body as a stream. */
  readonly payload: Schema.Top | "stream" | undefined
  /** The media type that the body must have, if not any does. */
  readonly mediaType: string | undefined
  readonly queryParseOptions: SchemaAST.ParseOptions | undefined
  readonly payloadParseOptions: SchemaAST.ParseOptions | undefined
  readonly response: ResponseDescription
  readonly errors: ReadonlyArray<Schema.Top>
}

/** JSON is read whatever its media type is, unless the endpoint declares another. */
const describeMediaType = ({ payload }: HttpApiEndpoint.Top): string | undefined => {
  const [{ encoding } = {}] = payload.values()
  return encoding?._tag === "Json" && encoding.contentType !== jsonType ? encoding.contentType : undefined
}

const describePayload = ({ payload }: HttpApiEndpoint.Top): OperationDescription["payload"] => {
  const [first, ...rest] = [...payload.values()]
  if (first === undefined) return undefined
  const [schema, ...alternatives] = first.schemas
  if (rest.length > 0 || alternatives.length > 0) throw new Error("several payloads are not supported; use a union")
  if (first.encoding._tag === "Stream") return "stream"
  if (first.encoding._tag !== "Json") throw new Error(`payloads in ${first.encoding._tag} are not supported`)
  return schema
}

/** The annotation that `withVersion` and `withRateLimits` add to a schema. */
const getWithHeaders = SchemaAST.resolveAt<{ readonly bodyCodec: Schema.Top }>("~httpApiWithHeaders")

const hasRateLimits = SchemaAST.resolveAt<boolean>(withRateLimitsAnnotation)

/** The schema of a response body, without the headers that are declared with it. */
export const getBody = (schema: Schema.Top): Schema.Top =>
  getWithHeaders(schema.ast)?.bodyCodec ?? (HttpApiSchema.isWithHeaders(schema) ? schema.schema : schema)

type Successes = ReadonlyMap<number, readonly [Schema.Top, ...Array<Schema.Top>]>

const describeResponse = (successes: Successes): ResponseDescription => {
  const declared = [...successes].flatMap(([status, schemas]) =>
    schemas.map((schema) => {
      const body = getBody(schema)
      const isEmpty = HttpApiSchema.isNoContent(body.ast)
      const kindWithHeaders = hasRateLimits(schema.ast) === true ? "with-rate-limits" : "versioned"
      const hasLocation = HttpApiSchema.isWithHeaders(schema)
      const kind = getWithHeaders(schema.ast) !== undefined ? kindWithHeaders : hasLocation ? "located" : "plain"
      const encoding = SchemaAST.resolveAt<HttpApiSchema.ResponseEncoding>("~httpApiEncoding")(body.ast)
      if (encoding !== undefined && encoding._tag !== "Json" && encoding._tag !== "Text") {
        throw new Error(`responses in ${encoding._tag} are not supported`)
      }
      const contentType = encoding?.contentType ?? jsonType
      return {
        kind,
        isEmpty,
        status,
        body: body as Schema.Codec<unknown, unknown>,
        contentType,
        toCsv: getToCsv(body),
        eventStream: getEventStream(body),
        hasLines: hasLines(body)
      } as const
    })
  )
  const [response, ...alternatives] = declared.filter(({ isEmpty }) => !isEmpty)
  const [empty, ...otherEmpty] = declared.filter(({ isEmpty }) => isEmpty)
  const isLocated = response?.kind === "located" && empty?.kind === "located"
  const isSupported = isLocated || response === undefined || (empty === undefined && response.kind !== "located")
  if (!isSupported || alternatives.length > 0 || otherEmpty.length > 0) {
    throw new Error("these success responses are not supported: declare one, or a located one with and without a body")
  }
  if (response !== undefined) return response
  return { kind: "empty", status: empty?.status ?? 204, body: Schema.Unknown, contentType: "" }
}

const describePermission = (annotations: Context.Context<never>, isReadOnly: boolean): string => {
  const area = Context.get(annotations, Area)
  const permission = Context.get(annotations, Permission) ?? (area && `${area}:${isReadOnly ? "read" : "write"}`)
  if (permission === undefined) throw new Error("it needs no permission: annotate its group with Area")
  return permission
}

const describe = (
  group: HttpApiGroup.Top,
  endpoint: HttpApiEndpoint.Top,
  annotations: Context.Context<never>,
  successes: Successes,
  errors: Successes
): OperationDescription => {
  const owner = Context.getOrUndefined(annotations, Owner)
  if (owner === undefined) throw new Error("it has no owner: annotate it with Owner")
  const middlewares: ReadonlyArray<unknown> = [...endpoint.middlewares]
  const isAuthenticated = middlewares.includes(Authenticated)
  if (middlewares.length > (isAuthenticated ? 1 : 0)) throw new Error("its middleware is not supported")
  if (!isAuthenticated && owner !== "none") throw new Error("only endpoints without an owner may be public")
  const isReadOnly = endpoint.method === "GET" || Context.get(annotations, IsReadOnly)
  const payload = describePayload(endpoint)
  const needsPermission = isAuthenticated && owner !== "caller" && !Context.get(annotations, NeedsNoPermission)
  const headerNames = Object.keys(getInProcessFields(endpoint.headers))
  const queryNames = Object.keys(getInProcessFields(endpoint.query))
  return {
    id: `${group.identifier}.${endpoint.identifier}`,
    group: group.identifier,
    name: endpoint.identifier,
    method: endpoint.method,
    path: endpoint.path,
    owner,
    isAuthenticated,
    permission: needsPermission ? describePermission(annotations, isReadOnly) : undefined,
    furtherPermissions: Context.get(annotations, FurtherPermissions),
    narrowPermissions: Context.get(annotations, NarrowPermissions),
    optionalPermissions: Context.get(annotations, OptionalPermissions),
    portal: Context.get(annotations, Portal),
    isReadOnly,
    isIdempotent: headerNames.includes("idempotencyKey"),
    takesTags: queryNames.includes("tags") || queryNames.includes("ifTags"),
    isPaged: queryNames.includes("offset"),
    readsMuch: Context.get(annotations, ReadsMuch),
    bodyLimit: Context.get(annotations, BodyLimit),
    isBodyOptional:
      payload !== undefined &&
      payload !== "stream" &&
      Exit.isSuccess(Schema.decodeUnknownExit(payload as Schema.Codec<unknown>)({})),
    parameterDocs: {
      ...(endpoint.query === undefined ? {} : getParameterDocs(endpoint.query)),
      ...(endpoint.headers === undefined ? {} : getParameterDocs(endpoint.headers))
    },
    pathParameters: Context.get(annotations, PathParameters),
    params: endpoint.params,
    query: endpoint.query,
    headers: endpoint.headers,
    payload,
    mediaType: describeMediaType(endpoint),
    queryParseOptions: Context.getOrUndefined(annotations, HttpApi.QueryParseOptions),
    payloadParseOptions: Context.getOrUndefined(annotations, HttpApi.PayloadParseOptions),
    response: describeResponse(successes),
    errors: [...errors.values()].flat()
  }
}

/** Describes every endpoint of an API, in the order of declaration. */
export const describeOperations = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<OperationDescription> => {
  const descriptions: Array<OperationDescription> = []
  HttpApi.reflect(api, {
    onGroup: () => undefined,
    onEndpoint: ({ group, endpoint, mergedAnnotations, successes, errors }) => {
      try {
        descriptions.push(describe(group, endpoint, mergedAnnotations, successes, errors))
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        throw new Error(`The endpoint ${group.identifier}.${endpoint.identifier} cannot be served: ${reason}`)
      }
    }
  })
  return descriptions
}
