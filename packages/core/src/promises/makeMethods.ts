/**
 * Makes the promise API of operations from their descriptions. Input is plain JSON, with a `Date` for a timestamp if
 * the caller likes, and is validated as it is over HTTP; output is plain JSON. Path parameters that the handle does not
 * know are arguments; the body and the options follow.
 */
import { type Context, Effect, Schema } from "effect"
import type { OperationDescription } from "../api/describeOperations.ts"
import type { PageJson, PagePromise } from "../api/Methods.ts"
import { getInProcessFields } from "../api/parameters.ts"
import { rejectUnknown } from "../api/rejectUnknown.ts"
import type { WithRateLimits } from "../api/withRateLimits.ts"
import type { AnyRequest, CallerScope } from "../operations/checkOwner.ts"
import { CurrentActor } from "../outbox/CurrentActor.ts"
import { clonePlain } from "../runtime/deepFreeze.ts"
import { decodeParts, makeDecoder } from "../schema/decodeInput.ts"
import { invalidParameter } from "../schema/InvalidInput.ts"
import { findUnsafeJson } from "../schema/SafeJson.ts"
import { skipChecks } from "../schema/skipChecks.ts"
import { hasAtMost } from "../schema/Text.ts"
import type { Entry } from "../store/Collection.ts"
import { copyBody, copyOptions, findTimestamps, isOpaque } from "./copyInput.ts"
import { parsePathSegment } from "./pathSegment.ts"
import { captureCaller, run, withCallerStack } from "./run.ts"

/** Calls an operation: a service in process, or the HTTP API of another process. */
export interface CallOperation {
  (description: OperationDescription, scope: CallerScope, request: AnyRequest): Effect.Effect<unknown, unknown>
  /** The context to run in. It depends on where the method is called. */
  readonly enter?: () => Context.Context<never>
}

type Fields = Readonly<Record<string, unknown>>

const isPlainObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)

const pick = (values: Fields, names: ReadonlyArray<string>): Fields =>
  Object.fromEntries(names.flatMap((name) => (Object.hasOwn(values, name) ? [[name, values[name]]] : [])))

interface ParsedOptions {
  readonly signal: AbortSignal | undefined
  /** The parameters of the operation. */
  readonly values: Fields
}

/** Splits the options of a call into its signal and the parameters of the operation. */
export const parseOptions = (options: unknown = {}): ParsedOptions => {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw invalidParameter("options", "must be an object")
  }
  const { signal, ...values } = options as { readonly signal?: unknown }
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw invalidParameter("signal", "must be an AbortSignal")
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  for (const [name, value] of entries) {
    // As `ifTags`, it would be a condition that always holds.
    if (isPlainObject(value) && isOpaque(value)) throw invalidParameter(name, "must be a plain object")
  }
  const copies = entries.map(([name, value]) => [name, isPlainObject(value) ? { ...value } : value])
  return { signal, values: Object.fromEntries(copies) }
}

const maxActorLength = 256

interface ParsedWriteOptions extends ParsedOptions {
  readonly actor: string | undefined
}

/**
 * Splits the options of a call that changes something: only those calls have an actor. `actorProblem` says why the actor
 * cannot be given, if it cannot.
 */
export const parseWriteOptions = (options: unknown, actorProblem: string | undefined): ParsedWriteOptions => {
  const { signal, values } = parseOptions(options)
  const { actor, ...rest } = values
  if (actor === undefined) return { signal, actor, values: rest }
  if (actorProblem !== undefined) throw invalidParameter("actor", actorProblem)
  if (typeof actor !== "string" || actor === "" || !hasAtMost(maxActorLength, actor) || !actor.isWellFormed()) {
    throw invalidParameter("actor", `must be a string of 1 to ${maxActorLength} characters`)
  }
  return { signal, actor, values: rest }
}

/** The decoders and the encoder of an operation. They are built on its first call, because few programs call all. */
const makeCodecs = (description: OperationDescription) => {
  const { params, query, headers, payload, response } = description
  const [queryFields, headerFields] = [getInProcessFields(query), getInProcessFields(headers)]
  const optionsSchema = Schema.Struct({ ...queryFields, ...headerFields }) as unknown as Schema.Codec<Fields>
  const decodeOptions = makeDecoder(optionsSchema, "parameters", rejectUnknown)
  const headDecoders = [
    ...(params === undefined ? [] : [["params", makeDecoder(params as Schema.Codec<unknown>, "parameters")] as const]),
    ["options", decodeOptions] as const
  ]
  const body = payload === "stream" ? undefined : payload
  const decodePayload = body && makeDecoder(body as Schema.Codec<unknown>, "body", rejectUnknown)
  const optionTimestamps = findTimestamps(optionsSchema.ast)
  const bodyTimestamps = body === undefined ? [] : findTimestamps(body.ast)
  const encode = Schema.encodeUnknownSync(response.body, skipChecks)

  const decodeRequest = Effect.fnUntraced(function* (pathParams: Fields, input: unknown, options: Fields) {
    const head = yield* decodeParts(headDecoders, {
      params: pathParams,
      options: copyOptions(options, optionTimestamps)
    })
    const parameters = head.options as Fields
    const request: Record<string, unknown> = params === undefined ? {} : { params: head.params }
    if (query !== undefined) request["query"] = pick(parameters, Object.keys(queryFields))
    if (headers !== undefined) request["headers"] = pick(parameters, Object.keys(headerFields))
    if (decodePayload !== undefined) {
      const unsafe = findUnsafeJson(input)
      if (unsafe !== undefined) return yield* unsafe
      request["payload"] = yield* decodePayload(copyBody(input, bodyTimestamps))
    }
    return request as AnyRequest
  })

  /** Copies the result, because services may share frozen or cached data among callers. */
  const encodeResult = (result: unknown): unknown => {
    if (response.kind === "empty") return undefined
    if (response.kind === "with-rate-limits") return clonePlain(encode((result as WithRateLimits<unknown>).value))
    if (response.kind !== "versioned") return clonePlain(encode(result))
    const { value, version } = result as Entry<unknown>
    return { ...(clonePlain(encode(value)) as object), version }
  }

  return { decodeRequest, encodeResult }
}

