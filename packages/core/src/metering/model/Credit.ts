/**
 * What grants give a customer beyond the allowance of its plans. A count stays one addition to one counter with one maximum,
 * whatever grants there are: the counter's value when a segment began, and what allowance, grants and overage had left then.
 * What each source has given since is computed from the counter. A segment ends when its sources change, and its use is
 * charged to them.
 */

import { Change, Collection, type Partition, Store } from "@tollgate/store/internal"
import { Effect, Schema } from "effect"
import { alertRecords, type StoredAlerts } from "./alertRecords.ts"
import type { CreditTerms } from "./creditTerms.ts"
import { type CustomerVersion, customerRecords } from "./customerRecords.ts"

/** What a grant gives, or has given. */
const GrantAmount = Schema.Struct({ id: Schema.String, amount: Schema.Finite })
export type GrantAmount = typeof GrantAmount.Type

const Segment = Schema.Struct({
  number: Schema.Int,
  counter: Schema.String,
  /** The value of the counter when the segment began, less what was given back of earlier segments since. */
  start: Schema.Finite,
  /** The maximum of the plans, and what was left of it. */
  max: Schema.Finite,
  allowance: Schema.Finite,
  /** What the grants had left, in the order in which they are spent. */
  sources: Schema.Array(GrantAmount)
})
export type Segment = typeof Segment.Type

/** What a segment has charged beyond the allowance. Kept while reservations of it are open. */
const ClosedSegment = Schema.Struct({
  number: Schema.Int,
  counter: Schema.String,
  overage: Schema.Finite,
  given: Schema.Array(GrantAmount)
})
export type ClosedSegment = typeof ClosedSegment.Type

/** What is to be given back to the sources when the open segment is closed. The counter is lower already. */
const Return = Schema.Struct({
  counter: Schema.String,
  amount: Schema.Finite,
  /** The segment in which it was reserved. Without one, it was reserved before there was credit. */
  segment: Schema.optionalKey(Schema.Int),
  /** Usage that was taken back by hand: it returns to what was charged last. */
  isAdjustment: Schema.optionalKey(Schema.Boolean)
})
export type Return = typeof Return.Type

const MeterCredit = Schema.Struct({
  nextSegment: Schema.Int,
  /** When the sources change next, in epoch milliseconds. From then on nothing is counted before the segment is closed. */
  dueOn: Schema.optionalKey(Schema.Int),
  /** When the sources changed last. A process whose clock is behind counts as of then. */
  settledOn: Schema.Int,
  open: Schema.optionalKey(Segment),
  /** There is credit, and no subscription that could spend it. */
  isWaiting: Schema.optionalKey(Schema.Boolean),
  closed: Schema.Array(ClosedSegment),
  returns: Schema.Array(Return),
  /** By counter: what closed segments have charged to grants, and when the period ends. */
  periods: Schema.Record(
    Schema.String,
    Schema.Struct({ credit: Schema.Finite, endsOn: Schema.optionalKey(Schema.Int) })
  )
})
export type MeterCredit = typeof MeterCredit.Type

export const noCredit: MeterCredit = { nextSegment: 0, settledOn: 0, closed: [], returns: [], periods: {} }

/** The credit of a customer, by meter. */
export const StoredCredit = Schema.Struct({
  customerKey: Schema.String,
  meters: Schema.Record(Schema.String, MeterCredit)
})
export type StoredCredit = typeof StoredCredit.Type

/** Every commit that writes one also gives the customer a new version, because counts check that alone. */
export const creditRecords = Collection.make({
  name: "credit",
  countsBytes: false,
  format: 1,
  schema: StoredCredit,
  key: ({ customerKey }) => customerKey
})

/** The version of a customer, and its credit. */
export interface CreditAccount {
  readonly customer: CustomerVersion
  readonly credit: Collection.Entry<StoredCredit> | undefined
}

/** What every count knows of a customer. */
export interface CustomerAccount extends CreditAccount {
  readonly alerts: Collection.Entry<StoredAlerts> | undefined
}

export const getMeterCredit = ({ meters }: StoredCredit, meter: string): MeterCredit | undefined =>
  Object.hasOwn(meters, meter) ? meters[meter] : undefined

/** Reads what every count knows of customers, in one call. */
export const readCreditAccounts = Effect.fnUntraced(function* (
  partition: Partition.Partition,
  customerKeys: ReadonlyArray<string>
) {
  const store = yield* Store
  const records = yield* store.get(
    partition,
    customerKeys.flatMap((key) => [
      customerRecords.recordKey(key),
      creditRecords.recordKey(key),
      alertRecords.recordKey(key)
    ])
  )
  return yield* Effect.forEach(
    customerKeys,
    Effect.fnUntraced(function* (customerKey, index) {
      const [customer, credit, alerts] = records.slice(3 * index, 3 * index + 3)
      const account: CustomerAccount = {
        customer: { customerKey, entry: customer && (yield* customerRecords.decode(customer)) },
        credit: credit && (yield* creditRecords.decode(credit)),
        alerts: alerts && (yield* alertRecords.decode(alerts))
      }
      return account
    })
  )
})

export const readCreditAccount = (partition: Partition.Partition, customerKey: string) =>
  Effect.map(
    readCreditAccounts(partition, [customerKey]),
    ([account = { customer: { customerKey, entry: undefined }, credit: undefined, alerts: undefined }]) => account
  )

/** Which of these customers have, or had, credit. */
export const findWithCredit = (partition: Partition.Partition, customerKeys: ReadonlyArray<string>) =>
  Effect.map(
    readCreditAccounts(partition, [...new Set(customerKeys)]),
    (accounts) =>
      new Set(accounts.flatMap(({ customer, credit }) => (credit === undefined ? [] : [customer.customerKey])))
  )

/** A precondition: no segment of the customer has begun or ended, and no return is pending, since it was read. */
export const assertCreditUnchanged = ({ customer, credit }: CreditAccount): Change =>
  Change.Check({ key: creditRecords.recordKey(customer.customerKey), expect: credit?.version ?? 0 })

/** The terms of a counter; nothing if it has none. */
export const toTerms = ({ open, periods }: MeterCredit, counter: string): CreditTerms | undefined => {
  const charged = Object.hasOwn(periods, counter) ? (periods[counter]?.credit ?? 0) : 0
  if (open?.counter !== counter) return charged === 0 ? undefined : { charged, start: 0, allowance: 0, granted: 0 }
  const { start, allowance, sources } = open
  return { charged, start, allowance, granted: sources.reduce((sum, { amount }) => sum + amount, 0) }
}
