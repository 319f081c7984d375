/**
 * Validates the options of public functions. Each function has an interface, whose doc comments an editor shows, and a
 * schema that `struct` checks against the interface. An option that is `undefined` is absent, an unknown option is an
 * error, and an error never contains the value of an option, which may be a secret.
 */
import { Effect, Exit, Option, Predicate, Result, Schema, SchemaAST, SchemaGetter, SchemaIssue } from "effect"
import { ConfigurationError } from "./ConfigurationError.ts"
import { isPlainObject } from "./isPlainObject.ts"
import { omitUndefined } from "./omitUndefined.ts"

/** An option without nested options. `problem` says what it must be, and is also the message if it is missing. */
export const value = <T>(
  isValid: (value: unknown) => value is T,
  problem: string | ((value: unknown) => string)
): Schema.declareConstructor<T, T, readonly []> => {
  const describe = (value: unknown): string => (typeof problem === "string" ? problem : problem(value))
  return Schema.declareConstructor<T>()([], () => (value) => {
    if (isValid(value)) return Effect.succeed(value)
    return Effect.fail(new SchemaIssue.InvalidValue({ message: describe(value) }))
  }).pipe(Schema.annotateKey({ messageMissingKey: describe(undefined) }))
}

/** A string that a pattern or another predicate accepts. */
export const string = (problem: string, isValid: (value: string) => boolean = () => true) =>
  value((value): value is string => typeof value === "string" && isValid(value), problem)

export const positiveInteger = (problem = "must be a positive integer", max = Number.MAX_SAFE_INTEGER) =>
  value((value): value is number => Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= max, problem)

/** How much of a disk must be free. */
export const freeDiskReserve = value(
  (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0,
  "must be a number of mebibytes, an integer of at least 0"
)

/** The maximum delay of a timer. A longer one would end at once. */
const maxTimeout = 2 ** 31 - 1

/** A timeout, in milliseconds. */
export const timeout = () =>
  positiveInteger(`must be a number of milliseconds, an integer from 1 to ${maxTimeout}`, maxTimeout)

export const literals = <const L extends string | boolean>(allowed: ReadonlyArray<L>, problem?: string) =>
  value(
    (value): value is L => allowed.some((literal) => literal === value),
    problem ?? `must be ${allowed.map((literal) => JSON.stringify(literal)).join(" or ")}`
  )

/** A function. Its parameters and its result cannot be checked, so its type is that of the interface. */
export const callback = <F extends (...args: never) => unknown>(problem: string) =>
  value((value): value is F => typeof value === "function", problem)

export { isPlainObject }

/** Whether the value is an object with these methods: a class of another copy of a package passes too. */
export const hasMethods = (value: unknown, ...names: ReadonlyArray<string>): boolean =>
  Predicate.isObject(value) && names.every((name) => typeof Reflect.get(value, name) === "function")

/** An option that may be absent. `undefined` counts as absent. */
export const optional = <S extends Schema.Constraint>(schema: S) =>
  Schema.optionalKey(Schema.Unknown).pipe(
    Schema.decodeTo(Schema.optionalKey(schema), {
      decode: SchemaGetter.transformOptional(Option.filter((value) => value !== undefined)),
      encode: SchemaGetter.forbidden(() => "Options are not encoded")
    })
  )

/** Replaces the options that are absent. */
export const withDefaults = <D extends object>(
  defaults: D,
  options: { readonly [Name in keyof D]?: D[Name] | undefined }
): D => ({ ...defaults, ...omitUndefined(options) })

/** Decoded options: a required option is never `undefined`. */
type Decoded<O> = { readonly [Name in keyof O]: object extends Pick<O, Name> ? O[Name] : Exclude<O[Name], undefined> }

/** The schema of each option: of its type, and optional where the interface says so. */
export type Fields<O> = {
  readonly [Name in keyof O]-?: Schema.ConstraintDecoder<Exclude<O[Name], undefined>> & {
    readonly "~type.optionality": object extends Pick<O, Name> ? "optional" : "required"
  }
}

/** The names that the interface does not have, and those whose schema rejects values that the interface allows. */
type Mismatches<O, F extends Fields<O>> =
  | Exclude<keyof F, keyof O>
  | { [Name in keyof O]-?: Exclude<O[Name], undefined> extends F[Name]["Type"] ? never : Name }[keyof O]

/**
 * The schema of an interface. Does not compile if an option has no schema, or a schema of another type.
 *
 * @example
 * ```ts
 * const schema = Options.struct<{ readonly baseUrl: string }>()({ baseUrl: Options.string("must be a URL") })
 * const { baseUrl } = Options.decodeSync(schema, options)
 * ```
 */
export const struct =
  <O extends object>() =>
  <const F extends Fields<O>>(
    fields: F & { readonly [Name in Mismatches<O, F>]: never }
  ): Schema.Codec<Decoded<O>, unknown> =>
    Schema.make(Schema.Struct<F>(fields).ast)

/** The names of the options; an object with names of the caller's own has none. */
const listNames = (ast: SchemaAST.AST): string => {
  const names = SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : []
  return names.length === 0 ? "" : `; the options are ${names.join(", ")}`
}

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    if (issue._tag === "UnexpectedKey") return `unknown option${listNames(issue.ast)}`
    if (issue._tag === "InvalidType" && SchemaAST.isObjects(issue.ast)) {
      return `must be an object${listNames(issue.ast)}`
    }
    return SchemaIssue.defaultLeafHook(issue)
  }
})

/** The path of an option as JavaScript writes it: `tokens[0].account`. */
const formatPath = (path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }>, subject: string): string =>
  path
    .map((segment) => (typeof segment === "object" ? segment.key : segment))
    .reduce<string>((parent, key) => {
      if (typeof key === "number") return `${parent || subject}[${key}]`
      return parent === "" ? String(key) : `${parent}.${String(key)}`
    }, "") || subject

type Issue = ReturnType<typeof formatIssues>["issues"][number]

/** There are several issues only if no member of a union matches. The deepest one is of the member that was meant. */
const selectDeeper = (one: Issue, other: Issue): Issue =>
  (other.path?.length ?? 0) > (one.path?.length ?? 0) ? other : one

const describeOtherObject = (options: object): string =>
  hasMethods(options, "then") ? "is a promise; await it" : "must be a plain object"

/**
 * Decodes options. The result is an Effect too. `subject` names the argument where the error is not about one option.
 */
export const decode = <A>(
  schema: Schema.ConstraintDecoder<A>,
  options: unknown,
  subject = "options"
): Exit.Exit<A, ConfigurationError> => {
  if (SchemaAST.isObjects(schema.ast) && Predicate.isObject(options) && !isPlainObject(options)) {
    return Exit.fail(new ConfigurationError({ option: subject, problem: describeOtherObject(options) }))
  }
  const result = Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })(options === undefined ? {} : options)
  if (Result.isSuccess(result)) return Exit.succeed(result.success)
  const { path, message } = formatIssues(result.failure.issue).issues.reduce(selectDeeper)
  return Exit.fail(new ConfigurationError({ option: formatPath(path ?? [], subject), problem: message }))
}

/** Like `decode`, for functions that throw. */
export const decodeSync = <A>(schema: Schema.ConstraintDecoder<A>, options: unknown, subject?: string): A =>
  Effect.runSync(decode(schema, options, subject))
