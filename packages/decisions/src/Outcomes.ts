import { Timestamp } from "@tollgate/core/module"
import { Schema } from "effect"
import { RefusalReason } from "./Refusal.ts"

/** The length of a step of `Outcomes`. */
export const OutcomesStep = Schema.Literals(["hour", "day"])
export type OutcomesStep = typeof OutcomesStep.Type

/** How many requests were allowed and refused in each hour or day of a range. */
export const Outcomes = Schema.Struct({
  step: OutcomesStep.annotate({ identifier: "OutcomesStep" }),
  from: Timestamp,
  to: Timestamp,
  /** Oldest first, without gaps. */
  data: Schema.Array(
    Schema.Struct({
      start: Timestamp,
      end: Timestamp,
      allowed: Schema.Int,
      /** By reason; those that no request had are absent. */
      refused: Schema.Record(RefusalReason, Schema.optionalKey(Schema.Int))
    })
  )
}).annotate({ identifier: "Outcomes" })
export type Outcomes = typeof Outcomes.Type
/** How many requests were allowed and refused, as plain JSON. */
export type OutcomesJson = typeof Outcomes.Encoded
