/**
 * Turns Effect's spans into spans of OpenTelemetry. A span has neither the message nor the stack of an error, because
 * they may quote names of tenants: it has the error's code.
 */
import * as api from "@opentelemetry/api"
import { isTollgateError, type TelemetryBridge } from "@tollgate/core/module"
import { Cause, Context, Exit, Option, Tracer } from "effect"

const maxValueLength = 256

/** The context of OpenTelemetry in which a span of the host is active. */
const ActiveContext = Context.Reference<api.Context | undefined>("@tollgate/opentelemetry/ActiveContext", {
  defaultValue: () => undefined
})

const toAttribute = (value: unknown): api.AttributeValue =>
  typeof value === "number" || typeof value === "boolean" ? value : String(value).slice(0, maxValueLength)

const toTime = (nanos: bigint): api.HrTime => [Number(nanos / 1_000_000_000n), Number(nanos % 1_000_000_000n)]

const serverError = 500

interface SpanError {
  readonly type: string
  /** Whether the server is at fault, and not the caller. */
  readonly isFault: boolean
}

/** What to say of the failure. An interruption, after the client has disconnected, is no error. */
const describeFailure = (cause: Cause.Cause<unknown>): SpanError | undefined => {
  if (Cause.hasInterruptsOnly(cause)) return undefined
  const error = Cause.squash(cause)
  if (isTollgateError(error)) return { type: error.code, isFault: error.status >= serverError }
  return { type: error instanceof Error ? error.constructor.name : "_OTHER", isFault: true }
}

/** The status of a response is the result of its span. */
const describeResponse = (attributes: ReadonlyMap<string, unknown>): SpanError | undefined => {
  const status = attributes.get("http.response.status_code")
  return typeof status === "number" && status >= serverError ? { type: String(status), isFault: true } : undefined
}

const kinds = {
  internal: api.SpanKind.INTERNAL,
  server: api.SpanKind.SERVER,
  client: api.SpanKind.CLIENT,
  producer: api.SpanKind.PRODUCER,
  consumer: api.SpanKind.CONSUMER
}

export const makeTracerBridge = (
  tracer: api.Tracer
): Pick<TelemetryBridge, "tracer" | "getActiveSpan" | "getRemoteSpan"> => {
  /** A span of Effect that is recorded as one of OpenTelemetry. */
  class BridgeSpan implements Tracer.Span {
    readonly _tag = "Span"
    readonly name: string
    readonly parent: Option.Option<Tracer.AnySpan>
    readonly annotations: Context.Context<never>
    readonly links: Array<Tracer.SpanLink>
    readonly kind: Tracer.SpanKind
    readonly attributes = new Map<string, unknown>()
    readonly span: api.Span
    /** The context in which the work of this span runs, so that spans of libraries become its children. */
    readonly context: api.Context
    readonly traceId: string
    readonly spanId: string
    readonly sampled: boolean
    status: Tracer.SpanStatus

    constructor({ name, parent, annotations, links, startTime, kind }: Parameters<Tracer.Tracer["span"]>[0]) {
      const parentContext = Option.match(parent, { onNone: () => api.ROOT_CONTEXT, onSome: toContext })
      this.name = name
      this.parent = parent
      this.annotations = annotations
      this.links = links
      this.kind = kind
      this.status = { _tag: "Started", startTime }
      this.span = tracer.startSpan(name, { kind: kinds[kind], startTime: toTime(startTime) }, parentContext)
      this.context = api.trace.setSpan(parentContext, this.span)
      const { traceId, spanId, traceFlags } = this.span.spanContext()
      this.traceId = traceId
      this.spanId = spanId
      this.sampled = (traceFlags & api.TraceFlags.SAMPLED) !== 0
    }

    attribute(key: string, value: unknown): void {
      this.attributes.set(key, value)
      this.span.setAttribute(key, toAttribute(value))
    }

    end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
      const error = Exit.isFailure(exit) ? describeFailure(exit.cause) : describeResponse(this.attributes)
      if (error !== undefined) this.span.setAttribute("error.type", toAttribute(error.type))
      if (error?.isFault === true) this.span.setStatus({ code: api.SpanStatusCode.ERROR })
      const { startTime } = this.status
      this.status = { _tag: "Ended", startTime, endTime, exit }
      this.span.end(toTime(endTime))
    }

    event(): void {}

    addLinks(): void {}
  }

  const toContext = (span: Tracer.AnySpan): api.Context => {
    if (span instanceof BridgeSpan) return span.context
    const activeContext = Context.get(span.annotations, ActiveContext)
    if (activeContext !== undefined) return activeContext
    const { traceId, spanId, sampled } = span
    const traceFlags = sampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE
    return api.trace.setSpanContext(api.ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
  }

  const toExternalSpan = (context: api.Context): Tracer.ExternalSpan | undefined => {
    const spanContext = api.trace.getSpanContext(context)
    if (spanContext === undefined || !api.isSpanContextValid(spanContext)) return undefined
    const { traceId, spanId, traceFlags } = spanContext
    return Tracer.externalSpan({
      traceId,
      spanId,
      sampled: (traceFlags & api.TraceFlags.SAMPLED) !== 0,
      annotations: Context.make(ActiveContext, context)
    })
  }

  return {
    tracer: Tracer.make({
      span: (options) => new BridgeSpan(options),
      // Drivers and HTTP clients may make spans of their own, which belong into the span of the call.
      context: (primitive, fiber) => {
        const { span } = fiber.cache
        return span instanceof BridgeSpan && span.kind === "client"
          ? api.context.with(span.context, () => primitive["~effect/Effect/evaluate"](fiber))
          : primitive["~effect/Effect/evaluate"](fiber)
      }
    }),
    getActiveSpan: () => toExternalSpan(api.context.active()),
    getRemoteSpan:
      api.propagation.fields().length === 0
        ? undefined
        : (headers) => toExternalSpan(api.propagation.extract(api.ROOT_CONTEXT, headers))
  }
}
