/**
 * The alerts of a customer, as the tests use them, and the events that they have triggered.
 */
import { AccountName, type AlertCondition, Alerts, Events } from "@tollgate/core/effect"
import { Store } from "@tollgate/store"
import { waitForEvents } from "@tollgate/testing"
import { Effect } from "effect"

/** The events of alerts, oldest first, after all events have arrived. */
export const readAlertEvents = Effect.gen(function* () {
  yield* waitForEvents(yield* Store)
  const params = { accountName: AccountName.make("acme") }
  const query = { limit: 1_000, offset: 0, order: "asc", type: "alert.*" } as const
  return (yield* (yield* Events).list({ params, query })).data
})

/** What has triggered alerts: the conditions, and what was used and remained. */
export const readTriggered = Effect.map(readAlertEvents, (events) =>
  events
    .filter(({ type }) => type === "alert.triggered")
    .map(({ data }) => [data["meter"], data["when"], data["used"], data["remaining"]])
)

/** The operations on the alerts of a customer. */
export const useAlerts = Effect.fnUntraced(function* (bucketId: string, customerKey = "alice") {
  const alerts = yield* Alerts
  const params = { bucketId, customerKey }
  return {
    create: (meter: string, when: typeof AlertCondition.Type) => alerts.create({ params, payload: { meter, when } }),
    list: (query: { readonly limit?: number; readonly offset?: number; readonly after?: number } = {}) =>
      alerts.list({ params, query: { limit: 1_000, offset: 0, ...query } }),
    get: (alertId: string) => alerts.get({ params: { ...params, alertId } }),
    remove: (alertId: string) => alerts.remove({ params: { ...params, alertId } })
  }
})
