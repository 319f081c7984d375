/**
 * Maximum numbers of records per account. The commit that adds a record checks the limit, so it holds across processes.
 */
import { Context, Effect } from "effect"
import { ConfigurationError } from "./ConfigurationError.ts"

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

/** Validates the option `limits` and adds the defaults. */
export const parseLimits = Effect.fnUntraced(function* (
  options: LimitOptions = {}
): Effect.fn.Return<LimitsShape, ConfigurationError> {
  const names = limitNames.join(", ")
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    return yield* new ConfigurationError({ option: "limits", problem: `must be an object with any of ${names}` })
  }
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  for (const [name, value] of entries) {
    const option = `limits.${name}`
    if (!Object.hasOwn(defaultLimits, name)) {
      return yield* new ConfigurationError({ option, problem: `unknown limit; the limits are ${names}` })
    }
    if (!Number.isSafeInteger(value) || Number(value) < 1) {
      return yield* new ConfigurationError({ option, problem: "must be a positive integer" })
    }
  }
  return { ...defaultLimits, ...Object.fromEntries(entries) }
})
