import { openSharedStore, type SharedStore } from "./sharedStores.ts"
import { makeUsageLoad, type UsageRound } from "./usageContention.ts"
import { type MeteredSubscription, makeMovableClock, openUsageGate } from "./usageGate.ts"

export interface UsageContenderInput {
  readonly shared: SharedStore
  readonly secret: string
  readonly start: number
  readonly bucketId: string
  readonly subscriptions: Readonly<Record<string, MeteredSubscription>>
}

export type UsageContenderMessage =
  | { readonly _tag: "open"; readonly input: UsageContenderInput }
  | { readonly _tag: "round"; readonly round: UsageRound }
  /** Moves the clock during a round. */
  | { readonly _tag: "clock"; readonly now: number }

const clock = makeMovableClock(0)
let runRound: ReturnType<typeof makeUsageLoad> | undefined

/** Opens the store, then runs a round of the load for each message, and replies to both. */
process.on("message", async (message: UsageContenderMessage) => {
  if (message._tag === "open") {
    const { shared, secret, start, bucketId, subscriptions } = message.input
    clock.set(start)
    const gate = await openUsageGate(await openSharedStore(shared), clock, secret)
    runRound = makeUsageLoad(gate, bucketId, subscriptions)
    process.send?.("open")
  } else if (message._tag === "clock") clock.set(message.now)
  else {
    clock.set(message.round.now)
    process.send?.(await runRound?.(message.round))
  }
})
