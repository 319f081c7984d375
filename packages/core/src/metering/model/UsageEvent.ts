/**
 * Usage as CloudEvents 1.0, as gateways, queues and agents send it.
 */
import { boundedText, makeDecoder, ShortText, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { hourMs } from "./clockSteps.ts"
import { Amounts } from "./Quota.ts"

/** The media type of a batch. */
export const batchMediaType = "application/cloudevents-batch+json"

export const maxEvents = 1_000

const maxEventAgeHours = 72
/** How old an event may be, and how far ahead, in milliseconds. */
export const maxEventAgeMs = maxEventAgeHours * hourMs
export const maxEventAheadMs = 10 * 60 * 1000

const rememberedHours = 96
/** For how long an event is remembered, in milliseconds: longer than it may be old, by all clocks. */
export const rememberedMs = rememberedHours * hourMs

const Attribute = boundedText(1_024)
const others = [Schema.Record(Schema.String, Schema.Unknown)] as const

/** Further attributes, and further fields of `data`, are ignored. */
export const UsageEvent = Schema.StructWithRest(
  Schema.Struct({
    specversion: Schema.Literal("1.0"),
    id: Attribute.annotate({ description: "Together with `source`, it says which event this is." }),
    source: Attribute,
    type: Attribute,
    subject: ShortText.annotate({ description: "The `customerKey` of the customer." }),
    time: Timestamp,
    data: Schema.StructWithRest(Schema.Struct({ meters: Amounts }), others)
  }),
  others
).annotate({ identifier: "UsageEvent" })
export type UsageEvent = typeof UsageEvent.Type

/** An event of a batch, as plain JSON. Further attributes are ignored. */
export interface UsageEventJson {
  readonly specversion: "1.0"
  /** Together with `source`, it says which event this is. */
  readonly id: string
  readonly source: string
  readonly type: string
  /** The `customerKey` of the customer. */
  readonly subject: string
  /** When it was used: at most 72 hours ago, and 10 minutes ahead. */
  readonly time: string
  /** What was used of each meter. */
  readonly data: { readonly meters: Readonly<Record<string, number>>; readonly [field: string]: unknown }
  readonly [attribute: string]: unknown
}

export const decodeEvent = makeDecoder(UsageEvent as Schema.Codec<UsageEvent, unknown>, "body")

/** Described as an event, but any value: each is decoded on its own, so that one that is not valid stops no other. */
const AnyEvent: Schema.Codec<unknown> = Schema.Any.pipe(
  Schema.check(
    Schema.makeFilter(() => true, {
      representation: { id: "tollgate/UsageEvent", payload: null, schemas: [Schema.toEncoded(UsageEvent).ast] },
      toJsonSchema: ({ schemas }) => schemas[0] ?? {}
    })
  )
)

export const UsageEvents = Schema.Array(AnyEvent).pipe(Schema.check(Schema.isMaxLength(maxEvents)))

/** What became of the events of a batch. */
export const RecordedEvents = Schema.Struct({
  accepted: Schema.Int.annotate({ description: "How many were counted." }),
  duplicates: Schema.Int.annotate({ description: "How many had been counted before." }),
  rejected: Schema.Array(
    Schema.Struct({
      index: Schema.Int.annotate({ description: "The place in the batch, from 0." }),
      code: Schema.String.annotate({ description: "The code of an error, such as `unknown-meter`." }),
      detail: Schema.String
    })
  ).annotate({ description: "Those that cannot be counted." })
}).annotate({ identifier: "RecordedUsageEvents" })
export type RecordedEvents = typeof RecordedEvents.Type
/** What became of the events of a batch, as plain JSON. */
export type RecordedEventsJson = typeof RecordedEvents.Encoded
