import { defineError } from "@tollgate/store/internal"
import { Schema } from "effect"

export class AlertNotFound extends defineError<AlertNotFound>()(
  "AlertNotFound",
  {
    code: "alert-not-found",
    status: 404,
    title: "Alert not found",
    meaning: "The customer has no alert with this ID.",
    remedy: "Check the ID and the `customerKey`. List the alerts of the customer to find the ID.",
    detail: ({ alertId }) => `The customer has no alert "${alertId}"`
  },
  { alertId: Schema.String.annotate({ description: "The requested ID." }) }
) {}

export class TooManyAlerts extends defineError<TooManyAlerts>()(
  "TooManyAlerts",
  {
    code: "too-many-alerts",
    status: 409,
    title: "Too many alerts",
    meaning: "The customer has as many alerts as it may have.",
    remedy: "Remove an alert that is not needed.",
    detail: ({ max }) => `A customer may have at most ${max} alerts. Remove one first.`
  },
  { max: Schema.Int.annotate({ description: "The maximum." }) }
) {}
