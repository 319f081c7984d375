/**
 * The order of search terms and the range of those that begin with a prefix, for adapters. It is the order of the code
 * points, and so of the bytes in UTF-8. The order of JavaScript differs: it compares surrogates, which are lower than
 * U+E000 although the characters that they encode are higher.
 */
import type { SearchQuery } from "./StoreOperations.ts"

/** Moves surrogates above all other code units. */
const toRank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)

/** Compares two texts by their code points: negative if the left one comes first. */
export const compareCodePoints = (left: string, right: string): number => {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) {
    const [leftUnit, rightUnit] = [left.charCodeAt(index), right.charCodeAt(index)]
    if (leftUnit !== rightUnit) return toRank(leftUnit) - toRank(rightUnit)
  }
  return left.length - right.length
}

const maxCodePoint = 0x10ffff

/** The first text after all that begin with a prefix; `undefined` if there is none. */
const getEnd = (prefix: string): string | undefined => {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === maxCodePoint) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
}

/** The terms of a query are those from `from` on, and before `end` if there is one. */
export const getSearchRange = ({ prefix, after }: SearchQuery): { readonly from: string; readonly end?: string } => {
  const end = getEnd(prefix)
  // No term contains U+0000, so this is the first one after the other.
  const from = after === undefined ? prefix : `${after}\u0001`
  return end === undefined ? { from } : { from, end }
}
