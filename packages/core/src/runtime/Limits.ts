/**
 * Maximum numbers of records per account. The commit that adds a record checks the limit, so it holds across processes.
 */
import { Context, Record, Schema } from "effect"
import * as Options from "./Options.ts"

export interface LimitsShape {
  readonly consumersPerKeyBucket: number
  readonly keyBucketsPerAccount: number
  readonly meteringBucketsPerAccount: number
  /** Projects that have at least one deployment. */
  readonly projectsPerAccount: number
  readonly deploymentsPerAccount: number
  /** Upload URLs that are neither used nor expired. */
  readonly openUploadsPerAccount: number
  /** Concurrent uploads; multiplied by `sourceLimit`, it bounds the disk space of unfinished uploads. */
  readonly concurrentUploadsPerAccount: number
}
export type LimitName = keyof LimitsShape
export type LimitOptions = { readonly [Name in LimitName]?: number | undefined }

const defaultLimits: LimitsShape = {
  consumersPerKeyBucket: 1_000_000,
  keyBucketsPerAccount: 10_000,
  meteringBucketsPerAccount: 10_000,
  projectsPerAccount: 1_000,
  deploymentsPerAccount: 1_000,
  openUploadsPerAccount: 100,
  concurrentUploadsPerAccount: 32
}

export const Limits = Context.Reference<LimitsShape>("@tollgate/core/runtime/Limits", {
  defaultValue: () => defaultLimits
})

export const limitNames = Object.keys(defaultLimits) as ReadonlyArray<LimitName>

export const limitOptions = Options.struct<LimitOptions>()(
  Record.map(defaultLimits, () => Options.optional(Options.positiveInteger()))
)

export const resolveLimits = (options: LimitOptions = {}): LimitsShape => Options.withDefaults(defaultLimits, options)

interface LimitMessage {
  readonly owner: "An account" | "A key bucket"
  readonly items: string
  readonly remedy: string
}

const limitMessages: Readonly<Record<LimitName, LimitMessage>> = {
  consumersPerKeyBucket: { owner: "A key bucket", items: "consumers", remedy: "Remove one first" },
  keyBucketsPerAccount: { owner: "An account", items: "key buckets", remedy: "Use an existing one" },
  meteringBucketsPerAccount: { owner: "An account", items: "metering buckets", remedy: "Remove one first" },
  projectsPerAccount: { owner: "An account", items: "projects", remedy: "Remove one first" },
  deploymentsPerAccount: { owner: "An account", items: "deployments", remedy: "Remove one first" },
  openUploadsPerAccount: {
    owner: "An account",
    items: "unused upload URLs",
    remedy: "Use one or let one expire first"
  },
  concurrentUploadsPerAccount: {
    owner: "An account",
    items: "uploads at a time",
    remedy: "Wait for one to finish"
  }
}

/** The new record would exceed a limit. */
export class LimitReached extends Schema.TaggedError<LimitReached>()("LimitReached", {
  limit: Schema.Literals(limitNames),
  max: Schema.Int
}) {
  override get message(): string {
    const { owner, items, remedy } = limitMessages[this.limit]
    const count = this.max.toLocaleString("en-US")
    return `${owner} may have at most ${count} ${items}. ${remedy} or raise limits.${this.limit}.`
  }
}
