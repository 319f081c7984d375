/**
 * A result that clients can also follow as server-sent events, with `Accept: text/event-stream`. The operation takes
 * `lastEventIdHeader`, and returns what follows the event with this id.
 */
import { Schema, SchemaAST } from "effect"
import { parameters } from "./parameters.ts"

/** An event of a stream. */
export interface ServerSentEvent {
  /** Where a client resumes that has this event. It has no line break. */
  readonly id: string
  /** Default: `message`. */
  readonly event?: string
  readonly data: string
}

/** How a result is streamed as events. */
export interface EventStreamShape<A> {
  /** The events of a result that follows the event with the id `after`. */
  readonly toEvents: (value: A, after: string | undefined) => ReadonlyArray<ServerSentEvent>
  /** Whether no more events follow. */
  readonly isOver: (value: A) => boolean
}

const eventStreamAnnotation = "~tollgate/eventStream"

/** Adds a stream of events to a response. */
export const withEventStream = <S extends Schema.Top>(schema: S, stream: EventStreamShape<S["Type"]>): S["Rebuild"] =>
  schema.annotate({ [eventStreamAnnotation]: stream })

/** How a result is streamed; `undefined` if it is not. */
export const getEventStream = ({ ast }: Schema.Top): EventStreamShape<unknown> | undefined =>
  SchemaAST.resolveAt<EventStreamShape<unknown>>(eventStreamAnnotation)(ast)

/** The header `Last-Event-ID`, which in process is the option `after`. */
export const lastEventIdHeader = (pattern: RegExp, expected: string) => {
  const id = Schema.optionalKey(Schema.String.pipe(Schema.check(Schema.isPattern(pattern, { expected }))))
  return parameters({
    after: {
      json: id,
      wire: id,
      name: "last-event-id",
      description: "The id of the last event that the client has: only what follows it is sent."
    }
  })
}
