/**
 * All errors that operations, options and stores have, for the entry points. A new error class in one of these files is
 * exported without a change here.
 */

export {
  ConfigurationError,
  IdempotencyKeyReused,
  InsufficientStorage,
  InternalError,
  InvalidInput,
  isTollgateError,
  PayloadTooLarge,
  RecordUnreadable,
  ReplayUnavailable,
  RequestInProgress,
  RequestTimeout,
  ServerBusy,
  StoreConflict,
  StoreOpenError,
  StoreUnavailable,
  TollgateError,
  UnsupportedEncoding,
  UnsupportedMediaType,
  VersionMismatch
} from "@tollgate/store/internal"
export * from "./access/AccessError.ts"
export { LimitReached } from "./accounts/limits/LimitReached.ts"
export * from "./keys/KeyError.ts"
export * from "./metering/alerts/AlertError.ts"
export * from "./metering/credits/GrantError.ts"
export * from "./metering/model/CustomerError.ts"
export * from "./metering/model/FeatureError.ts"
export * from "./metering/model/MeteringBucketError.ts"
export * from "./metering/model/PlanError.ts"
export * from "./metering/model/QuotaError.ts"
export * from "./metering/model/ReservationError.ts"
export * from "./metering/model/SubscriptionError.ts"
export { RateLimited } from "./rateLimits/RateLimitError.ts"
export * from "./records/ConsumerError.ts"
