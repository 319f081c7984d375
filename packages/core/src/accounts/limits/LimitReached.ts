import { defineError } from "@tollgate/store/internal"
import { Schema } from "effect"
import { coreLimits, type LimitDescriptions } from "./Limits.ts"

/** The new record would exceed a limit. */
export class LimitReached extends defineError<LimitReached>()(
  "LimitReached",
  {
    code: "limit-reached",
    status: 409,
    title: "Limit reached",
    meaning: "A new record would exceed one of the limits of the account, the key bucket or the metering bucket.",
    remedy:
      "Do what `detail` says: remove a record, use an existing key bucket or meter, or wait for uploads. Or the operator " +
      "raises the limit: `limit` is its name in the option `limits`.",
    detail: ({ limit, max }) => `At most ${max.toLocaleString("en-US")} are allowed. Raise limits.${limit}.`
  },
  {
    limit: Schema.String.annotate({ description: "The limit, named as in the option `limits`." }),
    max: Schema.Int.annotate({ description: "The value of the limit." })
  }
) {}

/** Makes the function that makes the error of a limit that was reached. */
export const makeLimitReached =
  <Descriptions extends LimitDescriptions>(descriptions: Descriptions) =>
  (limit: keyof Descriptions & string, max: number): LimitReached => {
    const { owner, items, remedy } = descriptions[limit] as LimitDescriptions[string]
    const detail = `${owner} may have at most ${max.toLocaleString("en-US")} ${items}. ${remedy} or raise limits.${limit}.`
    return new LimitReached({ limit, max, detail })
  }

/** The error of a limit of core that was reached. */
export const limitReached = makeLimitReached(coreLimits)
