/**
 * The options of `authorize`: what a request needs beside a valid key.
 */
import type { Labels } from "../metering/model/Labels.ts"
import type { Amounts } from "../metering/model/Quota.ts"
import type { RateLimitPolicy } from "../rateLimits/RateLimit.ts"

/** Whose requests share a rate limit: those of the consumer, of the key, or all with the same value. */
export type RateLimitBy = "consumer" | "key" | { readonly value: string }

export interface RateLimitOptions {
  /**
   * Appears in the `RateLimit` headers and in refusals. Limits with the same name and numbers are one limit. Default:
   * `default`.
   */
  readonly name?: string | undefined
  /** How many requests are allowed in each `per`: 1 to 1,000,000. */
  readonly limit: number
  /** A unit, or a number of milliseconds. */
  readonly per: "second" | "minute" | "hour" | "day" | number
  /** How many requests are allowed at once. Default: `limit`. */
  readonly burst?: number | undefined
  /** Default: `"consumer"`. */
  readonly by?: RateLimitBy | undefined
  /** How many requests this one counts as. Default: 1. */
  readonly cost?: number | undefined
}

export interface MeteringOptions {
  readonly meteringBucketId: string
  /** The amount to count on each meter. Without it, only the subscription and the rate limits of its plans are checked. */
  readonly meters?: Readonly<Record<string, number>> | undefined
}

/** Amounts to hold for work whose cost is known only afterwards: settle or release the reservation then. */
export interface ReserveOptions {
  readonly meters: Readonly<Record<string, number>>
  /** Seconds until the reservation expires: 1 to 3,600. Default: 60. */
  readonly expiresIn?: number | undefined
}

/** What `authorize` requires besides a valid key, and what it counts. */
export interface AuthorizeOptions {
  /** The scopes that the key must have, all of them. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** The features that the plans of the customer must have, all of them. Needs `metering`. */
  readonly features?: ReadonlyArray<string> | undefined
  /** One rate limit. */
  readonly rateLimit?: RateLimitOptions | undefined
  /** Up to 10 rate limits with names. */
  readonly rateLimits?: ReadonlyArray<RateLimitOptions & { readonly name: string }> | undefined
  /** Requires a subscription of the consumer in this metering bucket, and counts meters on it. */
  readonly metering?: MeteringOptions | undefined
  /**
   * The id of the metering bucket that counts the rate limits of a call without `metering`. Without it, the key bucket
   * counts them. A limit that calls with and without `metering` share needs it, because each bucket counts for itself.
   */
  readonly limitsIn?: string | undefined
  /** Reserves meters instead of counting them, with `metering` and without its `meters`. */
  readonly reserve?: ReserveOptions | undefined
  /** The `customerKey` whose subscription counts, with `metering`. Default: that of the consumer. */
  readonly customer?: string | undefined
  /** What the meters are used for, to group usage by it: up to 3, such as `{ model: "small" }`. Needs `metering`. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The IP address of the client, for keys with `ipAllow`. Without it, they are refused. */
  readonly ip?: string | undefined
}

/** A rate limit of a call, validated. */
export interface AppliedRateLimit {
  readonly policy: RateLimitPolicy
  readonly by: RateLimitBy
  readonly cost: number
}

/** What a request takes and counts, validated. */
export interface ParsedLimits {
  readonly rateLimits: ReadonlyArray<AppliedRateLimit>
  readonly metering: { readonly meteringBucketId: string; readonly meters?: Amounts | undefined } | undefined
  /** The metering bucket that counts the rate limits; `undefined`: that of `metering`, or else the key bucket. */
  readonly limitsIn?: string | undefined
  /** Reserves the meters for so long, instead of counting them. */
  readonly reserveMs?: number | undefined
  /** The features that the customer must have. */
  readonly features?: ReadonlyArray<string> | undefined
  /** Whose subscription counts, if it is not that of the consumer. */
  readonly customer?: string | undefined
  /** What the meters are used for. */
  readonly labels?: Labels | undefined
}

/**
 * When a request is charged: when it comes in; when it succeeds, also if only a part of its response was sent; or when its
 * whole response was sent.
 */
export type Charge = "request" | "success" | "complete"

/** `settle`: the route says what a request has used. */
export type ChargeMode = Charge | "settle"

const noLimits: ParsedLimits = { rateLimits: [], metering: undefined }

/** Validated options. `authorize` takes them as they are, so that a protected route validates its options only once. */
export class ParsedAuthorizeOptions {
  readonly scopes: ReadonlyArray<string>
  /** The limits, or a function that returns them. It is called only if the key is valid and has the scopes. */
  readonly limits: ParsedLimits | (() => Promise<ParsedLimits>)
  /** When meters are charged. Unless it is at once, they are only reserved: the outcome of the request decides. */
  readonly charge: ChargeMode

  constructor(
    scopes: ReadonlyArray<string> = [],
    limits: ParsedAuthorizeOptions["limits"] = noLimits,
    charge: ChargeMode = "request"
  ) {
    this.scopes = scopes
    this.limits = limits
    this.charge = charge
  }
}
