/**
 * What each subscription of a metering bucket used in a month, and which customers used most on some days.
 */
import { MeterName, Page, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"
import { type Days, toDay } from "./clockSteps.ts"
import { toLines } from "./csv.ts"

const exists = (start: string): boolean => {
  const millis = Date.parse(`${start}T00:00:00Z`)
  return !Number.isNaN(millis) && new Date(millis).toISOString().startsWith(start)
}

/** A day in UTC, such as `2026-11-30`. */
export const Day = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(/^\d{4}-\d{2}-\d{2}$/u, { expected: "a day, such as 2026-11-30" }),
    Schema.makeFilter(exists, { expected: "a day that exists" })
  )
)

/** A month in UTC, such as `2026-11`. */
export const Month = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(/^\d{4}-\d{2}$/u, { expected: "a month, such as 2026-11" }),
    Schema.makeFilter((month) => exists(`${month}-01`), { expected: "a month that exists" })
  )
)

export const daysOfMonth = (month: string): Days => {
  const start = new Date(`${month}-01T00:00:00Z`)
  return { start: toDay(start.getTime()), end: toDay(start.setUTCMonth(start.getUTCMonth() + 1)) }
}

export const daysOfDay = (day: string): Days => {
  const start = toDay(Date.parse(`${day}T00:00:00Z`))
  return { start, end: start + 1 }
}

export const SubscriptionUsage = Schema.Struct({
  customerKey: Schema.String,
  /** The subscription, or the first of those that share its usage. */
  subscriptionId: Schema.String,
  /** What it used of each meter. */
  meters: Schema.Record(Schema.String, Schema.Finite)
}).annotate({ identifier: "SubscriptionUsage" })
export type SubscriptionUsage = typeof SubscriptionUsage.Type
/** What a subscription used, as plain JSON. */
export type SubscriptionUsageJson = typeof SubscriptionUsage.Encoded

export const SubscriptionUsagePage = Page(SubscriptionUsage)

export const TopCustomers = Schema.Struct({
  meter: MeterName,
  /** When it was counted. */
  asOf: Timestamp,
  /** The customer that used most comes first. */
  data: Schema.Array(Schema.Struct({ customerKey: Schema.String, used: Schema.Finite }))
}).annotate({ identifier: "TopCustomers" })
export type TopCustomers = typeof TopCustomers.Type
/** The customers that used most, as plain JSON. */
export type TopCustomersJson = typeof TopCustomers.Encoded

/** As CSV: a line for each subscription and meter that it used. */
export const toUsageCsv = ({ data }: typeof SubscriptionUsagePage.Type): string =>
  toLines([
    ["customerKey", "subscriptionId", "meter", "used"],
    ...data.flatMap(({ customerKey, subscriptionId, meters }) =>
      Object.entries(meters).map(([meter, used]) => [customerKey, subscriptionId, meter, used])
    )
  ])

/** As CSV: a line for each customer. */
export const toTopCsv = ({ meter, data }: TopCustomers): string =>
  toLines([["customerKey", meter], ...data.map(({ customerKey, used }) => [customerKey, used])])

/** How many customers are listed at most. */
export const maxTopCustomers = 100

/** The customers that used most, of what each used. */
export const rankCustomers = (used: ReadonlyMap<string, number>): TopCustomers["data"] =>
  [...used]
    .map(([customerKey, used]) => ({ customerKey, used }))
    .sort((left, right) => right.used - left.used || (left.customerKey < right.customerKey ? -1 : 1))
    .slice(0, maxTopCustomers)
