/**
 * The load that several processes put on the usage of the same subscriptions, in rounds: the clock is the same in all
 * processes and stands still during a round, so that it is known in which hour each call counts.
 */
import { makeRandom } from "./random.ts"
import type { MeteredSubscription, Meters, UsageGate } from "./usageGate.ts"
import type { Count, OpenReservation } from "./usageModel.ts"

const [lanes, callsPerLane] = [6, 8]
/**
 * While the clock moves. Tollgate forgets a reservation a day after its end; processes whose clocks are hours apart open each
 * other's hours in turn, so a call may give up.
 */
const movingErrors = ["ReservationExpired", "ReservationNotFound", "StoreConflict"]

export interface UsageRound {
  readonly seed: number
  /** In epoch milliseconds. */
  readonly now: number
  /** Whether the clock moves during the round, so that reservations may expire. */
  readonly isClockMoving: boolean
}

export interface UsageRoundResult {
  /** The acknowledged usage since the start, and the reservations that are open after this round. */
  readonly counts: ReadonlyArray<Count>
  readonly open: ReadonlyArray<OpenReservation>
  readonly refused: number
  /** How often a call was refused because its subscription is canceled. */
  readonly canceled: number
  readonly failures: ReadonlyArray<string>
}

/** Usage is recorded only on the last subscription, so that the others never exceed their maxima. */
export const makeUsageLoad = (
  gate: UsageGate,
  bucketId: string,
  subscriptions: Readonly<Record<string, MeteredSubscription>>
) => {
  const counts: Array<Count> = []
  const failures: Array<string> = []
  const names = Object.keys(subscriptions)
  let open: ReadonlyArray<OpenReservation> = []
  let [refused, canceled] = [0, 0]

  const addCounts = (subscription: string, meters: Meters, at: number) => {
    for (const [meter, amount] of Object.entries(meters)) {
      if (amount > 0) counts.push({ subscription, meter, amount, at })
    }
  }

  return async ({ seed, now, isClockMoving }: UsageRound): Promise<UsageRoundResult> => {
    const { pick, below, chance } = makeRandom(seed)
    open = open.filter(({ expiresAt }) => expiresAt > now)

    const endOne = async (reservation: OpenReservation, subscription: MeteredSubscription) => {
      const { id = "", meters, madeAt, subscription: name } = reservation
      open = open.filter((other) => other !== reservation)
      if (chance(0.3)) return gate.release(bucketId, subscription, id)
      const used = Object.fromEntries(Object.entries(meters).map(([meter, amount]) => [meter, below(amount + 1)]))
      await gate.settle(bucketId, subscription, id, used)
      addCounts(name, used, madeAt)
    }
    const callOnce = async () => {
      const name = pick(names)
      const subscription = subscriptions[name]
      if (subscription === undefined) return
      const meters = pick<Meters>([
        { requests: 1 + below(3) },
        { tokens: 1 + below(3) },
        { requests: 1, tokens: 2 },
        { calls: 1 + below(3) }
      ])
      const kind = pick(["consume", "consume", "record", "reserve", "reserve", "end", "end", "read", "adjust"])
      const reservation = pick(open.filter((other) => other.subscription === name))
      if (kind === "read") await gate.quotas(bucketId, subscription)
      else if (kind === "end" && reservation !== undefined) await endOne(reservation, subscription)
      else if (kind === "reserve") {
        const id = await gate.reserve(bucketId, subscription, { meters, expiresIn: 3_600 })
        open = [...open, { id, subscription: name, meters, madeAt: now, expiresAt: now + 3_600_000 }]
      } else if (kind === "adjust") {
        const meter = pick(["requests", "tokens", "calls"])
        await gate.adjust(bucketId, subscription, meter, -1)
        counts.push({ subscription: name, meter, amount: -1, at: now })
      } else if (kind === "record" && name === names.at(-1)) {
        await gate.record(bucketId, subscription, meters)
        addCounts(name, meters, now)
      } else {
        await gate.consume(bucketId, subscription, meters)
        addCounts(name, meters, now)
      }
    }
    const runLane = async () => {
      for (let call = 0; call < callsPerLane; call++) {
        await callOnce().catch((error) => {
          if (error?._tag === "QuotaExceeded" || error?._tag === "BelowZero") refused++
          else if (error?._tag === "SubscriptionNotActive" && error.detail.includes("canceled")) canceled++
          else if (error?._tag === "UnknownMeter" && error.meter === "requests") refused++
          else if (!isClockMoving || !movingErrors.includes(error?._tag)) failures.push(String(error?.stack ?? error))
        })
      }
    }
    await Promise.all(Array.from({ length: lanes }, runLane))
    return { counts, open, refused, canceled, failures }
  }
}
