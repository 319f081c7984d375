/**
 * `@tollgate/core/client`: the client for a Tollgate in another process, the JSON that it returns and the errors that it
 * throws.
 */

export * from "./allErrors.ts"
export type { CallOptions, PageJson, PagePromise, Versioned } from "./api/Methods.ts"
export { type ClientOptions, createClient, type TollgateClient } from "./client/createClient.ts"
export { ServerUnreachable } from "./client/ServerUnreachable.ts"
export type { ConsumerWithKeysJson } from "./consumers/ConsumersApi.ts"
export type { DeploymentJson } from "./deployments/model/Deployment.ts"
export type { DeploymentStatusJson } from "./deployments/model/DeploymentStatus.ts"
export type { VerificationJson } from "./keys/Verification.ts"
export type { MeteringBucketJson } from "./metering/MeteringBucket.ts"
export type { PlanJson } from "./metering/Plan.ts"
export type { QuotasJson } from "./metering/Quota.ts"
export type { SubscriptionJson } from "./metering/Subscription.ts"
export type {
  AccountHandle,
  KeyBucketHandle,
  MeteringBucketHandle,
  ProjectHandle,
  UploadedSource
} from "./promises/handles.ts"
export type { ApiKeyJson } from "./records/ApiKey.ts"
export type { ConsumerJson } from "./records/Consumer.ts"
export type { InputIssue } from "./schema/InvalidInput.ts"
