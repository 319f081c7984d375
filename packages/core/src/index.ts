/**
 * `@tollgate/core`: `createTollgate`, its options, the JSON that it returns and the errors that it throws.
 */

export type { BearerToken } from "./access/BearerToken.ts"
export { parseBearerToken } from "./access/parseBearerToken.ts"
export type { LimitOptions } from "./accounts/limits/Limits.ts"
export * from "./allErrors.ts"
export type { AuthorizeOptions } from "./authorize/AuthorizeOptions.ts"
export type { Console } from "./console/Console.ts"
export { createTollgate } from "./createTollgate.ts"
export type { DeploymentOptions } from "./deployments/config/DeploymentConfig.ts"
export * from "./handleTypes.ts"
export type { ReencryptResult } from "./keys/reencryptKeys.ts"
export type { VerifyCacheOptions } from "./keys/VerifyCache.ts"
export type { QuotaEvent } from "./metering/usage/QuotaThresholds.ts"
export type { AuthorizeResultJson } from "./promises/authorize.ts"
export type { LocalAccountHandle, LocalKeyBucketHandle } from "./promises/makeLocalHandles.ts"
export type { HostLogger } from "./runtime/HostLogger.ts"
export type { Tollgate } from "./Tollgate.ts"
export type { TollgateOptions } from "./TollgateOptions.ts"
export type { TelemetryOptions } from "./telemetry/makeHostContext.ts"
