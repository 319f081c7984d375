/**
 * Identifiers: a prefix for the kind of resource, and 24 random characters. `crypto/Id.ts` generates them.
 */
import { Schema } from "effect"

export const randomCharacters = 24

/**
 * Consumer, API key, manager, manager invite, metering bucket, plan, subscription, reservation, event, webhook and
 * delivery. Part of the HTTP API.
 */
export type Prefix = "csmr" | "key" | "mgr" | "inv" | "bckt" | "plan" | "sbsc" | "rsv" | "evt" | "whk" | "dlv"

export const Id = (prefix: Prefix) =>
  Schema.String.pipe(
    Schema.check(
      Schema.isPattern(new RegExp(`^${prefix}_[0-9A-Za-z]{${randomCharacters}}$`, "u"), {
        expected: `an id: "${prefix}_" and ${randomCharacters} letters and digits`
      })
    )
  )
