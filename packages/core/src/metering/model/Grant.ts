/**
 * A grant: an amount of a meter that a customer gets beyond the allowance of its plans, such as a top-up or a trial credit.
 */

import { Id, isMaxCharacters, Metadata, MeterName, omitUndefined, ShortText, Timestamp } from "@tollgate/store/internal"
import { DateTime, Order, Schema } from "effect"

/** The id of a grant. It begins with `grt_`. */
export const GrantId = Id("grt").pipe(Schema.brand("GrantId"))
export type GrantId = typeof GrantId.Type

/** `depleted`: all was used. Only an `active` grant is spent. */
export const GrantState = Schema.Literals(["pending", "active", "depleted", "expired", "voided"])
export type GrantState = typeof GrantState.Type

/** A hundred open grants are still a number that is exact. */
const maxAmount = 10_000_000_000_000
const amount = Schema.Int.pipe(
  Schema.check(
    Schema.isBetween({ minimum: 1, maximum: maxAmount }, { expected: "an integer from 1 to 10,000,000,000,000" })
  )
)
/** A meter that can be counted: no name of a meter in amounts is `__proto__`. */
const meter = MeterName.pipe(
  Schema.check(Schema.makeFilter((name) => name !== "__proto__", { expected: "the name of a meter" }))
)
const priority = Schema.Int.pipe(
  Schema.check(Schema.isBetween({ minimum: 0, maximum: 255 }, { expected: "an integer from 0 to 255" }))
)
export const defaultPriority = 100

const optionalInput = {
  expiresOn: Schema.optionalKey(Timestamp),
  reason: Schema.optionalKey(Schema.String.pipe(Schema.check(Schema.isMinLength(1), isMaxCharacters(4_096)))),
  /** The id of the grant in your system, for example of a payment. Unique in the metering bucket. */
  externalId: Schema.optionalKey(ShortText),
  metadata: Schema.optionalKey(Metadata)
}

const expiresAfterEffect = Schema.makeFilter(
  ({ effectiveOn, expiresOn }: { readonly effectiveOn?: DateTime.Utc; readonly expiresOn?: DateTime.Utc }) =>
    effectiveOn !== undefined && expiresOn !== undefined && DateTime.isLessThanOrEqualTo(expiresOn, effectiveOn)
      ? { path: ["expiresOn"], issue: "must be after effectiveOn" }
      : undefined
)

/** The input that gives a customer a grant. */
export const GrantCreate = Schema.Struct({
  meter,
  amount,
  /** The order in which grants are spent: the lowest first. Default: 100. */
  priority: Schema.optionalKey(priority),
  /** From when on it can be spent. Default: now. */
  effectiveOn: Schema.optionalKey(Timestamp),
  ...optionalInput
})
  .annotate({ identifier: "GrantCreate" })
  .pipe(Schema.check(expiresAfterEffect))
export type GrantCreate = typeof GrantCreate.Type

const fields = {
  id: GrantId,
  customerKey: Schema.String,
  meter: Schema.String,
  amount: Schema.Finite,
  used: Schema.Finite
}
const settings = { priority: Schema.Int, effectiveOn: Timestamp, ...optionalInput, createdOn: Timestamp }

/** A grant, what was used of it, and whether it can be spent. */
export const Grant = Schema.Struct({
  ...fields,
  /** `amount` less `used`, in every state. */
  remaining: Schema.Finite,
  state: GrantState,
  ...settings
}).annotate({ identifier: "Grant" })
export type Grant = typeof Grant.Type
/** A grant, as plain JSON. */
export type GrantJson = typeof Grant.Encoded

/** A grant as of the last settlement: what the open segment has charged to it is not in it. */
export const StoredGrant = Schema.Struct({
  ...fields,
  state: GrantState,
  ...settings,
  /** What it has given, by counter, of those whose period is not over long ago. */
  taken: Schema.Record(Schema.String, Schema.Finite),
  /** An event has said that it was depleted. */
  isDepletionKnown: Schema.optionalKey(Schema.Boolean)
})
export type StoredGrant = typeof StoredGrant.Type

/** A grant with what the open segment has charged to it. */
export const toGrant = ({ taken: _, isDepletionKnown: __, ...grant }: StoredGrant, charged = 0): Grant => {
  const used = grant.used + charged
  const state = grant.state === "active" && used >= grant.amount ? "depleted" : grant.state
  return { ...grant, used, remaining: grant.amount - used, state }
}

/** A change of what it has given. */
export const take = (grant: StoredGrant, counter: string, amount: number): StoredGrant => {
  const { [counter]: before = 0, ...others } = grant.taken
  const after = before + amount
  return { ...grant, used: grant.used + amount, taken: after === 0 ? others : { ...others, [counter]: after } }
}

/** Whether it can be spent now, or will be. */
export const isOpen = ({ state }: StoredGrant): boolean => state === "pending" || state === "active"

/** The state that it comes to by itself. */
export const stateAt = (grant: StoredGrant, now: DateTime.Utc): GrantState => {
  const { state, used, amount, effectiveOn, expiresOn } = grant
  if (state === "voided" || state === "expired") return state
  if (used >= amount) return "depleted"
  if (expiresOn !== undefined && DateTime.isLessThanOrEqualTo(expiresOn, now)) return "expired"
  return DateTime.isGreaterThan(effectiveOn, now) ? "pending" : "active"
}

const noExpiry = Number.POSITIVE_INFINITY

/** The order in which grants are spent: by priority, expiry and age. */
export const spendingOrder: Order.Order<StoredGrant> = Order.combineAll([
  Order.mapInput(Order.Number, ({ priority }: StoredGrant) => priority),
  Order.mapInput(Order.Number, ({ expiresOn }: StoredGrant) => expiresOn?.epochMilliseconds ?? noExpiry),
  Order.mapInput(Order.Number, ({ createdOn }: StoredGrant) => createdOn.epochMilliseconds),
  Order.mapInput(Order.String, ({ id }: StoredGrant) => id)
])

/** What two requests with one `externalId` must have in common. */
export const toContent = (
  {
    customerKey,
    meter,
    amount,
    priority = defaultPriority,
    expiresOn,
    reason,
    metadata
  }: GrantCreate & {
    readonly customerKey: string
  },
  effectiveOn: DateTime.Utc
) =>
  omitUndefined({
    ...{ customerKey, meter, amount, priority, reason, metadata },
    effectiveOn: effectiveOn.epochMilliseconds,
    expiresOn: expiresOn?.epochMilliseconds
  })
