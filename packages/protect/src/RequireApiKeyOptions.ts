/**
 * The options of `requireApiKey`: those of `authorize`, where some may be functions of the request, and those of the route.
 */
import type { AuthorizeOptions, AuthorizeResultJson } from "@tollgate/core"
import type { Charge, MeteringOptions, RateLimitBy, RateLimitOptions } from "@tollgate/core/internal"

/** A value, or a function of your framework's request. It is called only for a valid key that has the scopes. */
type FromRequest<Request, A> = A | ((request: Request) => A | Promise<A>)

export interface RouteRateLimit<Request> extends Omit<RateLimitOptions, "by" | "cost"> {
  /** Default: `"consumer"`. */
  readonly by?: FromRequest<Request, RateLimitBy> | undefined
  /** How many requests this one counts as. Default: 1. A request that costs more than the burst is refused with 400. */
  readonly cost?: FromRequest<Request, number> | undefined
}

/** Why a request is refused. */
export type RefusedDecision = Extract<AuthorizeResultJson, { readonly allowed: false }>

/** What `onRefused` changes of the response. */
export interface RefusedResponse {
  /** Sent as JSON instead of the problem. */
  readonly body?: unknown
  /** Added to those of the response. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** What a protected route requires besides a valid key, what it counts, and where it finds the key. */
// biome-ignore lint/suspicious/noExplicitAny: each binding says what its request is
export interface RequireApiKeyOptions<Request = any>
  extends Pick<AuthorizeOptions, "scopes" | "features" | "limitsIn"> {
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
  /**
   * Reserves amounts of meters when a request comes in, for up to an hour, with `metering` without `meters`. The route says
   * with `consumer.settle({ tokens: 1234 })` what the request has used, at most what is reserved; the rest is given back. A
   * request that is not settled within a second after its end is charged what it has reserved, if its status was below 400
   * and anything of it was sent; otherwise nothing.
   */
  readonly reserve?: FromRequest<Request, Readonly<Record<string, number>>> | undefined
  /**
   * What the meters are used for, to group usage by it: up to 3 labels, such as `{ model: "small" }`, with `metering`. Of what a
   * function returns, labels that are `undefined` are left out; a value with more than 64 characters is refused with 400.
   */
  readonly labels?: FromRequest<Request, Readonly<Record<string, string | undefined>> | undefined> | undefined
  /** The header or query parameter that contains the key. Default: `Authorization: Bearer`. */
  readonly keyFrom?: { readonly header: string } | { readonly query: string } | undefined
  /**
   * Finds the IP address of the client, for keys with `ipAllow`, and is called only for these. Default: `req.ip` of Express,
   * `ctx.ip` of Koa, `request.ip` of Fastify, which follow their settings for proxies, and the address of the socket of
   * `node:http`. A Fetch handler has no default. Tollgate reads no header by itself.
   */
  readonly ip?: ((request: Request) => string | undefined) | undefined
  /**
   * Changes the response to a refused request: its `body`, which is sent as JSON, and `headers`, which are added. The status
   * stays. If it throws, the response stays as it is, and the error is logged. `decision` says more than your customers should
   * see, such as that a key is disabled.
   */
  readonly onRefused?:
    | ((
        decision: RefusedDecision,
        request: Request
      ) => RefusedResponse | undefined | Promise<RefusedResponse | undefined>)
    | undefined
  /**
   * What to do with a well-formed key while the store cannot be reached. `deny` (the default) responds with 503. `allow`
   * passes the request on, without a consumer and without counting it, if this process found the key valid, with the
   * scopes of the route, within the last hour: use it where an outage of the store must not be an outage of the route.
   */
  readonly onStoreUnavailable?: "deny" | "allow" | undefined
}
