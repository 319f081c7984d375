/**
 * Decodes the parts of a request, and lists every place that does not match its schema.
 */
import { Exit, Option, Schema, type SchemaAST, SchemaIssue } from "effect"
import { type InputIssue, type InvalidInput, makeInvalidInput, shortenName } from "./InvalidInput.ts"
import { toPointer } from "./jsonPointer.ts"

/** What is decoded. It decides how an issue names its place: by a JSON pointer, a parameter or a header. */
export type InputPart = "body" | "parameters" | "headers"

export type Decode<T = unknown> = (input: unknown) => Exit.Exit<T, InvalidInput>

interface Place {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

const getProperty = (value: unknown, key: PropertyKey): unknown =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<PropertyKey, unknown>>)[key] : undefined

/** Sorts the issues of an object or a list as its entries are. Those of the whole come first, missing fields last. */
const sortIssues = (issues: ReadonlyArray<SchemaIssue.Issue>, value: unknown): ReadonlyArray<SchemaIssue.Issue> => {
  // A text has entries too: its characters, of which there may be a million.
  const keys = typeof value === "object" && value !== null ? Object.keys(value) : []
  const ranks = new Map(keys.map((key, index) => [key, index]))
  const getRank = (issue: SchemaIssue.Issue) =>
    issue._tag === "Pointer" ? (ranks.get(String(issue.path[0])) ?? keys.length) : -1
  return [...issues].sort((a, b) => getRank(a) - getRank(b))
}

/** Of the alternatives of a union, the one that was probably meant: it fails deepest, or else in the fewest places. */
const pickAlternative = (alternatives: ReadonlyArray<ReadonlyArray<Place>>): ReadonlyArray<Place> =>
  alternatives.reduce((best, other) => {
    const difference = (other[0]?.path.length ?? 0) - (best[0]?.path.length ?? 0)
    return difference > 0 || (difference === 0 && other.length < best.length) ? other : best
  })

/** The places at which a value does not match its schema, in the order of the value. */
const findPlaces = (
  issue: SchemaIssue.Issue,
  value: unknown,
  path: ReadonlyArray<PropertyKey> = []
): ReadonlyArray<Place> => {
  if (issue._tag === "Encoding") return findPlaces(issue.issue, value, path)
  if (issue._tag === "Pointer") {
    return findPlaces(issue.issue, issue.path.reduce(getProperty, value), [...path, ...issue.path])
  }
  if (issue._tag === "Composite") {
    return sortIssues(issue.issues, value).flatMap((part) => findPlaces(part, value, path))
  }
  if (issue._tag === "AnyOf" && issue.issues.length > 0) {
    return pickAlternative(issue.issues.map((alternative) => findPlaces(alternative, value, path)))
  }
  // A check of the whole may name the field that it is about.
  return formatIssues(issue).issues.map(({ message, path: inner = [] }) => ({
    path: [...path, ...inner.map((segment) => (typeof segment === "object" ? segment.key : segment))],
    message
  }))
}

const toParameterName = (path: ReadonlyArray<PropertyKey>): string => path.map(String).join(".")

/** Headers are named as they are usually written: `If-Match`. */
const toHeaderName = (path: ReadonlyArray<PropertyKey>): string =>
  toParameterName(path).replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())

/** Replaces messages that speak of schemas. All schemas with an identifier, such as `ConsumerCreate`, are objects. */
const toDetail = (message: string, kind: string): string => {
  if (message === "Expected no excess property" || message === "Expected never") return `unknown ${kind}`
  if (message === "Missing key") return "is required"
  return /^Expected [A-Z]\w+$/.test(message) ? "Expected an object" : message
}

const toIssue: Readonly<Record<InputPart, (place: Place) => InputIssue>> = {
  body: ({ path, message }) => ({ pointer: shortenName(toPointer(path)), detail: toDetail(message, "field") }),
  parameters: ({ path, message }) => ({
    parameter: shortenName(toParameterName(path)),
    detail: toDetail(message, "parameter")
  }),
  headers: ({ path, message }) => ({
    parameter: shortenName(toHeaderName(path)),
    detail: toDetail(message, "parameter")
  })
}

/** A place has one entry, for the first check that it fails. */
const toIssues = (places: ReadonlyArray<Place>, part: InputPart): ReadonlyArray<InputIssue> => {
  const firstPlaces = new Map<string, Place>()
  for (const place of places) {
    const pointer = toPointer(place.path)
    if (!firstPlaces.has(pointer)) firstPlaces.set(pointer, place)
  }
  return [...firstPlaces.values()].map(toIssue[part])
}

/** Only the first mistake of a larger body is listed: finding all of them would take too long. */
const maxListedBody = 10_000

const hasManyValues = (input: unknown): boolean => {
  const values = [input]
  for (const value of values) {
    if (values.length > maxListedBody) return true
    if (typeof value === "object" && value !== null) for (const item of Object.values(value)) values.push(item)
  }
  return false
}

/** Makes a decoder of one part of a request. It looks for every place only after the decoding has failed. */
export const makeDecoder = <T>(
  schema: Schema.Codec<T, unknown>,
  part: InputPart,
  options?: SchemaAST.ParseOptions
): Decode<T> => {
  const decode = Schema.decodeUnknownExit(schema, options)
  return (input) => {
    const decoded = decode(input)
    if (Exit.isSuccess(decoded)) return Exit.succeed(decoded.value)
    // Servers limit the length of a URL and of headers themselves.
    const isCut = part === "body" && hasManyValues(input)
    return Exit.mapError(isCut ? decoded : decode(input, { errors: "all" }), ({ issue }) =>
      makeInvalidInput(toIssues(findPlaces(issue, input), part), isCut)
    )
  }
}

const getIssues = (exit: Exit.Exit<unknown, InvalidInput>): ReadonlyArray<InputIssue> =>
  Option.match(Exit.findErrorOption(exit), { onNone: () => [], onSome: ({ errors }) => errors })

/** Decodes several parts of a request, by name. Fails with the issues of all of them. */
export const decodeParts = <Name extends string>(
  decoders: ReadonlyArray<readonly [Name, Decode]>,
  inputs: Readonly<Record<Name, unknown>>
): Exit.Exit<Partial<Record<Name, unknown>>, InvalidInput> => {
  const values: Partial<Record<Name, unknown>> = {}
  const failures: Array<Exit.Exit<never, InvalidInput>> = []
  for (const [name, decode] of decoders) {
    const decoded = decode(inputs[name])
    if (Exit.isSuccess(decoded)) values[name] = decoded.value
    else failures.push(Exit.failCause(decoded.cause))
  }
  const [failure = Exit.succeed(values), ...others] = failures
  return others.length === 0 ? failure : Exit.mapError(failure, () => makeInvalidInput(failures.flatMap(getIssues)))
}
