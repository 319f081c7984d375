/**
 * Functions of the host that are called for each event. `createTollgate` provides `onEvent` and `onQuotaThreshold`.
 */
import { Context, type Effect } from "effect"
import type { Event, EventType } from "../outbox/Event.ts"

/** A function of your application that is called for each event, at least once. */
export interface EventHook {
  /** Identifies the hook in all processes: one of them calls it for each event. Stored, so it cannot change. */
  readonly name: string
  /** Called only for events of this type, if set. */
  readonly type?: EventType
  /** Repeated if it fails. */
  readonly handle: (event: Event) => Effect.Effect<void, unknown>
}

/** The functions that are called for each event. None by default. */
export const EventHooks = Context.Reference<ReadonlyArray<EventHook>>("@tollgate/core/relay/EventHooks", {
  defaultValue: () => []
})
