/**
 * What a key bucket in process offers to protected routes, beside its public methods: decisions as they are made, and what
 * the routes of one Tollgate share.
 */

import type { BackgroundTasks, RequestBatches } from "@tollgate/store/internal"
import type { Context } from "effect"
import type { IpSource } from "../keys/ipAddresses.ts"
import type { RateLimitPolicy } from "../rateLimits/RateLimit.ts"
import type { RateLimitStatus } from "../rateLimits/RateLimitTake.ts"
import type { AuthorizeOptions, ParsedAuthorizeOptions } from "./AuthorizeOptions.ts"
import type { AuthorizeResult } from "./Decision.ts"
import type { DecisionSource } from "./DecisionObservers.ts"

/** Registered, so that it is the same one if a program has loaded the package twice. */
export const bucketDecisions: unique symbol = Symbol.for("@tollgate/core/bucketDecisions") as never

/** Decides on a request, and turns the decision into what the caller needs. */
export type Decide = <A>(
  key: string,
  options: AuthorizeOptions | ParsedAuthorizeOptions | undefined,
  toResult: (decision: AuthorizeResult) => A,
  /** The request to a route. Otherwise, the address in the options counts. */
  source?: DecisionSource
) => Promise<A>

export interface BucketDecisions {
  readonly decide: Decide
  readonly context: Context.Context<never>
  readonly tasks: BackgroundTasks
  /** All protected routes of a Tollgate share it. */
  readonly batches: RequestBatches
  /** Takes a request without a key from a limit, which all requests of a client share. Rejects if none is left. */
  readonly takeFromLimit: (policy: RateLimitPolicy, client: string) => Promise<ReadonlyArray<RateLimitStatus>>
  /** Remembers in which bucket a route counts its limits. Throws if another route counts one of them elsewhere. */
  readonly addLimits: (policies: ReadonlyArray<RateLimitPolicy>, meteringBucketId: string | undefined) => void
  /** Remembers valid keys from now on, and returns the function that says whether a key was valid lately. */
  readonly rememberKeys: () => (key: string, scopes: ReadonlyArray<string>, ip: IpSource) => boolean
}

/** A key bucket of a Tollgate in process: `gate.account(…).keyBucket(…)`. */
export interface AuthorizingKeyBucket {
  readonly [bucketDecisions]: BucketDecisions
}
