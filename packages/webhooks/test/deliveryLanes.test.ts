/**
 * The lanes of claimed deliveries: how many of each are claimed and attempted at once.
 */
import { AccountName } from "@tollgate/core/effect"
import { DeliveryId, WebhookId } from "@tollgate/webhooks"
import { DateTime } from "effect"
import { describe, expect, it } from "vitest"
import { type ClaimedDelivery, makeDeliveryLanes } from "../src/deliveryLanes.ts"
import type { StoredWebhook } from "../src/Webhook.ts"

const pad = (index: number) => String(index).padStart(24, "0")
const now = DateTime.makeUnsafe(0)

const makeWebhook = (account: string, index = 0): StoredWebhook => ({
  id: WebhookId.make(`whk_${pad(index)}`),
  accountName: AccountName.make(account),
  url: "https://example.com/",
  events: ["*"],
  state: "enabled",
  secrets: [],
  createdOn: now,
  updatedOn: now
})

const makeClaims = ({ id }: StoredWebhook, count: number): ReadonlyArray<ClaimedDelivery> =>
  Array.from({ length: count }, (_, index) => ({
    delivery: {
      id: DeliveryId.make(`dlv_${pad(index)}`),
      webhookId: id,
      eventId: `evt_${pad(index)}` as never,
      type: "webhook.test",
      status: "pending",
      attempts: [],
      isNew: false
    },
    claimedUntil: 0
  }))

/** Claims as much as each webhook wants, and starts what can be started. Returns how many attempts start of each. */
const start = (lanes: ReturnType<typeof makeDeliveryLanes>, webhooks: ReadonlyArray<StoredWebhook>) => {
  for (const webhook of webhooks) lanes.add(webhook, makeClaims(webhook, lanes.countWanted(webhook)))
  const started = lanes.takeAll().map(({ webhook }) => webhook.id)
  return webhooks.map(({ id }) => started.filter((other) => other === id).length)
}

describe("the lanes of deliveries", () => {
  it("attempt two deliveries of an endpoint that has not responded yet, and more of one that responds quickly", () => {
    const lanes = makeDeliveryLanes()
    const webhook = makeWebhook("acme")
    expect(start(lanes, [webhook])).toEqual([2])
    expect(lanes.countWanted(webhook)).toBe(0)
    expect(lanes.release(webhook, 20)).toBe(true)
    expect(start(lanes, [webhook])).toEqual([9])
    expect(lanes.release(webhook, 15_000)).toBe(false)
    expect(lanes.takeAll()).toEqual([])
  })

  it("start something of each endpoint of an account, also if all hang", () => {
    const lanes = makeDeliveryLanes()
    const webhooks = Array.from({ length: 20 }, (_, index) => makeWebhook("acme", index))
    expect(start(lanes, webhooks)).toEqual(webhooks.map(() => 2))
    expect(start(lanes, [makeWebhook("other", 20)])).toEqual([2])
  })

  it("tell which webhook waits for slots of others, and give it the next free one", () => {
    const lanes = makeDeliveryLanes()
    const webhooks = Array.from({ length: 250 }, (_, index) => makeWebhook(`account-${index % 13}`, index))
    start(lanes, webhooks)
    const blocked = makeWebhook("blocked", 250)
    expect([lanes.isBlocked(blocked), start(lanes, [blocked])]).toEqual([true, [0]])
    const [first = blocked] = webhooks
    lanes.release(first, 15_000)
    expect([lanes.isBlocked(blocked), start(lanes, [blocked])]).toEqual([false, [1]])
  })

  it("drop what was claimed for a webhook that is disabled or deleted, and follow a change of its URL", () => {
    const lanes = makeDeliveryLanes()
    const [one, two] = [makeWebhook("acme", 1), makeWebhook("acme", 2)]
    for (const webhook of [one, two]) lanes.add(webhook, makeClaims(webhook, 1))
    const moved = { ...two, url: "https://example.org/" }
    lanes.update("acme", [{ ...one, state: "disabled" }, moved])
    expect(lanes.takeAll().map(({ webhook }) => webhook)).toEqual([moved])
  })
})
