/**
 * The options of `requireApiKey`: those of `authorize`, where some may be functions of the request, and those of the route.
 */
import type {
  AuthorizeOptions,
  Charge,
  MeteringOptions,
  RateLimitBy,
  RateLimitOptions
} from "../authorize/AuthorizeOptions.ts"

/** A value, or a function of your framework's request. It is called only for a valid key that has the scopes. */
type FromRequest<Request, A> = A | ((request: Request) => A | Promise<A>)

export interface RouteRateLimit<Request> extends Omit<RateLimitOptions, "by" | "cost"> {
  /** Default: `"consumer"`. */
  readonly by?: FromRequest<Request, RateLimitBy> | undefined
  /** How many requests this one counts as. Default: 1. A request that costs more than the burst is refused with 400. */
  readonly cost?: FromRequest<Request, number> | undefined
}

/** What a protected route requires besides a valid key, what it counts, and where it finds the key. */
// biome-ignore lint/suspicious/noExplicitAny: each binding says what its request is
export interface RequireApiKeyOptions<Request = any> extends Pick<AuthorizeOptions, "scopes" | "limitsIn"> {
  /** One rate limit. Example: `{ limit: 10, per: "second" }`. */
  readonly rateLimit?: RouteRateLimit<Request> | undefined
  /** Up to 10 rate limits with names. */
  readonly rateLimits?: ReadonlyArray<RouteRateLimit<Request> & { readonly name: string }> | undefined
  /**
   * Requires a subscription of the consumer in this metering bucket, and counts meters on it. A function that returns
   * `undefined` leaves the request unmetered. If the route has rate limits, a function needs `limitsIn`, and returns that
   * metering bucket.
   */
  readonly metering?: FromRequest<Request, MeteringOptions | undefined> | undefined
  /**
   * When the meters are charged. `request` (the default) counts when a request comes in. `success` reserves when a request
   * comes in, for up to an hour. It counts when the request has ended, if its status was below 400 and anything of its body
   * was sent; otherwise it gives back: if the status is 400 or higher, if the handler throws, or if the client disconnects
   * before. `complete` counts only if the whole response was sent: a client that disconnects just before the end of a stream
   * gets it for nothing. A request that takes longer than an hour counts when it ends. Needs `metering` with `meters`.
   */
  readonly charge?: Charge | undefined
  /** The header or query parameter that contains the key. Default: `Authorization: Bearer`. */
  readonly keyFrom?: { readonly header: string } | { readonly query: string } | undefined
  /**
   * What to do with a well-formed key while the store cannot be reached. `deny` (the default) responds with 503. `allow`
   * passes the request on, without a consumer and without counting it, if this process found the key valid, with the
   * scopes of the route, within the last hour: use it where an outage of the store must not be an outage of the route.
   */
  readonly onStoreUnavailable?: "deny" | "allow" | undefined
}
