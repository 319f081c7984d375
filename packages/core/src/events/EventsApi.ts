/**
 * Declares the event log of an account. `Events.ts` implements it.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import type { PageOptions, PagePromise } from "../api/Methods.ts"
import { Owner } from "../api/Owner.ts"
import { optional, parameters } from "../api/parameters.ts"
import { pageNewestFirst } from "../api/query.ts"
import { rejectUnknown } from "../api/rejectUnknown.ts"
import { Event, EventId, type EventJson, eventTypePatterns } from "../outbox/Event.ts"
import { AccountName } from "../schema/Names.ts"
import { Page } from "../schema/Page.ts"
import { ShortText } from "../schema/Text.ts"

const Order = Schema.Literals(["asc", "desc"])

export class EventsApi extends HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.get("list", "/accounts/:accountName/events", {
      params: { accountName: AccountName },
      query: parameters({
        ...pageNewestFirst,
        order: optional(Order, { description: "`desc` (the default): newest first. `asc`: oldest first." }),
        before: optional(EventId, { description: "List only events that arrived before this one." }),
        type: optional(Schema.Literals(eventTypePatterns), {
          description: "List only events of this type, or of all types of a group, such as `consumer.*`."
        }),
        subject: optional(ShortText, { description: "List only events about the resource with this id." })
      }),
      success: Page(Event)
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "List events")
      .annotate(
        OpenApi.Description,
        "The audit log of the account: every change is written to it once, with its actor and the resource " +
          "after the change. Events are listed in order of arrival, newest first by default. They are kept for " +
          "90 days, and up to 100,000 for each account, unless the server sets other limits. No event contains " +
          "the value of a key."
      )
      .annotate(Owner, "account")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotateMerge(OpenApi.annotations({ title: "Events", description: "The audit log of an account." })) {}

export interface EventListOptions extends PageOptions {
  /** `desc` (the default): newest first. `asc`: oldest first. */
  readonly order?: "asc" | "desc" | undefined
  /** List only events that arrived before the event with this id. */
  readonly before?: string | undefined
  /** List only events of this type, or of all types of a group: `consumer.created` or `consumer.*`. */
  readonly type?: (typeof eventTypePatterns)[number] | undefined
  /** List only events about the resource with this id. */
  readonly subject?: string | undefined
}

/** The event log of an account: who changed what, and when. */
export interface EventsMethods {
  /** Returns a page of the events in order of arrival, newest first. Iterate over it to get all pages. */
  list(options?: EventListOptions): PagePromise<EventJson>
}
