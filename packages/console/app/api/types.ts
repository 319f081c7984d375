/** The JSON of the HTTP API. Types only: the client itself would be larger than the whole console. */
export type {
  ApiKeyJson,
  CallerJson,
  ConsumerJson,
  ConsumerWithKeysJson,
  DeliveryJson,
  DeploymentJson,
  DeploymentStatusJson,
  EventJson,
  MeteringBucketJson,
  PageJson,
  PlanJson,
  QuotasJson,
  ReservationJson,
  SubscriptionJson,
  UsageSeriesJson,
  VerificationJson,
  WebhookJson
} from "@tollgate/core/client"

/** An item of the lists of accounts, key buckets and projects. */
export interface NamedJson {
  readonly name: string
  readonly createdOn: string
}
