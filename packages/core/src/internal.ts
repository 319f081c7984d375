/**
 * `@tollgate/core/internal`: what Tollgate's own packages and tests share. It may change in any release.
 */

export {
  type BackgroundTasks,
  BodyNotRestorableError,
  encodeProblem,
  fromWebResponse,
  getConnection,
  hasAtMost,
  isPlainObject,
  Options,
  type ProblemJson,
  RateLimitName,
  RequestBatches,
  readBody,
  type TransportRequest,
  type TransportResponse,
  throwFromCaller
} from "@tollgate/store/internal"
export { resolveRequestId } from "./api/RequestId.ts"
export {
  type AppliedRateLimit,
  type Charge,
  type MeteringOptions,
  ParsedAuthorizeOptions,
  type ParsedLimits,
  type RateLimitBy,
  type RateLimitOptions
} from "./authorize/AuthorizeOptions.ts"
export {
  authorizeFields,
  isRateLimitBy,
  rejectBothRateLimitOptions,
  rejectTwoHomes,
  toParsedLimits
} from "./authorize/authorizeSchemas.ts"
export { type AuthorizingKeyBucket, bucketDecisions } from "./authorize/BucketDecisions.ts"
export type { RequestCharge } from "./authorize/Decision.ts"
export { makeParseAuthorizeOptions } from "./authorize/parseAuthorizeOptions.ts"
export {
  makeInvalidKeyRefusal,
  type RefusalProblem,
  toAllowedHeaders,
  toLimitProblem,
  toRefusal,
  toRefusalAnswer
} from "./authorize/routeAnswer.ts"
export { MethodNotAllowed, RouteNotFound } from "./http/routeErrors.ts"
export { BackgroundClock } from "./jobs/BackgroundClock.ts"
export { DueWork } from "./jobs/DueWork.ts"
export type { JobKind } from "./jobs/JobKind.ts"
export { jobsLayer } from "./jobs/jobsLayer.ts"
export { Processes } from "./jobs/Processes.ts"
export { makeKey } from "./keys/newKeys.ts"
export { maxLabelCharacters } from "./metering/model/Labels.ts"
export * as Period from "./metering/model/Period.ts"
export { encodeQuotas } from "./metering/model/Quota.ts"
export { outboxStoreLayer } from "./outbox/outboxStore.ts"
export { recordEvent } from "./outbox/recordEvent.ts"
export { encodeRefusal } from "./promises/authorize.ts"
export {
  type RateLimitPolicy,
  RequestCount,
  rateLimitCheck,
  rateLimitFields,
  toPolicy
} from "./rateLimits/RateLimit.ts"
export { formatRateLimitHeaders } from "./rateLimits/rateLimitHeaders.ts"
export { consumerRecords } from "./records/consumerRecords.ts"
export { keyRecords } from "./records/keyRecords.ts"
export { eventRelayLayer } from "./relay/EventRelay.ts"
export { moveEvents } from "./relay/moveEvents.ts"
export { type Instrument, instruments } from "./telemetry/instruments.ts"
export { toPrometheusName } from "./telemetry/toPrometheusName.ts"
