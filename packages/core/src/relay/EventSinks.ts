/**
 * What follows from events that come to the log of an account, such as deliveries of webhooks.
 */

import type { Change, Store, StoreError } from "@tollgate/store/internal"
import { Context, type Effect } from "effect"
import type { Event } from "../outbox/Event.ts"

export interface EventSink {
  /** Called before events are appended to the log of an account. */
  readonly prepare: (accountName: string) => Effect.Effect<
    {
      /** How many records an event can cause at most. */
      readonly recordsPerEvent: number
      /** The changes that are committed with the events. */
      readonly plan: (events: ReadonlyArray<Event>) => Effect.Effect<ReadonlyArray<Change>>
    },
    StoreError,
    Store
  >
  /**
   * Called after events were appended, and after other work was left in the log. It tells `HeldWork` when nothing is left to
   * do in the log.
   */
  readonly run: (accountName: string) => Effect.Effect<unknown, StoreError>
}

export const EventSinks = Context.Reference<ReadonlyArray<EventSink>>("@tollgate/core/relay/EventSinks", {
  defaultValue: () => []
})
