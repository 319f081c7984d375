/**
 * Validates the options of `authorize`. An unknown name is refused: with a mistyped `metering`, nothing would be counted.
 */
import { Effect, Exit } from "effect"
import { type Amounts, parseAmounts } from "../metering/model/Quota.ts"
import { isPlainObject } from "../runtime/isPlainObject.ts"
import { makeDecoder } from "../schema/decodeInput.ts"
import { type InvalidInput, invalidParameter } from "../schema/InvalidInput.ts"
import {
  type AuthorizeOptions,
  type MeteringOptions,
  ParsedAuthorizeOptions,
  type ParsedLimits
} from "./AuthorizeOptions.ts"
import { AuthorizeInput, toParsedOptions } from "./authorizeSchemas.ts"

const noOptions = new ParsedAuthorizeOptions()

const decodeOptions = makeDecoder(AuthorizeInput, "parameters", { onExcessProperty: "error" })

const decode = (options: AuthorizeOptions): Exit.Exit<ParsedAuthorizeOptions, InvalidInput> =>
  isPlainObject(options)
    ? Exit.map(decodeOptions(options), toParsedOptions)
    : Exit.fail(invalidParameter("options", "must be a plain object"))

/** Copies options that were found valid: plain objects, lists, texts and numbers. */
const copy = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copy)
  return isPlainObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, copy(item)]))
    : value
}

type Fields = Readonly<Record<string, unknown>>

/** Whether options have the contents of a copy. */
const isSame = (known: unknown, given: unknown): boolean => {
  if (typeof known !== "object" || known === null) return known === given
  if (typeof given !== "object" || given === null) return false
  if (Object.getPrototypeOf(given) !== Object.getPrototypeOf(known)) return false
  let unmatched = 0
  for (const _ in known) unmatched++
  for (const name in given) {
    if (!Object.hasOwn(known, name) || !isSame((known as Fields)[name], (given as Fields)[name])) return false
    unmatched--
  }
  return unmatched === 0
}

/** How many different options are remembered. */
const maxRecent = 4

/** The latest valid options, compared by their contents, which the caller may change between calls. */
class RecentOptions {
  readonly #recent: Array<{ readonly options: unknown; readonly parsed: ParsedAuthorizeOptions }> = []

  find(options: AuthorizeOptions): ParsedAuthorizeOptions | undefined {
    return this.#recent.find((item) => isSame(item.options, options))?.parsed
  }

  add(options: AuthorizeOptions, parsed: ParsedAuthorizeOptions): ParsedAuthorizeOptions {
    this.#recent.unshift({ options: copy(options), parsed })
    if (this.#recent.length > maxRecent) this.#recent.pop()
    return parsed
  }
}

/** Stands for any valid amounts. */
const anyAmounts: Amounts = { any: 1 }

/**
 * Remembers the latest options: an application calls with the same few, often written anew for each call, and a schema takes
 * longer than the decision itself. If only the amounts are new, they are validated without a schema.
 */
export const makeParseAuthorizeOptions = () => {
  const recent = new RecentOptions()
  /** Options with `anyAmounts`. */
  const recentShapes = new RecentOptions()

  const parseShape = (shape: AuthorizeOptions): Exit.Exit<ParsedAuthorizeOptions, InvalidInput> => {
    const known = recentShapes.find(shape)
    return known === undefined
      ? Exit.map(decode(shape), (parsed) => recentShapes.add(shape, parsed))
      : Exit.succeed(known)
  }

  const parse = (options: AuthorizeOptions): Exit.Exit<ParsedAuthorizeOptions, InvalidInput> => {
    const metering = isPlainObject(options) && isPlainObject(options.metering) ? options.metering : undefined
    const meters = metering && parseAmounts(metering.meters)
    if (meters === undefined) return decode(options)
    const shape = { ...options, metering: { ...metering, meters: anyAmounts } as MeteringOptions }
    return Exit.map(parseShape(shape), ({ scopes, limits, charge }) => {
      // Only a route has limits that are functions.
      const { metering, ...rest } = limits as ParsedLimits
      return new ParsedAuthorizeOptions(scopes, { ...rest, metering: metering && { ...metering, meters } }, charge)
    })
  }

  return (
    options: AuthorizeOptions | ParsedAuthorizeOptions | undefined
  ): Effect.Effect<ParsedAuthorizeOptions, InvalidInput> => {
    if (options === undefined) return Effect.succeed(noOptions)
    if (options instanceof ParsedAuthorizeOptions) return Effect.succeed(options)
    const known = recent.find(options)
    return known === undefined
      ? Exit.map(parse(options), (parsed) => recent.add(options, parsed))
      : Effect.succeed(known)
  }
}
