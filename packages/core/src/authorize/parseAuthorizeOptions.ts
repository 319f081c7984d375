/**
 * Validates the options of `authorize`. An unknown name is refused: with a mistyped `metering`, nothing would be counted.
 */

import { type InvalidInput, invalidParameter, isPlainObject, makeDecoder, ShortText } from "@tollgate/store/internal"
import { Exit, Schema } from "effect"
import { type Labels, parseLabels } from "../metering/model/Labels.ts"
import { type Amounts, parseAmounts } from "../metering/model/Quota.ts"
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
/** Stands for any valid customer. */
const anyCustomer = "any"
const isCustomer = Schema.is(ShortText)
/** Stands for any valid labels. */
const anyLabels: Labels = { any: "any" }

/**
 * Remembers the latest options: an application calls with the same few, often written anew for each call, and a schema takes
 * longer than the decision itself. If only amounts, customer and labels are new, they are
 * validated without the schema.
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
    const { customer } = options
    const shape = { ...options, metering: { ...metering, meters: anyAmounts } as MeteringOptions }
    const hasCustomer = customer !== undefined && isCustomer(customer)
    const labels = options.labels === undefined ? undefined : parseLabels(options.labels)
    const ofAny = { ...(hasCustomer && { customer: anyCustomer }), ...(labels && { labels: anyLabels }) }
    return Exit.map(parseShape({ ...shape, ...ofAny }), (parsed) => {
      // Only a route has limits that are functions.
      const { metering, ...rest } = parsed.limits as ParsedLimits
      const limits = { ...rest, metering: metering && { ...metering, meters }, customer, ...(labels && { labels }) }
      return new ParsedAuthorizeOptions(parsed.scopes, limits, parsed.charge)
    })
  }

  const parseUnlessKnown = (options: AuthorizeOptions): Exit.Exit<ParsedAuthorizeOptions, InvalidInput> => {
    const known = recent.find(options)
    return known === undefined ? Exit.map(parse(options), (parsed) => recent.add(options, parsed)) : Exit.succeed(known)
  }

  return (
    options: AuthorizeOptions | ParsedAuthorizeOptions | undefined
  ): Exit.Exit<ParsedAuthorizeOptions, InvalidInput> => {
    if (options === undefined) return Exit.succeed(noOptions)
    // A proxy may throw.
    try {
      if (options instanceof ParsedAuthorizeOptions) return Exit.succeed(options)
      if (!isPlainObject(options) || typeof options.ip !== "string") return parseUnlessKnown(options)
      // Addresses differ, and need no validation.
      const { ip: _, ...rest } = options
      return parseUnlessKnown(rest)
    } catch (error) {
      return Exit.die(error)
    }
  }
}
