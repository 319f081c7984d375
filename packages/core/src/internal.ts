/**
 * `@tollgate/core/internal`: what Tollgate's own packages and tests share. It may change in any release.
 */

export { unavailableDetail } from "./api/problems.ts"
export * as KeyFormat from "./crypto/KeyFormat.ts"
export { logRequestError, resolveRequestId } from "./http/RequestId.ts"
export * as Period from "./metering/Period.ts"
export { checkAuthorizeOptions } from "./promises/authorizePromise.ts"
export { abortablePromise } from "./runtime/abortablePromise.ts"
export { BodyNotRestorableError } from "./runtime/BodyNotRestorableError.ts"
export { checkNodeVersion } from "./runtime/checkNodeVersion.ts"
export { fromWebResponse, readBody, type TransportRequest, type TransportResponse } from "./runtime/Transport.ts"
