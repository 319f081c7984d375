/**
 * Declares the event log of an account. `Events.ts` implements it.
 */

import {
  AccountName,
  Cursor,
  cursorPattern,
  InvalidInput,
  KeyBucketName,
  Page,
  ShortText
} from "@tollgate/store/internal"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import type { CheckMethods, Expect } from "../api/checkMethods.ts"
import type { PageOptions, PagePromise } from "../api/Methods.ts"
import { Area, Owner } from "../api/Owner.ts"
import { optional, parameters } from "../api/parameters.ts"
import { pageNewestFirst } from "../api/query.ts"
import { withLines } from "../api/withLines.ts"
import { Event, EventId, type EventJson, type EventTypePattern, toPatterns } from "../outbox/Event.ts"
import { ConsumerName } from "../records/Consumer.ts"

const Order = Schema.Literals(["asc", "desc"])

/** A place in the log, or the id of an event. */
const EventCursor = Schema.Union([Cursor, EventId])

const after = {
  ...pageNewestFirst.after,
  description:
    "The `next` of an earlier page: returns the events after it. `offset` counts from there. Or the id of an event: returns " +
    "the events that arrived after it, oldest first.",
  openApiSchema: { type: "string", pattern: `${cursorPattern.source}|^evt_[0-9A-Za-z]+$` },
  json: Schema.optionalKey(EventCursor),
  wire: Schema.optionalKey(EventCursor)
}

/** `eventTypes` are those of all modules. */
export const makeEventsApi = (eventTypes: ReadonlyArray<string>) =>
  HttpApiGroup.make("events")
    .add(
      HttpApiEndpoint.get("list", "/accounts/:accountName/events", {
        params: { accountName: AccountName },
        query: parameters({
          ...pageNewestFirst,
          after,
          order: optional(Order, { description: "`desc` (the default): newest first. `asc`: oldest first." }),
          before: optional(EventId, { description: "List only events that arrived before this one." }),
          type: optional(Schema.Literals(toPatterns(eventTypes)), {
            description: "List only events of this type, or of all types of a group, such as `consumer.*`."
          }),
          subject: optional(ShortText, { description: "List only events about the resource with this id." }),
          keyBucketName: optional(KeyBucketName, { description: "The key bucket of `consumerName`." }),
          consumerName: optional(ConsumerName, {
            description: "List only events about this consumer and its keys. Needs `keyBucketName`."
          }),
          customerKey: optional(ShortText, {
            description: "List only events about the subscriptions, the usage and the grants of this customer."
          })
        }),
        success: withLines(Page(Event)),
        error: InvalidInput
      })
        .annotate(OpenApi.Summary, "List events")
        .annotate(
          OpenApi.Description,
          "The audit log of the account: every change is written to it once, with its actor and the resource " +
            "after the change. Events are listed in order of arrival, newest first by default. Changes are " +
            "kept for 90 days, events of the system for 30, and up to 100,000 of each in an account, unless the server sets " +
            "other limits. No event contains " +
            "the value of a key. With `Accept: application/x-ndjson`, the response has all events from there on, a line each, " +
            "whatever `limit` is."
        )
        .annotate(Owner, "account")
    )
    .prefix("/v1")
    .middleware(Authenticated)
    .annotate(Area, "events")
    .annotateMerge(OpenApi.annotations({ title: "Events", description: "The audit log of an account." }))

export type EventsApi = ReturnType<typeof makeEventsApi>

export interface EventListOptions extends PageOptions {
  /** The `next` of an earlier page: lists the events after it. Or the id of an event: lists those that arrived after it, oldest first. */
  readonly after?: string | undefined
  /** `desc` (the default): newest first. `asc`: oldest first. */
  readonly order?: "asc" | "desc" | undefined
  /** List only events that arrived before the event with this id. */
  readonly before?: string | undefined
  /** List only events of this type, or of all types of a group: `consumer.created` or `consumer.*`. */
  readonly type?: EventTypePattern | undefined
  /** List only events about the resource with this id. */
  readonly subject?: string | undefined
  /** The key bucket of `consumerName`. */
  readonly keyBucketName?: string | undefined
  /** List only events about this consumer and its keys. Needs `keyBucketName`. */
  readonly consumerName?: string | undefined
  /** List only events about the subscriptions, the usage and the grants of this customer. */
  readonly customerKey?: string | undefined
}

/** The event log of an account: who changed what, and when. */
export interface EventsMethods {
  /** Returns a page of the events in order of arrival, newest first. Iterate over it to get all pages. */
  list(options?: EventListOptions): PagePromise<EventJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<EventsApi, EventsMethods>>
