import { SubscriptionNotActive } from "../model/QuotaError.ts"
import { SubscriptionNotFound } from "../model/SubscriptionError.ts"

/** Why a customer may not use anything: it has no subscription, or none in a status that allows usage. */
export type SubscriptionRefusal = "no-subscription" | "subscription-not-active"

/** The error of usage that is recorded for such a customer. */
export const toRecordingError = (
  refusal: SubscriptionRefusal,
  customerKey: string
): SubscriptionNotFound | SubscriptionNotActive =>
  refusal === "no-subscription"
    ? new SubscriptionNotFound({
        subscriptionId: "",
        detail: `The customer "${customerKey}" has no subscription in this metering bucket`
      })
    : new SubscriptionNotActive({})
