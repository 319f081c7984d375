/**
 * How long events are kept in the log of an account. The oldest are dropped first. Changes, which people, tokens and the host
 * make, and events of the system have a budget each.
 */

import { Options } from "@tollgate/store/internal"
import { Context } from "effect"

export interface EventRetentionOptions {
  /** Days until a change is dropped. Default: 90. */
  readonly retentionDays?: number | undefined
  /** Maximum number of changes of one account. Default: 100,000. */
  readonly maxEventsPerAccount?: number | undefined
  /** Days until an event of the system is dropped. Default: 30, or `retentionDays` if that is less. */
  readonly systemRetentionDays?: number | undefined
  /** Maximum number of events of the system of one account. Default: that of changes. */
  readonly maxSystemEventsPerAccount?: number | undefined
}

export const resolveEventRetention = ({
  retentionDays = 90,
  maxEventsPerAccount = 100_000,
  systemRetentionDays = Math.min(30, retentionDays),
  maxSystemEventsPerAccount = maxEventsPerAccount
}: EventRetentionOptions = {}) => ({
  retentionDays,
  maxEventsPerAccount,
  systemRetentionDays,
  maxSystemEventsPerAccount
})

const days = Options.optional(Options.positiveInteger("must be a number of days, an integer from 1 to 36500", 36_500))
const events = Options.optional(Options.positiveInteger())

export const eventRetentionOptions = Options.struct<EventRetentionOptions>()({
  retentionDays: days,
  maxEventsPerAccount: events,
  systemRetentionDays: days,
  maxSystemEventsPerAccount: events
})

/** How long events are kept, unless you provide other numbers: 90 days and 100,000 changes, 30 days and as many of the system. */
export const EventRetention = Context.Reference("@tollgate/core/outbox/EventRetention", {
  defaultValue: () => resolveEventRetention()
})
