/**
 * `@tollgate/core`: `createTollgate`, its options, the JSON that it returns and the errors that it throws.
 */

export type { HostLogger } from "@tollgate/store/internal"
export type { BearerToken } from "./access/BearerToken.ts"
export { parseBearerToken } from "./access/parseBearerToken.ts"
export type { LimitOptions } from "./accounts/limits/Limits.ts"
export * from "./allErrors.ts"
export type { AuthorizeOptions } from "./authorize/AuthorizeOptions.ts"
export type { DecisionNotice } from "./authorize/decisionHooks.ts"
export { createTollgate } from "./createTollgate.ts"
export * from "./handleTypes.ts"
export type { ReencryptResult } from "./keys/reencryptKeys.ts"
export type { VerifyCacheOptions } from "./keys/VerifyCache.ts"
export type { QuotaEvent } from "./metering/usage/QuotaThresholds.ts"
export type { Module } from "./modules/Module.ts"
export type { AuthorizeResultJson } from "./promises/authorize.ts"
export type { LocalAccountHandle, LocalKeyBucketHandle } from "./promises/makeLocalHandles.ts"
export type { Tollgate } from "./Tollgate.ts"
export type { TollgateOptions } from "./TollgateOptions.ts"
export type { TelemetryOptions } from "./telemetry/makeHostContext.ts"
