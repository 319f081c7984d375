/**
 * What a key bucket in process offers to protected routes, beside its public methods: decisions as they are made, and what
 * the routes of one Tollgate share.
 */
import type { Context } from "effect"
import type { RateLimitPolicy } from "../rateLimits/RateLimit.ts"
import type { BackgroundTasks } from "../runtime/BackgroundTasks.ts"
import type { AuthorizeOptions, ParsedAuthorizeOptions } from "./AuthorizeOptions.ts"
import type { AuthorizeResult } from "./authorize.ts"

/** Registered, so that it is the same one if a program has loaded the package twice. */
export const bucketDecisions: unique symbol = Symbol.for("@tollgate/core/bucketDecisions") as never

/** Decides on a request, and turns the decision into what the caller needs. */
export type Decide = <A>(
  key: string,
  options: AuthorizeOptions | ParsedAuthorizeOptions | undefined,
  toResult: (decision: AuthorizeResult) => A
) => Promise<A>

export interface BucketDecisions {
  readonly decide: Decide
  readonly context: Context.Context<never>
  readonly tasks: BackgroundTasks
  /** Remembers in which bucket a route counts its limits. Throws if another route counts one of them elsewhere. */
  readonly addLimits: (policies: ReadonlyArray<RateLimitPolicy>, meteringBucketId: string | undefined) => void
  /** Remembers valid keys from now on, and returns the function that says whether a key was valid lately. */
  readonly rememberKeys: () => (key: string, scopes: ReadonlyArray<string>) => boolean
}

/** A key bucket of a Tollgate in process: `gate.account(…).keyBucket(…)`. */
export interface AuthorizingKeyBucket {
  readonly [bucketDecisions]: BucketDecisions
}
