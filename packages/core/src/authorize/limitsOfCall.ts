/**
 * What a call takes from rate limits.
 */

import { InvalidInput } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { Verified } from "../keys/Verification.ts"
import { makeTake, type RateLimitTake } from "../rateLimits/RateLimitTake.ts"
import type { AppliedRateLimit, ParsedLimits } from "./AuthorizeOptions.ts"

/** The change for each limit of a call. From limits that turn out to be one and the same, the highest cost is taken. */
export const makeTakes = (
  rateLimits: ReadonlyArray<AppliedRateLimit>,
  { consumer, keyId }: Verified
): ReadonlyArray<RateLimitTake> => {
  const takes: Array<RateLimitTake> = []
  for (const { policy, by, cost } of rateLimits) {
    const id = by === "consumer" ? consumer.id : by === "key" ? keyId : by.value
    const take = makeTake(policy, typeof by === "string" ? by : "value", id, cost)
    const index = takes.findIndex(({ change }) => change.counter === take.change.counter)
    if (index < 0) takes.push(take)
    else if ((takes[index]?.change.cost ?? 0) < cost) takes[index] = take
  }
  return takes
}

/** Fails with `InvalidInput` if the client caused the error. All other errors are mistakes of the server. */
export const resolveLimits = (limits: () => Promise<ParsedLimits>): Effect.Effect<ParsedLimits, InvalidInput> =>
  Effect.catch(Effect.tryPromise({ try: limits, catch: (error) => error }), (error) =>
    error instanceof InvalidInput ? Effect.fail(error) : Effect.die(error)
  )
