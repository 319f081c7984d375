/**
 * All errors that operations, options and stores have, for the entry points. A new error class in one of these files is
 * exported without a change here.
 */
export * from "./access/AccessError.ts"
export { LimitReached } from "./accounts/limits/LimitReached.ts"
export * from "./console/ConsoleError.ts"
export * from "./deployments/model/DeploymentError.ts"
export * from "./errors/requestErrors.ts"
export { isTollgateError, TollgateError } from "./errors/TollgateError.ts"
export * from "./keys/KeyError.ts"
export * from "./metering/model/MeteringBucketError.ts"
export * from "./metering/model/PlanError.ts"
export * from "./metering/model/QuotaError.ts"
export * from "./metering/model/ReservationError.ts"
export * from "./metering/model/SubscriptionError.ts"
export { RateLimited } from "./rateLimits/RateLimitError.ts"
export * from "./records/ConsumerError.ts"
export { ConfigurationError } from "./runtime/ConfigurationError.ts"
export { InvalidInput } from "./schema/InvalidInput.ts"
export { VersionMismatch } from "./schema/VersionMismatch.ts"
export { IdempotencyKeyReused, ReplayUnavailable } from "./store/IdempotencyError.ts"
export { RecordUnreadable, StoreConflict, StoreOpenError, StoreUnavailable } from "./store/StoreError.ts"
export * from "./webhooks/WebhookError.ts"
