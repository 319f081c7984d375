import { Sse } from "effect/encoding"
import type { EventStreamShape } from "../api/withEventStream.ts"

/** The text of a stream for a result that follows the event with the id `after`; empty if there is nothing new. */
export const formatEvents = ({ toEvents }: EventStreamShape<unknown>, value: unknown, after: string | undefined) => {
  const events = toEvents(value, after)
  const text = events.map(({ id, event = "message", data }) => Sse.encoder.write({ _tag: "Event", id, event, data }))
  return { text: text.join(""), lastId: events.at(-1)?.id ?? after }
}
