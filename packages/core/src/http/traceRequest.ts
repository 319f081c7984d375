/**
 * Makes the span of a request: a child of the span that the host has for it, or else of the caller's in another process.
 */

import { hasTracer, type TransportRequest, type TransportResponse, withSafeSpan } from "@tollgate/store/internal"
import { Context, Effect, type Fiber, Option, Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"
import { HostTelemetry } from "../telemetry/HostTelemetry.ts"
import { SpanNames } from "../telemetry/SpanNames.ts"
import { toKnownMethod } from "./toKnownMethod.ts"

interface TracedRequest extends Pick<TransportRequest, "method" | "headers"> {
  readonly route: string | undefined
  readonly path: string
}

type RequestHeaders = TransportRequest["headers"]

/** The caller's span, as the host's propagators read it; if it has none, from the headers of the W3C, and of Zipkin. */
const getRemoteSpan = (context: Context.Context<never>, headers: RequestHeaders): Tracer.ExternalSpan | undefined => {
  const readSpan = Context.get(context, HostTelemetry)?.getRemoteSpan
  return readSpan === undefined
    ? Option.getOrUndefined(HttpTraceContext.fromHeaders(Headers.fromInput(headers)))
    : readSpan(headers)
}

const annotateStatus = ({ status }: TransportResponse) =>
  Effect.annotateCurrentSpan("http.response.status_code", status)

const makeSpanOptions =
  ({ headers, route, path }: TracedRequest, method: string) =>
  ({ context }: Fiber.Fiber<unknown, unknown>): Tracer.SpanOptions => {
    const hostSpan = Context.getOption(context, Tracer.ParentSpan)
    return {
      kind: Option.isSome(hostSpan) ? "internal" : "server",
      parent: Option.isSome(hostSpan) ? hostSpan.value : getRemoteSpan(context, headers),
      attributes: {
        "http.request.method": method,
        ...(route === undefined ? {} : { "http.route": route }),
        ...(Context.get(context, SpanNames) ? { "url.path": path } : {})
      }
    }
  }

export const traceRequest =
  (request: TracedRequest) =>
  <R>(response: Effect.Effect<TransportResponse, never, R>): Effect.Effect<TransportResponse, never, R> =>
    Effect.withFiber((fiber) => {
      if (!hasTracer(fiber)) return response
      const method = toKnownMethod(request.method)
      const name = request.route === undefined ? method : `${method} ${request.route}`
      return withSafeSpan(name, makeSpanOptions(request, method))(Effect.tap(response, annotateStatus))
    })
