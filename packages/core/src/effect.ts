/**
 * `@tollgate/core/effect`: the services, layers and schemas, for programs that use Effect themselves.
 */

export { type Authenticate, Authenticator } from "./access/Authenticator.ts"
export { Principal, PrincipalShape } from "./access/Principal.ts"
export { Accounts } from "./accounts/Accounts.ts"
export { Limits, type LimitsShape } from "./accounts/limits/Limits.ts"
export { Authenticated } from "./api/Authenticated.ts"
export type { Operation, OperationError, OperationRequest, OperationResult, Operations } from "./api/Operations.ts"
export type { AuthorizeOptions } from "./authorize/AuthorizeOptions.ts"
export { type AuthorizeError, type AuthorizeResult, makeAuthorize } from "./authorize/authorize.ts"
export { ConsoleSessions } from "./console/ConsoleSessions.ts"
export { Consumers } from "./consumers/Consumers.ts"
export { SecretBox, type SecretBoxOptions } from "./crypto/SecretBox.ts"
export { SecureRandom } from "./crypto/SecureRandom.ts"
export { Deployments } from "./deployments/Deployments.ts"
export { Branch, Deployment, DeploymentName, DeployResult } from "./deployments/model/Deployment.ts"
export { BuildResult, DeploymentStatus, StatusId } from "./deployments/model/DeploymentStatus.ts"
export { Projects } from "./deployments/Projects.ts"
export { type SignedUploadUrl, Uploads } from "./deployments/uploads/Uploads.ts"
export { Events } from "./events/Events.ts"
export { eventCatalog } from "./events/eventCatalog.ts"
export { type HttpHandlers, type Services, toWebHandler } from "./Http.ts"
export { ApiKeys } from "./keys/ApiKeys.ts"
export { KeyBuckets } from "./keys/KeyBuckets.ts"
export { NotVerified, Verification, Verified } from "./keys/Verification.ts"
export { VerifyCache } from "./keys/VerifyCache.ts"
export { MeteringBuckets } from "./metering/buckets/MeteringBuckets.ts"
export { UsageHistory } from "./metering/history/UsageHistory.ts"
export {
  MeteringBucket,
  MeteringBucketCreate,
  MeteringBucketId,
  MeteringBucketName
} from "./metering/model/MeteringBucket.ts"
export { Meter, Meters, Plan, PlanCreate, PlanId, PlanUpdate } from "./metering/model/Plan.ts"
export { Amounts, Consumption, Quota, Quotas } from "./metering/model/Quota.ts"
export { Reservation, ReservationCreate, ReservationId, Settlement } from "./metering/model/Reservation.ts"
export {
  Subscription,
  SubscriptionCreate,
  SubscriptionId,
  SubscriptionStatus,
  SubscriptionUpdate
} from "./metering/model/Subscription.ts"
export { UsageSeries, UsageStep } from "./metering/model/UsageSeries.ts"
export { Plans } from "./metering/plans/Plans.ts"
export { Reservations } from "./metering/reservations/Reservations.ts"
export { Subscriptions } from "./metering/subscriptions/Subscriptions.ts"
export { QuotaThresholds, type QuotaThresholdsShape } from "./metering/usage/QuotaThresholds.ts"
export { Usage } from "./metering/usage/Usage.ts"
export { Api } from "./operations/Api.ts"
export { CurrentActor } from "./outbox/CurrentActor.ts"
export { Event, EventId } from "./outbox/Event.ts"
export { EventRetention } from "./outbox/EventRetention.ts"
export { ApiKey, ApiKeyCreate, ApiKeyImport, ApiKeyUpdate, KeyId, KeyVisibility } from "./records/ApiKey.ts"
export { Consumer, ConsumerCreate, ConsumerId, ConsumerName, ConsumerUpdate } from "./records/Consumer.ts"
export { KeyBucket } from "./records/KeyBucket.ts"
export { Manager, ManagerInvite, ManagersCreate } from "./records/Manager.ts"
export { Scope } from "./records/Scope.ts"
export { type EventHook, EventHooks } from "./relay/EventHooks.ts"
export { AccountName, BranchName, KeyBucketName, ProjectName } from "./schema/Names.ts"
export type { Page, PageRequest } from "./schema/Page.ts"
export type { TagFilter, Tags } from "./schema/Tags.ts"
export { Timestamp } from "./schema/Timestamp.ts"
export { CurrentIdempotency, type Idempotency } from "./store/Idempotency.ts"
export { Tollgate } from "./Tollgate.ts"
export type { ServiceOptions } from "./TollgateOptions.ts"
export { Telemetry, type TelemetryShape } from "./telemetry/Telemetry.ts"
export { Delivery, DeliveryId } from "./webhooks/Delivery.ts"
export { Webhook, WebhookCreate, WebhookId, WebhookUpdate, WebhookWithSecret } from "./webhooks/Webhook.ts"
export { WebhookConfig } from "./webhooks/WebhookConfig.ts"
export { Webhooks } from "./webhooks/Webhooks.ts"
