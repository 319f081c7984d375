/**
 * Permits to resolve names. A name whose servers do not answer holds one for seconds, so accounts take turns, and the
 * checks of new URLs do not delay deliveries.
 */
import type { FairSemaphore } from "@tollgate/core/module"
import { Context, Effect } from "effect"
import { ResolverBusy } from "./ResolutionError.ts"

export interface Resolution {
  readonly accountName: string
  readonly purpose: "check" | "delivery"
}

/** For whom a name is resolved. */
export const CurrentResolution = Context.Reference<Resolution>("@tollgate/webhooks/CurrentResolution", {
  defaultValue: () => ({ accountName: "", purpose: "delivery" })
})

/** With a query of 4 seconds, a resolution takes at most the 5 that it has. */
const maxWaitMs = 1_000

const awaitTurn = Effect.timeoutOrElse({
  duration: maxWaitMs,
  orElse: () => Effect.fail(new ResolverBusy())
})

/** Makes a function that runs a resolution when it has a permit. */
export const makeResolutionTurns =
  (permits: Readonly<Record<Resolution["purpose"], FairSemaphore>>) =>
  <A, E, R>(resolution: Effect.Effect<A, E, R>): Effect.Effect<A, E | ResolverBusy, R> =>
    Effect.flatMap(CurrentResolution, ({ accountName, purpose }) =>
      permits[purpose].withPermit(accountName, resolution, awaitTurn)
    )
