/** What failed lately: deployments, webhooks that were disabled, and deliveries. */
import { get, toPath } from "@tollgate/ui/api/request.ts"
import type { DeliveryJson, EventJson, PageJson, WebhookJson } from "../../api/types.ts"
import { linkTo } from "../../routing/router.ts"
import { getText, loadEvents } from "./eventData.ts"
import type { Inventory } from "./inventory.ts"

export interface Failure {
  readonly id: string
  readonly failedOn: string
  readonly what: string
  readonly why: string
  readonly link: string
}

const maxShown = 10
/** How many events, and deliveries of each webhook, are looked at. */
const maxEvents = 10
const maxDeliveries = 20
const maxWebhooks = 5

const toDeploymentFailure = (event: EventJson): Failure => ({
  id: event.id,
  failedOn: event.occurredOn,
  what: `Deployment ${getText(event, "name")}`,
  why: getText(event, "message") || "It could not be deployed",
  link: linkTo(["accounts", event.accountName, "deployments", getText(event, "projectName"), getText(event, "name")])
})

const toWebhookFailure = (event: EventJson): Failure => ({
  id: event.id,
  failedOn: event.occurredOn,
  what: `Webhook ${getText(event, "url")} was disabled`,
  why: getText(event, "disabledReason") || "Its endpoint failed",
  link: linkTo(["accounts", event.accountName, "webhooks", event.subject.id])
})

/** A delivery of a webhook that was not received, and how many more there are. */
const toDeliveryFailure = (account: string, webhook: WebhookJson, delivery: DeliveryJson, others: number): Failure => {
  const last = delivery.attempts.at(-1)
  const why = last?.error ?? (last?.statusCode === undefined ? "It was not sent" : `Status ${last.statusCode}`)
  return {
    id: delivery.id,
    failedOn: last?.startedOn ?? webhook.updatedOn,
    what: `Delivery of ${delivery.type} to ${webhook.url}`,
    why: [
      why,
      ...(delivery.status === "pending" ? ["it is tried again"] : []),
      ...(others > 0 ? [`${others} more`] : [])
    ].join("; "),
    link: linkTo(["accounts", account, "webhooks", webhook.id])
  }
}

const loadDeliveries = async (
  account: string,
  webhook: WebhookJson,
  signal: AbortSignal
): Promise<ReadonlyArray<Failure>> => {
  const path = toPath("/v1/accounts", account, "webhooks", webhook.id, "deliveries")
  const { data } = await get<PageJson<DeliveryJson>>(path, { limit: maxDeliveries }, signal)
  const failed = data.filter(
    ({ status, attempts }) => status === "failed" || (status === "pending" && attempts.length > 0)
  )
  // One that was sent says what the endpoint answered.
  const shown = failed.find(({ attempts }) => attempts.length > 0) ?? failed[0]
  return shown === undefined ? [] : [toDeliveryFailure(account, webhook, shown, failed.length - 1)]
}

export const loadFailures = async (
  account: string,
  inventory: Inventory,
  signal: AbortSignal
): Promise<ReadonlyArray<Failure>> => {
  const webhooks = inventory.webhooks?.first ?? []
  // A server without deployments or webhooks does not know their events.
  const [deployments, disabled, ...deliveries] = await Promise.all([
    inventory.projects === undefined ? [] : loadEvents(account, "deployment.failed", maxEvents, signal),
    inventory.webhooks === undefined ? [] : loadEvents(account, "webhook.disabled", maxEvents, signal),
    ...webhooks.slice(0, maxWebhooks).map((webhook) => loadDeliveries(account, webhook, signal))
  ])
  // A webhook that was enabled again or removed needs no attention any more.
  const isDisabled = (id: string): boolean =>
    webhooks.some((webhook) => webhook.id === id && webhook.state === "disabled")
  return [
    ...deployments.map(toDeploymentFailure),
    ...disabled.filter(({ subject }) => isDisabled(subject.id)).map(toWebhookFailure),
    ...deliveries.flat()
  ]
    .sort((one, other) => Date.parse(other.failedOn) - Date.parse(one.failedOn))
    .slice(0, maxShown)
}