const codecs = new WeakMap<OperationDescription, ReturnType<typeof makeCodecs>>()

const getCodecs = (description: OperationDescription) => {
  const cached = codecs.get(description) ?? makeCodecs(description)
  codecs.set(description, cached)
  return cached
}

/** Adds an iterator over the items of all pages to the promise of a page. */
const toPagePromise = <Item>(
  firstPage: Promise<PageJson<Item>>,
  getPage: (after: string) => Promise<PageJson<Item>>
): PagePromise<Item> =>
  Object.assign(firstPage, {
    async *[Symbol.asyncIterator]() {
      for (let page = await firstPage; ; page = await getPage(page.next)) {
        yield* page.data
        if (page.next === undefined) return
      }
    }
  })

/** Makes one method. `scope` holds the path parameters that its handle knows. */
const makeMethod = (
  description: OperationDescription,
  call: CallOperation,
  scope: CallerScope & Fields,
  actorProblem: string | undefined
) => {
  const { path, payload, owner, name, isPaged, isReadOnly } = description
  const openParams = [...path.matchAll(/:(\w+)/g)].flatMap(([, param = ""]) => (param in scope ? [] : [param]))
  const hasPayload = payload !== undefined
  /** The names of the handle that the request carries in its body or query instead of its path. */
  const namesInRequest = owner === "request" ? pick(scope, ["accountName", "projectName"]) : {}

  /** Reads the arguments once: the caller may change them afterwards. */
  const prepare = (args: ReadonlyArray<unknown>) => {
    const pathParams = {
      ...scope,
      ...Object.fromEntries(openParams.map((param, index) => [param, parsePathSegment(param, args[index])]))
    }
    const rest = args.slice(openParams.length)
    const [argument, options] = hasPayload ? rest : [undefined, rest[0]]
    const body = argument === undefined && name === "create" ? {} : argument
    const input = isPlainObject(body) && !isOpaque(body) ? { ...body, ...namesInRequest } : body
    const { signal, actor, values } = isReadOnly
      ? { actor: undefined, ...parseOptions(options) }
      : parseWriteOptions(options, actorProblem)
    return { pathParams, input, signal, actor, parameters: { ...values, ...(hasPayload ? {} : namesInRequest) } }
  }

  const start = ({ pathParams, input, signal, actor, parameters }: ReturnType<typeof prepare>): Promise<unknown> => {
    const { decodeRequest, encodeResult } = getCodecs(description)
    const operation = Effect.flatMap(decodeRequest(pathParams, input, parameters), (request) =>
      Effect.map(call(description, scope, request), encodeResult)
    )
    return run(
      actor === undefined ? operation : Effect.provideService(operation, CurrentActor, { type: "host", id: actor }),
      signal,
      call.enter?.()
    )
  }

  const method = (...args: ReadonlyArray<unknown>): Promise<unknown> => {
    const caller = captureCaller(method)
    const prepared = (async () => prepare(args))()
    const result = withCallerStack(prepared.then(start), caller)
    if (!isPaged) return result
    const getPage = (after: string) =>
      withCallerStack(
        prepared.then((call) => start({ ...call, parameters: { ...call.parameters, offset: 0, after } })),
        caller
      )
    return toPagePromise(result as Promise<PageJson<unknown>>, getPage as (after: string) => Promise<PageJson<unknown>>)
  }
  return method
}

/** Makes the methods of a group for one handle. */
export const makeMethods = <Methods>(
  descriptions: ReadonlyArray<OperationDescription>,
  group: string,
  call: CallOperation,
  scope: CallerScope & Fields,
  actorProblem?: string
): Methods => {
  const methods = descriptions.filter((description) => description.group === group)
  return Object.fromEntries(
    methods.map((description) => [description.name, makeMethod(description, call, scope, actorProblem)])
  ) as Methods
}
