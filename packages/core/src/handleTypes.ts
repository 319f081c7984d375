/**
 * The types of handles, methods and JSON, which a Tollgate in process and a client have in common.
 */
export type { AccountDetailsJson, AccountsMethods } from "./accounts/AccountsApi.ts"
export type { AccessMethods } from "./api/AccessApi.ts"
export type {
  CallOptions,
  ConditionalCallOptions,
  IdempotentCallOptions,
  PageJson,
  PageOptions,
  PagePromise,
  Versioned
} from "./api/Methods.ts"
export type { ConsumersMethods, ConsumerWithKeysJson } from "./consumers/ConsumersApi.ts"
export type { DeploymentsMethods } from "./deployments/DeploymentsApi.ts"
export type { DeploymentJson } from "./deployments/model/Deployment.ts"
export type { DeploymentStatusJson } from "./deployments/model/DeploymentStatus.ts"
export type { ProjectsMethods } from "./deployments/ProjectsApi.ts"
export type { EventsMethods } from "./events/EventsApi.ts"
export type { KeyBucketsMethods } from "./keys/KeyBucketsApi.ts"
export type { KeysMethods } from "./keys/KeysApi.ts"
export type { VerificationJson } from "./keys/Verification.ts"
export type { MeteringBucketsMethods } from "./metering/buckets/MeteringBucketsApi.ts"
export type { MeteringBucketJson } from "./metering/model/MeteringBucket.ts"
export type { PlanJson } from "./metering/model/Plan.ts"
export type { QuotasJson } from "./metering/model/Quota.ts"
export type { ReservationJson } from "./metering/model/Reservation.ts"
export type { SubscriptionJson } from "./metering/model/Subscription.ts"
export type { UsageSeriesJson } from "./metering/model/UsageSeries.ts"
export type { PlanCreateInput, PlansMethods } from "./metering/plans/PlansApi.ts"
export type {
  QuotaMethods,
  SubscriptionCreateInput,
  SubscriptionsMethods
} from "./metering/subscriptions/SubscriptionsApi.ts"
export type { UsageMethods } from "./metering/usage/UsageApi.ts"
export type { EventJson } from "./outbox/Event.ts"
export type {
  AccountHandle,
  EventsHandle,
  KeyBucketHandle,
  MeteringBucketHandle,
  MeteringBucketsHandle,
  ProjectHandle,
  UploadedSource
} from "./promises/handles.ts"
export type { ApiKeyJson } from "./records/ApiKey.ts"
export type { ConsumerJson } from "./records/Consumer.ts"
export type { DeliveryJson } from "./webhooks/Delivery.ts"
export type { WebhookJson } from "./webhooks/Webhook.ts"
export type { WebhooksMethods } from "./webhooks/WebhooksApi.ts"
