/**
 * Length limits of strings in requests, which bound the size of pages and caches. Stored records are read without these
 * limits. Characters are Unicode code points, as in JSON Schema, so an emoji counts once.
 */
import { Schema } from "effect"

/** Counts only texts that can be short enough: a code point has at most two UTF-16 units. */
export const hasAtMost = (max: number, text: string): boolean =>
  text.length <= max || (text.length <= 2 * max && [...text].length <= max)

/** Checks the number of characters, of numbers and booleans in their string form. */
export const isMaxCharacters = (max: number) =>
  Schema.makeFilter((value: string | number | boolean) => hasAtMost(max, String(value)), {
    expected: `a value of at most ${max} characters`,
    toJsonSchema: () => ({ maxLength: max })
  })

/** A string of 1 to `max` characters. */
export const boundedText = (max: number) =>
  Schema.String.pipe(Schema.check(Schema.isMinLength(1), isMaxCharacters(max)))

/** Strings without a more specific limit, such as descriptions. */
export const LongText = Schema.String.pipe(Schema.check(isMaxCharacters(4_096)))

/** Labels, and identifiers of external systems. */
export const ShortText = boundedText(256)
