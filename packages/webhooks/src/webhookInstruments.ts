import { type Instrument, requestSeconds } from "@tollgate/core/module"

/** The metrics of webhooks. */
export const webhookInstruments = {
  webhookAttempts: {
    kind: "counter",
    name: "tollgate.webhooks.attempts",
    unit: "{attempt}",
    description: "Attempts to deliver an event to a webhook, by the class of the response",
    attributes: ["tollgate.outcome", "tollgate.result"]
  },
  webhookDuration: {
    kind: "histogram",
    name: "tollgate.webhooks.duration",
    unit: "s",
    description: "Duration of attempts to deliver an event to a webhook",
    attributes: ["tollgate.outcome"],
    boundaries: requestSeconds
  },
  webhookQueue: {
    kind: "gauge",
    name: "tollgate.webhooks.queue",
    unit: "{delivery}",
    description: "Deliveries that this process is making or has claimed",
    attributes: []
  }
} satisfies Readonly<Record<string, Instrument>>
