/**
 * `@tollgate/core/internal`: what Tollgate's own packages and tests share. It may change in any release.
 */

export type { AuthorizingKeyBucket } from "./authorize/BucketDecisions.ts"
export * as KeyFormat from "./crypto/KeyFormat.ts"
export { type ErrorDocumentation, encodeProblem } from "./errors/defineError.ts"
export { isHandled } from "./http/isHandled.ts"
export { makeBusyResponse } from "./http/makeBusyResponse.ts"
export { MethodNotAllowed, RouteNotFound } from "./http/routeErrors.ts"
export { makeKey } from "./keys/newKeys.ts"
export * as Period from "./metering/model/Period.ts"
export { makeOutboxStore } from "./outbox/outboxStore.ts"
export { recordEvent } from "./outbox/recordEvent.ts"
export {
  type AuthorizeRequestResult,
  makeAuthorizeRequest,
  type RequestConsumer,
  type RequestLike
} from "./protect/authorizeRequest.ts"
export type { RequireApiKeyOptions } from "./protect/RequireApiKeyOptions.ts"
export { readHeader, readQueryParameter } from "./protect/readRequest.ts"
export { watchNodeResponse } from "./protect/watchNodeResponse.ts"
export { consumerRecords } from "./records/consumerRecords.ts"
export { keyRecords } from "./records/keyRecords.ts"
export { moveEvents } from "./relay/moveEvents.ts"
export { makePollPending } from "./relay/pollPending.ts"
export { abortablePromise } from "./runtime/abortablePromise.ts"
export { BodyNotRestorableError } from "./runtime/BodyNotRestorableError.ts"
export { ChunkedSort } from "./runtime/ChunkedSort.ts"
export { checkNodeVersion } from "./runtime/checkNodeVersion.ts"
export { FairSemaphore } from "./runtime/FairSemaphore.ts"
export { makeDiskCheck } from "./runtime/freeSpace.ts"
export { getConnection } from "./runtime/getConnection.ts"
export { hostLogger } from "./runtime/HostLogger.ts"
export { nextBatch, pauseAbove } from "./runtime/nextBatch.ts"
export * as Options from "./runtime/Options.ts"
export { fromWebResponse, readBody, type TransportRequest, type TransportResponse } from "./runtime/Transport.ts"
export { BatchQueue } from "./store/BatchQueue.ts"
export { type ErrorClass, makeRetryTransient, type RetryTransient } from "./store/retryTransient.ts"
export { StoreActivity } from "./store/StoreActivity.ts"
export { previewData } from "./store/StoreError.ts"
export { withCallerTime } from "./store/withCallerTime.ts"
export { type Instrument, instruments } from "./telemetry/instruments.ts"
export { toPrometheusName } from "./telemetry/toPrometheusName.ts"
