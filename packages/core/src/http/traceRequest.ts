/**
 * Makes the span of a request: a child of the span that the host has for it, or else of the caller's in another process.
 */
import { Context, Effect, Option, Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"
import type { TransportRequest, TransportResponse } from "../runtime/Transport.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import { OpenTelemetry } from "../telemetry/OpenTelemetry.ts"
import { SpanNames } from "../telemetry/SpanNames.ts"
import { toKnownMethod } from "./toKnownMethod.ts"

interface TracedRequest extends Pick<TransportRequest, "method" | "headers"> {
  readonly route: string | undefined
  readonly path: string
}

type RequestHeaders = TransportRequest["headers"]

/** The caller's span, as the host's propagators read it; if it has none, from the headers of the W3C, and of Zipkin. */
const getRemoteSpan = (context: Context.Context<never>, headers: RequestHeaders): Tracer.ExternalSpan | undefined => {
  const readSpan = Context.get(context, OpenTelemetry)?.getRemoteSpan
  return readSpan === undefined
    ? Option.getOrUndefined(HttpTraceContext.fromHeaders(Headers.fromInput(headers)))
    : readSpan(headers)
}

const annotateStatus = ({ status }: TransportResponse) =>
  Effect.annotateCurrentSpan("http.response.status_code", status)

export const traceRequest = ({ method, headers, route, path }: TracedRequest) => {
  const knownMethod = toKnownMethod(method)
  const withSpan = withSafeSpan(route === undefined ? knownMethod : `${knownMethod} ${route}`, ({ context }) => {
    const hostSpan = Context.getOption(context, Tracer.ParentSpan)
    return {
      kind: Option.isSome(hostSpan) ? "internal" : "server",
      parent: Option.isSome(hostSpan) ? hostSpan.value : getRemoteSpan(context, headers),
      attributes: {
        "http.request.method": knownMethod,
        ...(route === undefined ? {} : { "http.route": route }),
        ...(Context.get(context, SpanNames) ? { "url.path": path } : {})
      }
    }
  })
  return <R>(response: Effect.Effect<TransportResponse, never, R>) => withSpan(Effect.tap(response, annotateStatus))
}
