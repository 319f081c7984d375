import { Schema } from "effect"
import { addHidden, defineError } from "../errors/defineError.ts"
import type { HeaderPolicy } from "./rateLimitHeaders.ts"

export class RateLimited extends defineError<RateLimited>()(
  "RateLimited",
  {
    code: "rate-limited",
    status: 429,
    title: "Too many requests",
    detail: ({ limit, retryAfterMs }) =>
      `The rate limit "${limit}" is exhausted. Try again in ${retryAfterMs} ms. Nothing was counted.`
  },
  {
    /** The name of the limit. */
    limit: Schema.String,
    retryAfterMs: Schema.Finite
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
