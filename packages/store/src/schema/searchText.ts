/**
 * What people search for, and the terms that records are found by: without regard to case and to forms of characters that
 * look the same.
 */
import { Schema } from "effect"

/** Code points of a search, and of a term. A longer term is found by its beginning. */
const minLength = 2
const maxLength = 32

/** More UTF-16 code units than any 32 characters have before they are normalized. */
const maxUnits = 128

/** Each character by itself: the lower case of a text depends on what is beside a character, and a beginning ends elsewhere. */
const toPoints = (text: string): ReadonlyArray<string> =>
  Array.from(text.slice(0, maxUnits).normalize("NFKC")).flatMap((character) =>
    Array.from(character.toLowerCase().toUpperCase().toLowerCase().replaceAll("\0", "").replaceAll("\u0307", ""))
  )

/** The form in which texts are compared. */
export const normalizeSearch = (text: string): string => toPoints(text).slice(0, maxLength).join("")

const hasSearchLength = (text: string): boolean => {
  const { length } = toPoints(text)
  return text.length <= maxUnits && length >= minLength && length <= maxLength
}

/** The text of a search. */
export const SearchText = Schema.Trim.pipe(
  Schema.check(Schema.makeFilter(hasSearchLength, { expected: `${minLength} to ${maxLength} characters` }))
)

/** A field of a record, and the texts by which it is found. */
export interface SearchField {
  readonly field: string
  readonly texts: ReadonlyArray<string>
  /** A field with many texts has a range of its own: a search reads so many terms of each, so that none hides another. */
  readonly range?: string
}

/** The field by which a search finds a record: one that is the text comes before one that begins with it. */
export const findMatchedField = (
  fields: ReadonlyArray<SearchField>,
  text: string
): { readonly field: string; readonly isExact: boolean } | undefined => {
  const has = (matches: (term: string) => boolean) =>
    fields.find(({ texts }) => texts.some((other) => matches(normalizeSearch(other))))
  const exact = has((term) => term === text)
  const matched = exact ?? has((term) => term.startsWith(text))
  return matched && { field: matched.field, isExact: exact !== undefined }
}

/**
 * The beginning of the terms that a normalized text finds in a range. A partition with records of several accounts has the
 * name of an account as the scope of a term. Neither contains a slash.
 */
export const toSearchPrefix = (text: string, { scope = "", range = "" } = {}): string => `${scope}/${range}/${text}`

/** A record has at most 64 terms; one may be for something else than a text. */
const maxTextTerms = 63

/** The terms of the fields: those of the first fields come first, if they are too many. One character finds nothing. */
export const toSearchTerms = (fields: ReadonlyArray<SearchField>, scope = ""): ReadonlyArray<string> => {
  const terms = new Set<string>()
  for (const { texts, range = "" } of fields) {
    for (const text of texts) {
      const points = toPoints(text)
      if (points.length < minLength) continue
      if (terms.size === maxTextTerms) return [...terms]
      terms.add(toSearchPrefix(points.slice(0, maxLength).join(""), { scope, range }))
    }
  }
  return [...terms]
}
