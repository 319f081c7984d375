/**
 * Turns errors into problem responses (RFC 9457), and logs those that the server causes.
 */

import { encodeProblem, InternalError, type TollgateError, type TransportResponse } from "@tollgate/store/internal"
import { Effect } from "effect"
import { RequestId } from "../api/RequestId.ts"
import { QuotaExceeded } from "../metering/model/QuotaError.ts"
import { RateLimited } from "../rateLimits/RateLimitError.ts"
import { formatRefusalHeaders } from "../rateLimits/rateLimitHeaders.ts"

/** Causes of store errors are not logged: they may quote stored data. An error says if its cause may be logged. */
const getLogDetails = (error: TollgateError): ReadonlyArray<string> =>
  "logsCause" in error && error.logsCause === true && error.cause instanceof Error ? [error.cause.message] : []

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
