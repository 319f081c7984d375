/**
 * `@tollgate/core/effect`: the services, layers and schemas, for programs that use Effect themselves.
 */

export {
  AccountName,
  CurrentIdempotency,
  type Idempotency,
  KeyBucketName,
  type Page,
  type PageRequest,
  SecretBox,
  type SecretBoxOptions,
  SecureRandom,
  type TagFilter,
  type Tags,
  Timestamp
} from "@tollgate/store/internal"
export { type Authenticate, Authenticator } from "./access/Authenticator.ts"
export { Principal, PrincipalShape } from "./access/Principal.ts"
export { Accounts } from "./accounts/Accounts.ts"
export { Limits, type LimitsShape } from "./accounts/limits/Limits.ts"
export { Authenticated } from "./api/Authenticated.ts"
export type { Operation, OperationError, OperationRequest, OperationResult, Operations } from "./api/Operations.ts"
export { declareAll } from "./assembly/coreDeclaration.ts"
export type { CoreServices } from "./assembly/coreParts.ts"
export type { AuthorizeOptions } from "./authorize/AuthorizeOptions.ts"
export { AuthorizeRequest } from "./authorize/authorizeSchemas.ts"
export type { AuthorizeError, AuthorizeResult } from "./authorize/Decision.ts"
export { Decisions } from "./authorize/Decisions.ts"
export { AuthorizeAnswer } from "./authorize/DecisionsApi.ts"
export { makeAuthorize } from "./authorize/makeAuthorize.ts"
export { ConsumerCreate } from "./consumers/ConsumerCreate.ts"
export { Consumers } from "./consumers/Consumers.ts"
export { Events } from "./events/Events.ts"
export { type HttpHandlers, toWebHandler } from "./Http.ts"
export { ApiKeys } from "./keys/ApiKeys.ts"
export { KeyBuckets } from "./keys/KeyBuckets.ts"
export { NotVerified, Verification, Verified } from "./keys/Verification.ts"
export { VerifyCache } from "./keys/VerifyCache.ts"
export { Alerts } from "./metering/alerts/Alerts.ts"
export { MeteringBuckets } from "./metering/buckets/MeteringBuckets.ts"
export { Grants } from "./metering/credits/Grants.ts"
export { Customers } from "./metering/customers/Customers.ts"
export { UsageHistory } from "./metering/history/UsageHistory.ts"
export { Alert, AlertCondition, AlertCreate, AlertId } from "./metering/model/Alert.ts"
export { Adjustment, Customer, ListedCustomer } from "./metering/model/Customer.ts"
export { Grant, GrantCreate, GrantId, GrantState } from "./metering/model/Grant.ts"
export {
  MeteringBucket,
  MeteringBucketCreate,
  MeteringBucketId,
  MeteringBucketName
} from "./metering/model/MeteringBucket.ts"
export { Overrides } from "./metering/model/Overrides.ts"
export { PendingChange } from "./metering/model/PendingChange.ts"
export { Meter, Meters, Plan, PlanCreate, PlanId, PlanUpdate } from "./metering/model/Plan.ts"
export { Cancellation, PlanChange } from "./metering/model/PlanChange.ts"
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
export { CurrentActor } from "./outbox/CurrentActor.ts"
export { Event, EventId } from "./outbox/Event.ts"
export { EventRetention } from "./outbox/EventRetention.ts"
export { ApiKey, ApiKeyCreate, ApiKeyImport, ApiKeyUpdate, KeyId, KeyVisibility } from "./records/ApiKey.ts"
export { Consumer, ConsumerId, ConsumerName, ConsumerUpdate } from "./records/Consumer.ts"
export { KeyBucket } from "./records/KeyBucket.ts"
export { Manager, ManagerInvite, ManagersCreate } from "./records/Manager.ts"
export { Scope } from "./records/Scope.ts"
export { type EventHook, EventHooks } from "./relay/EventHooks.ts"
export { Tollgate } from "./Tollgate.ts"
export type { ServiceOptions } from "./TollgateOptions.ts"
export { Telemetry, type TelemetryShape } from "./telemetry/Telemetry.ts"
