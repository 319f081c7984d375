/** The JSON of the HTTP API. Types only: the client itself would be larger than the whole console. */
export type {
  ApiKeyJson,
  CallerJson,
  ConsumerJson,
  ConsumerWithKeysJson,
  EventJson,
  FoundJson,
  GrantJson,
  ListedSubscriptionJson,
  MeteringBucketJson,
  PageJson,
  PlanJson,
  QuotasJson,
  ReservationJson,
  SearchResultsJson,
  SubscriptionJson,
  TopCustomersJson,
  UsageSeriesJson,
  VerificationJson
} from "@tollgate/core/client"
export type { OutcomesJson, RefusalJson, RefusalPageJson } from "@tollgate/decisions/client"
export type { DeploymentJson, DeploymentStatusJson } from "@tollgate/deployments/client"
export type { SessionJson, TokenJson, TokenWithValueJson } from "@tollgate/tokens/client"
export type { DeliveryJson, WebhookJson } from "@tollgate/webhooks/client"

/** An item of the lists of accounts, key buckets and projects. */
export interface NamedJson {
  readonly name: string
  readonly createdOn: string
}
