/**
 * Resolves names with queries to the DNS. `dns.lookup` would occupy a thread of the pool until the DNS answers, and
 * cannot be cancelled: a few names whose servers never answer would block every other lookup of the process.
 */

import { Resolver } from "node:dns/promises"
import { FairSemaphore } from "@tollgate/core/module"
import { Effect } from "effect"
import { getErrorCode, type ResolutionError, type ResolverBusy, toResolutionError } from "./ResolutionError.ts"
import { makeResolutionTurns } from "./resolutionTurns.ts"

/** How many names are resolved at once, for deliveries and for checks of URLs. Further ones wait. */
const maxDeliveries = 100
const maxChecks = 20

const queryTimeoutMs = 4_000

type Answer = PromiseSettledResult<ReadonlyArray<string>>

/** Merges the answers for both families. A name often has no address, or a failing server, for one of them. */
const mergeAnswers = (answers: ReadonlyArray<Answer>): Effect.Effect<ReadonlyArray<string>, ResolutionError> => {
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []))
  if (addresses.length > 0) return Effect.succeed(addresses)
  const errors = answers
    .flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []))
    .filter((error) => getErrorCode(error) !== "ENODATA")
    .map(toResolutionError)
  const error = errors.find(({ _tag }) => _tag === "ResolutionFailed") ?? errors[0]
  return error === undefined ? Effect.succeed([]) : Effect.fail(error)
}

const queryBothFamilies = (host: string, resolver: Resolver) => {
  const cancel = Effect.sync(() => resolver.cancel())
  // A cancelled query rejects, and the answer of the other family is used if there is one.
  const cancelLate = Effect.sleep(queryTimeoutMs).pipe(Effect.andThen(cancel), Effect.andThen(Effect.never))
  return Effect.promise(() => Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])).pipe(
    Effect.onInterrupt(() => cancel),
    Effect.raceFirst(cancelLate),
    Effect.flatMap(mergeAnswers)
  )
}

/** `servers` replaces the DNS servers of the machine. */
export const makeDnsResolver = (servers?: ReadonlyArray<string> | undefined) => {
  const inTurn = makeResolutionTurns({
    check: new FairSemaphore(maxChecks),
    delivery: new FairSemaphore(maxDeliveries)
  })
  const makeResolver = (): Resolver => {
    const resolver = new Resolver({ timeout: 1_500, tries: 2 })
    if (servers !== undefined) resolver.setServers(servers)
    return resolver
  }
  return (host: string): Effect.Effect<ReadonlyArray<string>, ResolutionError | ResolverBusy> =>
    inTurn(Effect.suspend(() => queryBothFamilies(host, makeResolver())))
}
