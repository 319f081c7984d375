/**
 * Maximum numbers of records, and of bytes, per account. The commit that adds a record checks the limit, so it holds across
 * processes.
 */
import { Context, Record } from "effect"
import * as Options from "../../runtime/Options.ts"

/** The maximum number of records of each kind. */
export interface LimitsShape {
  readonly consumersPerKeyBucket: number
  readonly keyBucketsPerAccount: number
  readonly meteringBucketsPerAccount: number
  /** Names of meters in all plans that a metering bucket ever had. */
  readonly metersPerMeteringBucket: number
  readonly plansPerMeteringBucket: number
  readonly subscriptionsPerMeteringBucket: number
  /** Projects that have at least one deployment. */
  readonly projectsPerAccount: number
  readonly deploymentsPerAccount: number
  readonly webhooksPerAccount: number
  /** Upload URLs that are neither used nor expired. */
  readonly openUploadsPerAccount: number
  /** Concurrent uploads; multiplied by `sourceLimit`, it bounds the disk space of unfinished uploads. */
  readonly concurrentUploadsPerAccount: number
  /** Bytes of consumers, keys, plans, subscriptions, webhooks and their deliveries, deployments, and recorded responses. */
  readonly recordBytesPerAccount: number
  /** Bytes of sources and releases. */
  readonly deploymentBytesPerAccount: number
}
export type LimitName = keyof LimitsShape
/** Maximum numbers of records. A limit that is left out keeps its default. */
export type LimitOptions = { readonly [Name in LimitName]?: number | undefined }

const defaultLimits: LimitsShape = {
  consumersPerKeyBucket: 1_000_000,
  keyBucketsPerAccount: 10_000,
  meteringBucketsPerAccount: 10_000,
  metersPerMeteringBucket: 1_000,
  plansPerMeteringBucket: 10_000,
  subscriptionsPerMeteringBucket: 1_000_000,
  projectsPerAccount: 1_000,
  deploymentsPerAccount: 1_000,
  webhooksPerAccount: 20,
  openUploadsPerAccount: 100,
  concurrentUploadsPerAccount: 32,
  recordBytesPerAccount: 2 * 1024 ** 3,
  deploymentBytesPerAccount: 10 * 1024 ** 3
}

/** The maximum numbers of records. A commit that would exceed one is rejected. */
export const Limits = Context.Reference<LimitsShape>("@tollgate/core/accounts/limits/Limits", {
  defaultValue: () => defaultLimits
})

export const limitNames = Object.keys(defaultLimits) as ReadonlyArray<LimitName>

export const limitOptions = Options.struct<LimitOptions>()(
  Record.map(defaultLimits, () => Options.optional(Options.positiveInteger()))
)

export const resolveLimits = (options: LimitOptions = {}): LimitsShape => Options.withDefaults(defaultLimits, options)
