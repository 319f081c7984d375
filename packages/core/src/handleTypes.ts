/**
 * The types of handles, methods and JSON, which a Tollgate in process and a client have in common.
 */
export type { AccountDetailsJson, AccountsMethods } from "./accounts/AccountsApi.ts"
export type { AccessMethods } from "./api/AccessApi.ts"
export type {
  CallOptions,
  ConditionalCallOptions,
  FoundJson,
  FoundPromise,
  IdempotentCallOptions,
  PageJson,
  PageOptions,
  PagePromise,
  Versioned
} from "./api/Methods.ts"
export type { CreatedConsumerJson } from "./consumers/ConsumerCreate.ts"
export type { ConsumersMethods, ConsumerWithKeysJson } from "./consumers/ConsumersApi.ts"
export type { EventsMethods } from "./events/EventsApi.ts"
export type { KeyBucketsMethods } from "./keys/KeyBucketsApi.ts"
export type { KeysMethods } from "./keys/KeysApi.ts"
export type { VerificationJson } from "./keys/Verification.ts"
export type { AlertsMethods } from "./metering/alerts/AlertsApi.ts"
export type { MeteringBucketsMethods } from "./metering/buckets/MeteringBucketsApi.ts"
export type { GrantsMethods } from "./metering/credits/GrantsApi.ts"
export type { CustomerMethods, CustomersMethods } from "./metering/customers/CustomersApi.ts"
export type { AlertJson } from "./metering/model/Alert.ts"
export type { CustomerJson, ListedCustomerJson } from "./metering/model/Customer.ts"
export type { GrantJson } from "./metering/model/Grant.ts"
export type { MeteringBucketJson } from "./metering/model/MeteringBucket.ts"
export type { EnsuredPlansJson, PlanJson } from "./metering/model/Plan.ts"
export type { QuotasJson } from "./metering/model/Quota.ts"
export type { ReservationJson } from "./metering/model/Reservation.ts"
export type { ListedSubscriptionJson, SubscriptionJson } from "./metering/model/Subscription.ts"
export type { SubscriptionUsageJson, TopCustomersJson } from "./metering/model/SubscriptionUsage.ts"
export type { RecordedEventsJson, UsageEventJson } from "./metering/model/UsageEvent.ts"
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
  CustomerHandle,
  EventsHandle,
  KeyBucketHandle,
  MeteringBucketHandle,
  MeteringBucketsHandle,
  VerifyOptions
} from "./promises/handles.ts"
export type { ApiKeyJson } from "./records/ApiKey.ts"
export type { ConsumerJson } from "./records/Consumer.ts"
export type { SearchResultsJson } from "./search/SearchApi.ts"
