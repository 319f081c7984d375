/**
 * How long events are kept in the log of an account. The oldest are dropped first.
 */
import { Context } from "effect"
import * as Options from "../runtime/Options.ts"

export interface EventRetentionOptions {
  /** Days until an event is dropped. Default: 90. */
  readonly retentionDays?: number | undefined
  /** Maximum number of events of one account. Default: 100,000. */
  readonly maxEventsPerAccount?: number | undefined
}

const defaults = { retentionDays: 90, maxEventsPerAccount: 100_000 }

export const eventRetentionOptions = Options.struct<EventRetentionOptions>()({
  retentionDays: Options.optional(
    Options.positiveInteger("must be a number of days, an integer from 1 to 36500", 36_500)
  ),
  maxEventsPerAccount: Options.optional(Options.positiveInteger())
})

/** How long events are kept: 90 days and 100,000 events of each account, unless you provide other numbers. */
export const EventRetention = Context.Reference("@tollgate/core/outbox/EventRetention", {
  defaultValue: () => defaults
})

export const resolveEventRetention = (options: EventRetentionOptions = {}) => Options.withDefaults(defaults, options)
