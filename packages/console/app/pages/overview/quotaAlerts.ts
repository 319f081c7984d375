/** Quotas near their end, from the events that are written when usage reaches a share of a quota. */
import type { EventJson } from "../../api/types.ts"
import { linkTo } from "../../routing/router.ts"
import { getNumber, getText, loadEvents } from "./eventData.ts"

export interface QuotaAlert {
  readonly id: string
  readonly reachedOn: string
  readonly customerKey: string
  readonly meter: string
  readonly used: number
  readonly max: number
  readonly resetsOn: string
  readonly link: string
}

const maxEvents = 100
const maxShown = 10

const toAlert = (event: EventJson): QuotaAlert => ({
  id: event.id,
  reachedOn: event.occurredOn,
  customerKey: getText(event, "customerKey"),
  meter: getText(event, "meter"),
  used: getNumber(event, "used"),
  max: getNumber(event, "max"),
  resetsOn: getText(event, "resetsOn"),
  link: linkTo([
    "accounts",
    event.accountName,
    "metering",
    getText(event, "meteringBucketId"),
    "subscriptions",
    getText(event, "subscriptionId")
  ])
})

/** The newest alert of each subscription and meter whose period is not over. */
export const loadQuotaAlerts = async (account: string, signal: AbortSignal): Promise<ReadonlyArray<QuotaAlert>> => {
  const events = await loadEvents(account, "quota.threshold_reached", maxEvents, signal)
  const now = Date.now()
  const newest = new Map<string, QuotaAlert>()
  for (const alert of events.map(toAlert)) {
    const key = JSON.stringify([alert.link, alert.meter])
    if (!newest.has(key) && Date.parse(alert.resetsOn) > now) newest.set(key, alert)
  }
  return [...newest.values()].slice(0, maxShown)
}
