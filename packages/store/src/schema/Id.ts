/**
 * Identifiers: a prefix for the kind of resource, and 24 random characters. `crypto/Id.ts` generates them.
 */
import { Schema } from "effect"

export const randomCharacters = 24

/** The schema of the ids with a prefix: a few letters that say what it identifies. Part of the HTTP API. */
export const Id = (prefix: string) =>
  Schema.String.pipe(
    Schema.check(
      Schema.isPattern(new RegExp(`^${prefix}_[0-9A-Za-z]{${randomCharacters}}$`, "u"), {
        expected: `an id: "${prefix}_" and ${randomCharacters} letters and digits`
      })
    )
  )
