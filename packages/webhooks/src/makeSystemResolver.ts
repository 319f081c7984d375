/**
 * Resolves names as other programs of the machine do, with its hosts file and search domains.
 */

import { lookup } from "node:dns/promises"
import { FairSemaphore } from "@tollgate/core/module"
import { Effect, Fiber } from "effect"
import { type ResolutionError, type ResolverBusy, toResolutionError } from "./ResolutionError.ts"
import { makeResolutionTurns } from "./resolutionTurns.ts"

export type LookUp = (host: string) => Promise<ReadonlyArray<{ readonly address: string }>>

const lookUpAll: LookUp = (host) => lookup(host, { all: true, order: "verbatim" })

/**
 * One lookup at a time, because by default Node runs only two in its thread pool, and the host needs the other for its
 * own connections. A lookup cannot be cancelled, so it keeps the permit until it ends, also after its caller has gone.
 */
export const makeSystemResolver = (lookUp: LookUp = lookUpAll) => {
  const permits = new FairSemaphore(1)
  const inTurn = makeResolutionTurns({ check: permits, delivery: permits })
  return (host: string): Effect.Effect<ReadonlyArray<string>, ResolutionError | ResolverBusy> =>
    Effect.tryPromise({ try: () => lookUp(host), catch: toResolutionError }).pipe(
      Effect.map((answers) => answers.map(({ address }) => address)),
      Effect.uninterruptible,
      inTurn,
      Effect.forkDetach,
      Effect.flatMap((fiber) => Effect.onInterrupt(Fiber.join(fiber), () => Effect.sync(() => fiber.interruptUnsafe())))
    )
}
