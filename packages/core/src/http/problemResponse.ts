/**
 * Turns errors into problem responses (RFC 9457), and logs those that the server causes.
 */
import { Effect } from "effect"
import { SourceStoreError } from "../deployments/model/DeploymentError.ts"
import { encodeProblem } from "../errors/defineError.ts"
import { InternalError } from "../errors/requestErrors.ts"
import type { TollgateError } from "../errors/TollgateError.ts"
import { QuotaExceeded } from "../metering/model/QuotaError.ts"
import { RateLimited } from "../rateLimits/RateLimitError.ts"
import { formatRefusalHeaders } from "../rateLimits/rateLimitHeaders.ts"
import type { TransportResponse } from "../runtime/Transport.ts"
import { RequestId } from "./RequestId.ts"

/** Causes of store errors are not logged: they may quote stored data. */
const getLogDetails = (error: TollgateError): ReadonlyArray<string> =>
  error instanceof SourceStoreError && error.cause instanceof Error ? [error.cause.message] : []

/** `Retry-After` in whole seconds, and what is left of the limit or quota that refused the request. */
const getRetryHeaders = (error: TollgateError): Readonly<Record<string, string>> =>
  (error instanceof QuotaExceeded || error instanceof RateLimited) && error.policy !== undefined
    ? formatRefusalHeaders(error.policy)
    : {}

/** Converts an error to a problem response with the request ID as `instance`. Server errors are logged. */
export const toProblemResponse = Effect.fnUntraced(function* (
  error: TollgateError
): Effect.fn.Return<TransportResponse> {
  const instance = yield* RequestId
  const { status } = error
  const isLogged = error instanceof InternalError
  if (!isLogged && (status === 500 || status === 503)) yield* Effect.logError(error.message, ...getLogDetails(error))
  const headers = { "content-type": "application/problem+json", ...getRetryHeaders(error) }
  return { status, headers, body: JSON.stringify(encodeProblem(error, instance)) }
})
