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
  meaning:
    "The body did not arrive in time: a JSON body took more than 30 seconds, or an upload stalled or was too slow.",
  remedy:
    "Send the request again. If it happens often, look for a slow connection or for a proxy that holds bodies back.",
  detail: () => "The body did not arrive in time. Send it again."
}) {}

/** Another request with the same Idempotency-Key is running in the same process. */
export class RequestInProgress extends defineError<RequestInProgress>()("RequestInProgress", {
  code: "request-in-progress",
  status: 409,
  title: "Request in progress",
  meaning: "Another request with the same `Idempotency-Key` is still running in the same process.",
  remedy: "Wait for the response to the first request, or repeat the request with the same key later.",
  detail: () => "A request with this Idempotency-Key is still running. Wait for its response, or try again later."
}) {}

export class PayloadTooLarge extends defineError<PayloadTooLarge>()(
  "PayloadTooLarge",
  {
    code: "payload-too-large",
    status: 413,
    title: "Payload too large",
    meaning: "The JSON body or the source of a deployment is larger than the server accepts.",
    remedy:
      "Send less, or split the request. Leave files that are not deployed out of a source. The operator can raise " +
      "`bodyLimit` or `deployments.sourceLimit`.",
    detail: ({ maxBytes }) =>
      `The body may have at most ${maxBytes} bytes. Send less, or split it into several requests.`
  },
  { maxBytes: Schema.Int.annotate({ description: "The maximum size in bytes." }) }
) {}

export class UnsupportedEncoding extends defineError<UnsupportedEncoding>()("UnsupportedEncoding", {
  code: "unsupported-encoding",
  status: 415,
  title: "Unsupported content encoding",
  meaning: "The request has a `Content-Encoding` other than `identity`.",
  remedy: "Send the body uncompressed. A source is a gzip archive already; send it without `Content-Encoding`.",
  detail: () => "Send the body uncompressed, without Content-Encoding"
}) {}

export class UnsupportedMediaType extends defineError<UnsupportedMediaType>()(
  "UnsupportedMediaType",
  {
    code: "unsupported-media-type",
    status: 415,
    title: "Unsupported media type",
    meaning:
      "The operation reads a body of one media type only, and the `Content-Type` of the request names another or none.",
    remedy: "Send the header `Content-Type` with the `mediaType` that the problem names.",
    detail: ({ mediaType }) => `Send the body with the header Content-Type: ${mediaType}`
  },
  { mediaType: Schema.String.annotate({ description: "The media type that the body must have." }) }
) {}

/** More requests wait than the server can serve. */
export class ServerBusy extends defineError<ServerBusy>()("ServerBusy", {
  code: "server-busy",
  status: 503,
  title: "Server busy",
  meaning: "More requests wait than the server can serve: on this connection, or on all.",
  remedy:
    "Wait as long as `Retry-After` says, and send the request again. Send fewer requests at once: do not pipeline " +
    "thousands of requests on one connection.",
  detail: () => "Too many requests wait. Nothing was done. Try again in a moment, with fewer requests at once."
}) {}

/** The disk has less free space than its reserve. */
export class InsufficientStorage extends defineError<InsufficientStorage>()("InsufficientStorage", {
  code: "insufficient-storage",
  status: 507,
  title: "Insufficient storage",
  meaning:
    "The disk of the server has less free space than its reserve. Uploads and large writes are refused, so that keys are " +
    "still verified, and requests limited and counted.",
  remedy:
    "Tell the operator, who frees space on the disk of the store or of the sites, or lowers `freeDiskReserveMebibytes`. " +
    "Then send the request again.",
  detail: () => "The server has too little free space on its disk. Nothing was stored. Try again when there is more."
}) {}

/** The server failed unexpectedly. Its log has the error under the request ID. */
export class InternalError extends defineError<InternalError>()("InternalError", {
  code: "internal",
  status: 500,
  title: "Internal server error",
  meaning: "The server failed unexpectedly.",
  remedy:
    "Give `instance`, the request ID, to the operator, who finds the error under it in the server log. If you " +
    "repeat a request that changes something, send the same `Idempotency-Key`; before a PATCH or DELETE, which take " +
    "none, read the resource.",
  detail: () => "The server log has the error under this request ID.",
  schemaName: "InternalProblem"
}) {}
