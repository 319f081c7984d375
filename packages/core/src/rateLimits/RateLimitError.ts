import { addHidden, defineError } from "@tollgate/store/internal"
import { Schema } from "effect"
import type { HeaderPolicy } from "./rateLimitHeaders.ts"

export class RateLimited extends defineError<RateLimited>()(
  "RateLimited",
  {
    code: "rate-limited",
    status: 429,
    title: "Too many requests",
    meaning:
      "A rate limit of a plan, of a route or of the portal is exhausted, the subscription has too many requests in flight, " +
      "or the account has too many open streams of events. " +
      "Nothing was counted.",
    remedy:
      "Wait for `retryAfterMs`, or the seconds in `Retry-After`, and send the request again. If `limit` is " +
      "`open-reservations`, wait until requests in flight have ended; if it is `open-streams`, end a stream.",
    detail: ({ limit, retryAfterMs }) =>
      `The rate limit "${limit}" is exhausted. Try again in ${retryAfterMs} ms. Nothing was counted.`
  },
  {
    limit: Schema.String.annotate({
      description:
        "The name of the rate limit; `open-reservations` if the subscription has 1,000 requests in flight, " +
        "`open-streams` if the account follows 20 logs, and `portal-changes` if a customer changes too much in its portal."
    }),
    retryAfterMs: Schema.Finite.annotate({ description: "Milliseconds after which the request can succeed." })
  }
) {
  /** What is left of the limit, for the headers of the response. `undefined` in a client, which does not know it. */
  declare readonly policy: HeaderPolicy | undefined

  constructor(members: {
    readonly limit: string
    readonly retryAfterMs: number
    readonly policy?: HeaderPolicy
    readonly detail?: string
  }) {
    const { policy, ...rest } = members
    super(rest)
    addHidden(this, { policy })
  }
}
