/**
 * Makes the promise API of operations from their descriptions. Input is plain JSON, with a `Date` for a timestamp if
 * the caller likes, and is validated as it is over HTTP; output is plain JSON. Path parameters that the handle does not
 * know are arguments; the body and the options follow.
 */

import {
  captureCaller,
  clonePlain,
  decodeParts,
  type Entry,
  findUnsafeJson,
  hasAtMost,
  invalidParameter,
  makeDecoder,
  run,
  skipChecks,
  withCallerStack
} from "@tollgate/store/internal"
import { type Context, Effect, Schema } from "effect"
import type { AnyRequest } from "../api/AnyRequest.ts"
import type { CallerScope } from "../api/checkOwner.ts"
import type { OperationDescription } from "../api/describeOperations.ts"
import type { PageJson, PagePromise } from "../api/Methods.ts"
import { getInProcessFields } from "../api/parameters.ts"
import { rejectUnknown } from "../api/unknownFields.ts"
import type { WithRateLimits } from "../api/withRateLimits.ts"
import { MeteringBucketNotFound } from "../metering/model/MeteringBucketError.ts"
import { CurrentActor } from "../outbox/CurrentActor.ts"
import { copyBody, copyOptions, findTimestamps, isOpaque } from "./copyInput.ts"
import { parsePathSegment } from "./pathSegment.ts"

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

type GetCodecs = (description: OperationDescription) => ReturnType<typeof makeCodecs>

/** Remembers the codecs: they are made when an operation is first called, which takes milliseconds. */
const makeGetCodecs = (): GetCodecs => {
  const codecs = new Map<OperationDescription, ReturnType<typeof makeCodecs>>()
  return (description) => {
    const known = codecs.get(description) ?? makeCodecs(description)
    codecs.set(description, known)
    return known
  }
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

/**
 * Finds the path parameters that a handle knows by another name, such as the id of a metering bucket. `isOutdated`: what it
 * returned before does not exist any more.
 */
export type ResolveScope = (isOutdated: boolean) => Promise<Fields>

/** Makes one method. `scope` holds the path parameters that its handle knows. */
const makeMethod = (
  description: OperationDescription,
  call: CallOperation,
  scope: CallerScope & Fields,
  actorProblem: string | undefined,
  getCodecs: GetCodecs,
  resolveScope: ResolveScope | undefined
) => {
  const { method: verb, path, payload, owner, name, isPaged, isReadOnly, isBodyOptional } = description
  const openParams = [...path.matchAll(/:(\w+)/g)].flatMap(([, param = ""]) => (param in scope ? [] : [param]))
  const hasPayload = payload !== undefined
  const isInputOptional = name === "create" || (verb === "POST" && isBodyOptional)
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
    const body = argument === undefined && isInputOptional ? {} : argument
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

  /** Starts with the resolved scope. Nothing has happened if its bucket does not exist: then it is resolved again. */
  const startResolved = async (prepared: ReturnType<typeof prepare>): Promise<unknown> => {
    const startWith = async (isOutdated: boolean) =>
      start({ ...prepared, pathParams: { ...prepared.pathParams, ...(await resolveScope?.(isOutdated)) } })
    try {
      return await startWith(false)
    } catch (error) {
      if (error instanceof MeteringBucketNotFound) return startWith(true)
      throw error
    }
  }

  const method = (...args: ReadonlyArray<unknown>): Promise<unknown> => {
    const caller = captureCaller(method)
    const prepared = (async () => prepare(args))()
    const result = withCallerStack(prepared.then(resolveScope === undefined ? start : startResolved), caller)
    if (!isPaged) return result
    const getPage = (after: string) =>
      withCallerStack(
        prepared.then((call) =>
          (resolveScope === undefined ? start : startResolved)({
            ...call,
            parameters: { ...call.parameters, offset: 0, after }
          })
        ),
        caller
      )
    return toPagePromise(result as Promise<PageJson<unknown>>, getPage as (after: string) => Promise<PageJson<unknown>>)
  }
  return method
}

/** Returns the methods of a group for a handle. `scope` holds the path parameters that the handle knows. */
export type GetMethods = <Methods>(
  group: string,
  scope: CallerScope & Readonly<Record<string, string>>,
  resolveScope?: ResolveScope
) => Methods

/** Makes the methods of all handles. What they share is made once. */
export const makeMethods = (
  descriptions: ReadonlyArray<OperationDescription>,
  call: CallOperation,
  actorProblem?: string
): GetMethods => {
  const getCodecs = makeGetCodecs()
  return <Methods>(group: string, scope: CallerScope & Fields, resolveScope?: ResolveScope) =>
    Object.fromEntries(
      descriptions
        .filter((description) => description.group === group)
        .map((description) => [
          description.name,
          makeMethod(description, call, scope, actorProblem, getCodecs, resolveScope)
        ])
    ) as Methods
}
