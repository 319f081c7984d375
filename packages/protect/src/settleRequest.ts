/**
 * Lets a route say what a request has used of what it has reserved. A request that says nothing is charged what it has
 * reserved if it succeeded, and nothing otherwise.
 */

import { ConfigurationError } from "@tollgate/core"
import type { Amounts } from "@tollgate/core/effect"
import { type BackgroundTasks, isPlainObject, type RequestCharge } from "@tollgate/core/internal"
import { Deferred, Effect } from "effect"
import { endReservation, notCharged, notGivenBack } from "./endReservation.ts"
import { makeReport, type ReportOutcome } from "./reportOutcome.ts"

/**
 * Says what the request has used: 0 up to what the route reserves of each meter; those that you do not name count 0. Call it
 * before or just after the end of the response. It counts in the background, and returns `false` without an effect if the
 * request is settled already. Throws a `ConfigurationError` for other amounts.
 */
export type SettleRequest = (used: Readonly<Record<string, number>>) => boolean

/** How long after the end of a response that succeeded the route may still settle it. */
const settleAfterEnd = "1 second"

/** Throws unless each amount is one of what was reserved. */
const checkUsed = (used: unknown, reserved: Amounts): Amounts => {
  const fail = (problem: string): never => {
    throw new ConfigurationError({ option: "settle", problem })
  }
  // A promise that was not awaited, or a Map, would count 0.
  if (!isPlainObject(used)) return fail("must be an object such as { tokens: 1234 }")
  const amounts = Object.entries(used)
  for (const [meter, amount] of amounts) {
    const max = Object.hasOwn(reserved, meter) ? reserved[meter] : undefined
    if (max === undefined) return fail(`${meter} is not a meter that the route reserves`)
    if (!Number.isSafeInteger(amount) || amount < 0) return fail(`${meter} must be an integer from 0`)
    if (amount > max) return fail(`${meter} must be at most ${max}, which the route reserves, and not ${amount}`)
  }
  return Object.fromEntries(amounts)
}

interface Settlement {
  readonly settle: SettleRequest
  readonly reportOutcome?: ReportOutcome | undefined
}

/** Of a request that has reserved nothing. */
export const nothingToSettle: Settlement = { settle: () => false }

export const makeSettlement = (
  { reservationId, includesPartial, meters, settle, release, countReleased }: RequestCharge,
  { start, pause }: BackgroundTasks
): Settlement => {
  let state: "open" | "released" | "settled" = "open"
  const released = Deferred.makeUnsafe<boolean>()

  const charge = (used: Amounts) => {
    const wasReleased = state === "released"
    state = "settled"
    const ending = wasReleased
      ? // What was not given back is still reserved.
        Effect.flatMap(Deferred.await(released), (isReleased) => (isReleased ? countReleased(used) : settle(used)))
      : settle(used)
    start(Effect.asVoid(endReservation(reservationId, ending, notCharged)))
  }

  const giveBack = () => {
    state = "released"
    const ending = endReservation(reservationId, release, notGivenBack)
    start(Effect.flatMap(ending, (isReleased) => Effect.asVoid(Deferred.succeed(released, isReleased))))
  }

  return {
    settle: (used) => {
      const amounts = checkUsed(used, meters)
      if (state === "settled") return false
      charge(amounts)
      return true
    },
    reportOutcome: makeReport(includesPartial, (isCharged) => {
      if (state !== "open") return
      if (!isCharged) return giveBack()
      const chargeUnlessSettled = Effect.sync(() => {
        if (state === "open") charge(meters)
      })
      start(Effect.andThen(pause(settleAfterEnd), chargeUnlessSettled))
    })
  }
}
