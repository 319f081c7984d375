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

/** The lower case of a character. That of a text depends on what is beside a character, and a beginning ends elsewhere. */
const toLowerCase = (character: string): ReadonlyArray<string> =>
  character >= " " && character <= "~"
    ? [character.toLowerCase()]
    : Array.from(character.toLowerCase().toUpperCase().toLowerCase().replaceAll("\0", "").replaceAll("\u0307", ""))

/** The first characters, and one more of a text that is too long: NFKC makes 18 of some characters. */
const toPoints = (text: string): ReadonlyArray<string> => {
  const points: Array<string> = []
  for (const character of text.slice(0, maxUnits).normalize("NFKC")) {
    points.push(...toLowerCase(character))
    if (points.length > maxLength) break
  }
  return points
}

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

/**
 * The beginning of the terms that a normalized text finds in a range. A partition with records of several accounts has the
 * name of an account as the scope of a term. Neither contains a slash.
 */
export const toSearchPrefix = (text: string, { scope = "", range = "" } = {}): string => `${scope}/${range}/${text}`

/** A record has at most 64 terms; one may be for something else than a text. */
const maxTextTerms = 63

/** What a record is found by: what the first fields have comes first, if it is too much. One character finds nothing. */
function* listTerms(
  fields: ReadonlyArray<SearchField>
): Generator<{ readonly field: string; readonly range: string; readonly term: string }> {
  const known = new Set<string>()
  for (const { field, texts, range = "" } of fields) {
    for (const text of texts) {
      const points = toPoints(text)
      if (points.length < minLength) continue
      if (known.size === maxTextTerms) return
      const term = points.slice(0, maxLength).join("")
      known.add(`${range}/${term}`)
      yield { field, range, term }
    }
  }
}

/** The terms of the fields. */
export const toSearchTerms = (fields: ReadonlyArray<SearchField>, scope = ""): ReadonlyArray<string> => [
  ...new Set(Array.from(listTerms(fields), ({ range, term }) => toSearchPrefix(term, { scope, range })))
]

/** The field by which a search finds a record: one that is the text comes before one that begins with it. */
export const findMatchedField = (
  fields: ReadonlyArray<SearchField>,
  text: string
): { readonly field: string; readonly isExact: boolean } | undefined => {
  let matched: string | undefined
  for (const { field, term } of listTerms(fields)) {
    if (term === text) return { field, isExact: true }
    if (matched === undefined && term.startsWith(text)) matched = field
  }
  return matched === undefined ? undefined : { field: matched, isExact: false }
}
