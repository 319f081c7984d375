/**
 * Errors that concern the body of a request or the server itself, not one resource.
 */
import { Schema } from "effect"
import { defineError } from "./defineError.ts"

/** The body did not arrive in time. */
export class RequestTimeout extends defineError<RequestTimeout>()("RequestTimeout", {
  code: "request-timeout",
  status: 408,
  title: "Request timeout",
  detail: () => "The body did not arrive in time. Send it again."
}) {}

/** Another request with the same Idempotency-Key is running in the same process. */
export class RequestInProgress extends defineError<RequestInProgress>()("RequestInProgress", {
  code: "request-in-progress",
  status: 409,
  title: "Request in progress",
  detail: () => "A request with this Idempotency-Key is still running. Wait for its response, or try again later."
}) {}

export class PayloadTooLarge extends defineError<PayloadTooLarge>()(
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

export class UnsupportedEncoding extends defineError<UnsupportedEncoding>()("UnsupportedEncoding", {
  code: "unsupported-encoding",
  status: 415,
  title: "Unsupported content encoding",
  detail: () => "Send the body uncompressed, without Content-Encoding"
}) {}

/** The server failed unexpectedly. Its log has the error under the request ID. */
export class InternalError extends defineError<InternalError>()("InternalError", {
  code: "internal",
  status: 500,
  title: "Internal server error",
  detail: () => "The server log has the error under this request ID.",
  schemaName: "InternalProblem"
}) {}
