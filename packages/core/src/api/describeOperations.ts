/**
 * Reads the declared endpoints once, for HTTP, promises, the client and the OpenAPI description. Throws if an endpoint
 * declares what these do not support, or has no owner: otherwise it would be ignored silently.
 */
import { Context, Exit, Schema, SchemaAST } from "effect"
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Authenticated } from "./Authenticated.ts"
import { BodyLimit, IsReadOnly, Owner, type OwnerKind } from "./Owner.ts"
import { getInProcessFields, getParameterDocs } from "./parameters.ts"
import { getToCsv } from "./withCsv.ts"
import { withRateLimitsAnnotation } from "./withRateLimits.ts"

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
  /** Whether a read-only credential suffices. */
  readonly isReadOnly: boolean
  /** Whether it accepts an Idempotency-Key. */
  readonly isIdempotent: boolean
  /** Whether it accepts `tag.*` parameters. */
  readonly takesTags: boolean
  /** Whether it returns one page of a list, from an offset. */
  readonly isPaged: boolean
  /** Maximum bytes of the body, if it is less than that of the server. */
  readonly bodyLimit: number | undefined
  /** Whether the body may be omitted, because all its fields are optional. */
  readonly isBodyOptional: boolean
  /** The documentation of query parameters and headers, by wire name. */
  readonly parameterDocs: Readonly<Record<string, object>>
  readonly params: Schema.Top | undefined
  readonly query: Schema.Top | undefined
  readonly headers: Schema.Top | undefined
  /** The schema of the JSON body; `stream` if the operation reads the body as a stream. */
  readonly payload: Schema.Top | "stream" | undefined
  readonly queryParseOptions: SchemaAST.ParseOptions | undefined
  readonly payloadParseOptions: SchemaAST.ParseOptions | undefined
  readonly response: ResponseDescription
  readonly errors: ReadonlyArray<Schema.Top>
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
      const contentType = encoding?.contentType ?? "application/json"
      return {
        kind,
        isEmpty,
        status,
        body: body as Schema.Codec<unknown, unknown>,
        contentType,
        toCsv: getToCsv(body)
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
  const payload = describePayload(endpoint)
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
    isReadOnly: endpoint.method === "GET" || Context.get(annotations, IsReadOnly),
    isIdempotent: headerNames.includes("idempotencyKey"),
    takesTags: queryNames.includes("tags") || queryNames.includes("ifTags"),
    isPaged: queryNames.includes("offset"),
    bodyLimit: Context.get(annotations, BodyLimit),
    isBodyOptional:
      payload !== undefined &&
      payload !== "stream" &&
      Exit.isSuccess(Schema.decodeUnknownExit(payload as Schema.Codec<unknown>)({})),
    parameterDocs: {
      ...(endpoint.query === undefined ? {} : getParameterDocs(endpoint.query)),
      ...(endpoint.headers === undefined ? {} : getParameterDocs(endpoint.headers))
    },
    params: endpoint.params,
    query: endpoint.query,
    headers: endpoint.headers,
    payload,
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
