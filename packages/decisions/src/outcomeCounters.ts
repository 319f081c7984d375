/**
 * The counters of outcomes, in the partition of the log. Their names are stored and cannot change.
 */
import { dayMs, hourMs, keptDays, keptHours } from "@tollgate/core/module"
import { RefusalReason } from "./Refusal.ts"

export const outcomes = ["allowed", ...RefusalReason.literals] as const
export type Outcome = (typeof outcomes)[number]

/** Outcomes in an hour; `hour` and `day` count from 1970. */
export const getHourCounter = (outcome: Outcome, hour: number): string => `hour:${hour}:${outcome}`
export const getDayCounter = (outcome: Outcome, day: number): string => `day:${day}:${outcome}`
export const getConsumerCounter =
  (consumerId: string) =>
  (outcome: Outcome, day: number): string =>
    `consumer:${consumerId}:${day}:${outcome}`

/** For how long counters are kept, in milliseconds. */
export const hourTtlMs = (keptHours + 2) * hourMs
export const dayTtlMs = (keptDays + 2) * dayMs
