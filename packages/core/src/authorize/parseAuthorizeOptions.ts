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

/** A copy of an object or a list in options that were found valid, with its names at hand: each call compares with it. */
class Copy {
  readonly prototype: unknown
  readonly names: ReadonlyArray<string>
  readonly items: ReadonlyArray<unknown>

  constructor(value: object) {
    this.prototype = Object.getPrototypeOf(value)
    this.names = Object.keys(value)
    this.items = Object.values(value).map(copy)
  }
}

/** Stands in a copy for whatever labels there are: they differ, and are validated by themselves. */
const varying = Symbol("varying")

/** Copies options: plain objects, lists, texts and numbers. */
const copy = (value: unknown): unknown => (typeof value === "object" && value !== null ? new Copy(value) : value)

type Fields = Readonly<Record<string, unknown>>

/** Whether options have the contents of a copy. */
const isSame = (known: unknown, given: unknown): boolean => {
  if (!(known instanceof Copy)) return known === given || (known === varying && given !== undefined)
  if (typeof given !== "object" || given === null || Object.getPrototypeOf(given) !== known.prototype) return false
  const { names, items } = known
  let count = 0
  for (const _ in given) count++
  if (count !== names.length) return false
  for (let index = 0; index < count; index++) {
    const [name, item] = [names[index] as string, items[index]]
    if (!isSame(item, (given as Fields)[name]) || (item === undefined && !Object.hasOwn(given, name))) return false
  }
  return true
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
    this.#recent.unshift({ options: copy(options.labels ? { ...options, labels: varying } : options), parsed })
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
    if (options.labels !== undefined && labels === undefined) return decode(options)
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
    if (known === undefined) return Exit.map(parse(options), (parsed) => recent.add(options, parsed))
    if (options.labels === undefined) return Exit.succeed(known)
    const labels = parseLabels(options.labels)
    if (labels === undefined) return decode(options)
    const limits = { ...(known.limits as ParsedLimits), labels }
    return Exit.succeed(new ParsedAuthorizeOptions(known.scopes, limits, known.charge))
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
