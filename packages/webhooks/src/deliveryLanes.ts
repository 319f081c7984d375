/**
 * The deliveries that this process has claimed and will attempt next: a lane for each webhook. The lanes take turns.
 */
import type { Event } from "@tollgate/core/module"
import type { StoredDelivery } from "./Delivery.ts"
import { makeDeliverySlots } from "./deliverySlots.ts"
import type { StoredWebhook } from "./Webhook.ts"

export interface ClaimedDelivery {
  readonly delivery: StoredDelivery
  /** Missing if it is no longer in the log. */
  readonly event?: Event | undefined
  /** When the claim expires, in milliseconds. */
  readonly claimedUntil: number
}

interface Lane {
  /** As last read. */
  webhook: StoredWebhook
  queue: Array<ClaimedDelivery>
  /** Whether the last response came within a second. */
  isFast: boolean
  attempts: number
}

/** How many deliveries of a fast endpoint are claimed at once. */
const maxClaims = 50
/** A response within this time is fast. */
const fastMs = 1_000

export const makeDeliveryLanes = () => {
  const lanes = new Map<string, Lane>()
  const slots = makeDeliverySlots()

  const countFree = ({ webhook: { accountName, id }, isFast }: Lane): number => slots.countFree(accountName, id, isFast)

  const getLane = (webhook: StoredWebhook): Lane =>
    lanes.get(webhook.id) ?? { webhook, queue: [], isFast: false, attempts: 0 }

  const forgetIfIdle = (lane: Lane): void => {
    if (lane.queue.length === 0 && lane.attempts === 0) lanes.delete(lane.webhook.id)
  }

  return {
    /** How many deliveries are claimed or being attempted. */
    count: (): number => [...lanes.values()].reduce((sum, { queue, attempts }) => sum + queue.length + attempts, 0),
    /** The accounts with deliveries that are claimed or being attempted. */
    accounts: (): ReadonlySet<string> => new Set([...lanes.values()].map(({ webhook }) => webhook.accountName)),
    /** How many deliveries of a webhook to claim now. */
    countWanted: (webhook: StoredWebhook): number => {
      const lane = getLane(webhook)
      if (lane.queue.length > 0) return 0
      const free = Math.max(0, countFree(lane))
      return lane.isFast && free > 0 ? maxClaims : free
    },
    /** Whether others take all slots that the webhook could have. */
    isBlocked: (webhook: StoredWebhook): boolean => {
      const lane = getLane(webhook)
      return webhook.state === "enabled" && lane.attempts === 0 && lane.queue.length === 0 && countFree(lane) <= 0
    },
    add: (webhook: StoredWebhook, claimed: ReadonlyArray<ClaimedDelivery>): void => {
      const lane = getLane(webhook)
      lane.queue.push(...claimed)
      lanes.set(webhook.id, lane)
    },
    /** Takes over changes of the webhooks of an account, and drops what was claimed for those that are not enabled. */
    update: (accountName: string, webhooks: ReadonlyArray<StoredWebhook>): void => {
      const enabled = new Map(
        webhooks.filter(({ state }) => state === "enabled").map((webhook) => [webhook.id, webhook])
      )
      for (const lane of [...lanes.values()].filter(({ webhook }) => webhook.accountName === accountName)) {
        const webhook = enabled.get(lane.webhook.id)
        if (webhook === undefined) lane.queue = []
        else lane.webhook = webhook
        forgetIfIdle(lane)
      }
    },
    /** Takes as many deliveries as there are free slots: one of each lane, then the next of each. */
    takeAll: (): ReadonlyArray<{ readonly webhook: StoredWebhook; readonly claimed: ClaimedDelivery }> => {
      const taken: Array<{ readonly webhook: StoredWebhook; readonly claimed: ClaimedDelivery }> = []
      for (let before = -1; before < taken.length; ) {
        before = taken.length
        for (const lane of lanes.values()) {
          const claimed = countFree(lane) > 0 ? lane.queue.shift() : undefined
          if (claimed === undefined) continue
          slots.take(lane.webhook.accountName, lane.webhook.id)
          lane.attempts++
          taken.push({ webhook: lane.webhook, claimed })
        }
      }
      return taken
    },
    /** Frees the slot of an attempt that took this long. Returns whether the lane is empty. */
    release: ({ accountName, id }: StoredWebhook, durationMs: number): boolean => {
      slots.release(accountName, id)
      const lane = lanes.get(id)
      if (lane === undefined) return true
      lane.attempts--
      lane.isFast = durationMs < fastMs
      const isEmpty = lane.queue.length === 0
      forgetIfIdle(lane)
      return isEmpty
    }
  }
}
