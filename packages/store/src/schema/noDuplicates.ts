import { Schema } from "effect"

/** Rejects a list of strings that contains one of them twice. */
export const noDuplicates = Schema.makeFilter(
  (items: ReadonlyArray<string>): boolean => new Set(items).size === items.length,
  { expected: "no duplicate entries", toJsonSchema: () => ({ uniqueItems: true }) }
)
