/**
 * Maximum numbers of records, and of bytes, per account. The commit that adds a record checks the limit, so it holds across
 * processes.
 */

import { Options } from "@tollgate/store/internal"
import { Context, Record } from "effect"

/** The maximum number of records of each kind. A module adds its own: `declare module` merges them into this interface. */
export interface LimitsShape {
  readonly consumersPerKeyBucket: number
  readonly keyBucketsPerAccount: number
  readonly meteringBucketsPerAccount: number
  /** Names of meters in all plans and grants that a metering bucket ever had. */
  readonly metersPerMeteringBucket: number
  readonly plansPerMeteringBucket: number
  readonly subscriptionsPerMeteringBucket: number
  /** Bytes of all records of an account, and of recorded responses. */
  readonly recordBytesPerAccount: number
}
/** Maximum numbers of records. A limit that is left out keeps its default. */
export type LimitOptions = { readonly [Name in keyof LimitsShape]?: number | undefined }

export interface LimitDescription {
  readonly default: number
  readonly owner: "An account" | "A key bucket" | "A metering bucket"
  /** What there may be at most so many of. */
  readonly items: string
  /** What the caller can do, as the beginning of a sentence. */
  readonly remedy: string
}

/** Limits by their names in the option `limits`. */
export type LimitDescriptions = Readonly<Record<string, LimitDescription>>

export const coreLimits = {
  consumersPerKeyBucket: { default: 1_000_000, owner: "A key bucket", items: "consumers", remedy: "Remove one first" },
  keyBucketsPerAccount: { default: 10_000, owner: "An account", items: "key buckets", remedy: "Use an existing one" },
  meteringBucketsPerAccount: {
    default: 10_000,
    owner: "An account",
    items: "metering buckets",
    remedy: "Remove one first"
  },
  metersPerMeteringBucket: {
    default: 1_000,
    owner: "A metering bucket",
    items: "names of meters in all plans and grants that it ever had",
    remedy: "Use an existing name"
  },
  plansPerMeteringBucket: { default: 10_000, owner: "A metering bucket", items: "plans", remedy: "Remove one first" },
  subscriptionsPerMeteringBucket: {
    default: 1_000_000,
    owner: "A metering bucket",
    items: "subscriptions",
    remedy: "Remove one first"
  },
  recordBytesPerAccount: {
    default: 2 * 1024 ** 3,
    owner: "An account",
    items: "bytes of records and recorded responses",
    remedy: "Remove records first, or wait two days for responses to be forgotten,"
  }
} satisfies LimitDescriptions

const toDefaults = (descriptions: LimitDescriptions): LimitsShape =>
  Record.map(descriptions, (description) => description.default) as unknown as LimitsShape

/** The maximum numbers of records. A commit that would exceed one is rejected. */
export const Limits = Context.Reference<LimitsShape>("@tollgate/core/accounts/limits/Limits", {
  defaultValue: () => toDefaults(coreLimits)
})

/** The option `limits`, with the limits of core and of modules. */
export const makeLimitOptions = (descriptions: LimitDescriptions) =>
  Options.struct<LimitOptions>()(Record.map(descriptions, () => Options.optional(Options.positiveInteger())) as never)

export const resolveLimits = (descriptions: LimitDescriptions, options: LimitOptions = {}): LimitsShape =>
  Options.withDefaults(toDefaults(descriptions), options)
