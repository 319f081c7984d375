/**
 * What a customer uses, and may use, as it sees it: by the names of meters, without ids.
 */
import { RefusalReason, Timestamp, toCsvLines, toUsageCsv, withCsv } from "@tollgate/core/module"
import { DateTime, Schema } from "effect"

/** A meter in its present period. */
const PortalMeter = Schema.Struct({
  meter: Schema.String,
  label: Schema.optionalKey(Schema.String),
  /** What the plan gives in the period. */
  max: Schema.Finite,
  /** What is used of it, and above it. */
  used: Schema.Finite,
  /** What is possible now, with credit. */
  remaining: Schema.Finite,
  /** The part of it that grants give, if there are any. */
  credit: Schema.optionalKey(Schema.Finite),
  /** What was used above `max`, if anything. */
  overage: Schema.optionalKey(Schema.Finite),
  /** Use above `max` is not refused. */
  isSoftLimit: Schema.optionalKey(Schema.Boolean),
  periodStart: Timestamp,
  resetsOn: Schema.optionalKey(Timestamp)
})

export const PortalQuotas = Schema.Struct({ data: Schema.Array(PortalMeter) }).annotate({ identifier: "PortalQuotas" })
export type PortalQuotas = typeof PortalQuotas.Type
/** The meters of a customer, as plain JSON. */
export type PortalQuotasJson = typeof PortalQuotas.Encoded

export const PortalUsageStep = Schema.Literals(["day", "month"])

const AmountByMeter = Schema.Record(Schema.String, Schema.Finite)

const Series = Schema.Struct({
  step: PortalUsageStep.annotate({ identifier: "PortalStep" }),
  /** Oldest first, without gaps. */
  data: Schema.Array(
    Schema.Struct({
      start: Timestamp,
      end: Timestamp,
      meters: AmountByMeter,
      /** What each key of the customer used, with `groupBy=key`. */
      keys: Schema.optionalKey(
        Schema.Array(
          Schema.Struct({ keyId: Schema.String, name: Schema.optionalKey(Schema.String), meters: AmountByMeter })
        )
      ),
      /** What was used by keys that are no longer there, and without a key. */
      rest: Schema.optionalKey(AmountByMeter)
    })
  )
}).annotate({ identifier: "PortalUsage" })

/** With keys, a line for each key and step: `rest` has no key. */
const toCsv = ({ data }: PortalUsage): string => {
  if (data[0]?.keys === undefined) return toUsageCsv({ data })
  const meters = Object.keys(data[0].meters).sort()
  return toCsvLines([
    ["start", "end", "keyId", "name", ...meters],
    ...data.flatMap(({ start, end, keys = [], rest = {} }) =>
      [...keys, { keyId: "", name: "", meters: rest }].map(({ keyId, name = "", meters: amounts }) => [
        DateTime.formatIso(start),
        DateTime.formatIso(end),
        keyId,
        name,
        ...meters.map((meter) => (Object.hasOwn(amounts, meter) ? (amounts[meter] ?? 0) : 0))
      ])
    )
  ])
}

export const PortalUsage = withCsv(Series, toCsv)
export type PortalUsage = typeof Series.Type
/** What a customer has used by day or month, as plain JSON. */
export type PortalUsageJson = typeof Series.Encoded

/** Refusals of the last 7 days for the same reason. */
const PortalRefusal = Schema.Struct({
  reason: RefusalReason,
  /** The rate limit that refused. */
  limit: Schema.optionalKey(Schema.String),
  /** The meter whose quota is used up. */
  meter: Schema.optionalKey(Schema.String),
  count: Schema.Int,
  /** Those since midnight in UTC. */
  today: Schema.Int,
  lastOn: Timestamp
})

export const PortalRefusals = Schema.Struct({ data: Schema.Array(PortalRefusal), since: Timestamp }).annotate({
  identifier: "PortalRefusals"
})
export type PortalRefusals = typeof PortalRefusals.Type
/** Why requests of a customer were refused, as plain JSON. */
export type PortalRefusalsJson = typeof PortalRefusals.Encoded
