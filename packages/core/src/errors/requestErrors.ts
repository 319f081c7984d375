/**
 * Errors of HTTP requests that no operation causes: they concern the route, the body or the server itself.
 */
import { Schema } from "effect"
import { problem } from "./problem.ts"

/** The body did not arrive in time. */
export class RequestTimeout extends problem<RequestTimeout>()("RequestTimeout", {
  code: "request-timeout",
  status: 408,
  title: "Request timeout",
  detail: () => "The body did not arrive in time. Send it again."
}) {}

/** Another request with the same Idempotency-Key is running in the same process. */
export class RequestInProgress extends problem<RequestInProgress>()("RequestInProgress", {
  code: "request-in-progress",
  status: 409,
  title: "Request in progress",
  detail: () => "A request with this Idempotency-Key is still running. Wait for its response, or try again later."
}) {}

export class PayloadTooLarge extends problem<PayloadTooLarge>()(
  "PayloadTooLarge",
  {
    code: "payload-too-large",
    status: 413,
    title: "Payload too large",
    detail: ({ maxBytes }) =>
      `The body may have at most ${maxBytes} bytes. Send less, or split it into several requests.`
  },
  { maxBytes: Schema.Int }
) {}

export class UnsupportedEncoding extends problem<UnsupportedEncoding>()("UnsupportedEncoding", {
  code: "unsupported-encoding",
  status: 415,
  title: "Unsupported content encoding",
  detail: () => "Send the body uncompressed, without Content-Encoding"
}) {}

/** The server failed unexpectedly. Its log has the error under the request ID. */
export class InternalError extends problem<InternalError>()("InternalError", {
  code: "internal",
  status: 500,
  title: "Internal server error",
  detail: () => "The server log has the error under this request ID.",
  schemaName: "InternalProblem"
}) {}
