/**
 * Turns errors into problem responses (RFC 9457), and logs those that the server causes.
 */
import { DateTime, Effect } from "effect"
import { SourceStoreError } from "../deployments/model/DeploymentError.ts"
import { encodeProblem } from "../errors/defineError.ts"
import { InternalError } from "../errors/requestErrors.ts"
import type { TollgateError } from "../errors/TollgateError.ts"
import { QuotaExceeded } from "../metering/QuotaError.ts"
import type { TransportResponse } from "../runtime/Transport.ts"
import { RequestId } from "./RequestId.ts"

/** Causes of store errors are not logged: they may quote stored data. */
const getLogDetails = (error: TollgateError): ReadonlyArray<string> =>
  error instanceof SourceStoreError && error.cause instanceof Error ? [error.cause.message] : []

/** The `Retry-After` header, in whole seconds from now. */
const makeRetryAfter = (time: DateTime.Utc) =>
  Effect.map(DateTime.now, (now) => {
    const seconds = Math.ceil((DateTime.toEpochMillis(time) - DateTime.toEpochMillis(now)) / 1000)
    return { "retry-after": String(Math.max(1, seconds)) }
  })

/** Converts an error to a problem response with the request ID as `instance`. Server errors are logged. */
export const toProblemResponse = Effect.fnUntraced(function* (
  error: TollgateError
): Effect.fn.Return<TransportResponse> {
  const instance = yield* RequestId
  const { status } = error
  const isLogged = error instanceof InternalError
  if (!isLogged && (status === 500 || status === 503)) yield* Effect.logError(error.message, ...getLogDetails(error))
  const retryAfter = error instanceof QuotaExceeded ? yield* makeRetryAfter(error.resetsOn) : {}
  const headers = { "content-type": "application/problem+json", ...retryAfter }
  return { status, headers, body: JSON.stringify(encodeProblem(error, instance)) }
})
