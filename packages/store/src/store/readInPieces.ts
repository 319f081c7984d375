/**
 * Lists of the records that have several index terms, in pieces, where there are many of them: comparing all postings at
 * once would block the process, or a database that others use too.
 */
import { Effect } from "effect"
import { nextTurn } from "../runtime/turns.ts"
import type { StoreQuery } from "./Store.ts"

/** How many postings of all terms together are compared in a piece, which takes a few milliseconds. */
export const postingsInPiece = 20_000

/** What a piece of a list has found. */
export interface Piece<A> {
  /** How many records of the piece match. */
  readonly matches: number
  /** Those after the first `skip`, at most `wanted`. */
  readonly items: ReadonlyArray<A>
  /** The place at which the next piece begins, if there is one. */
  readonly end?: number | undefined
}

/** Reads the piece after a place: skips so many matches, and returns so many. */
export type ReadPiece<A, E> = (after: number | undefined, skip: number, wanted: number) => Effect.Effect<Piece<A>, E>

/** Counts all matches, and finds those of the page and the one after it, if there is one. */
export const readInPieces = Effect.fnUntraced(function* <A, E>(
  readPiece: ReadPiece<A, E>,
  { offset, limit, after }: Omit<StoreQuery, "indexTerms">,
  knownTotal: number | undefined
): Effect.fn.Return<{ readonly items: ReadonlyArray<A>; readonly total: number }, E> {
  const scan = Effect.fnUntraced(function* (start: number | undefined, wanted: number, isCounting: boolean) {
    const items: Array<A> = []
    let matches = 0
    for (let place = start; isCounting || items.length < wanted; ) {
      const piece = yield* readPiece(place, Math.max(0, offset - matches), wanted - items.length)
      matches += piece.matches
      items.push(...piece.items)
      place = piece.end
      if (place === undefined) break
      yield* nextTurn
    }
    return { items, matches }
  })
  const wanted = limit === 0 ? 0 : limit + 1
  if (after === undefined && knownTotal === undefined) {
    const { items, matches } = yield* scan(after, wanted, true)
    return { items, total: matches }
  }
  const total = knownTotal ?? (yield* scan(undefined, 0, true)).matches
  return { items: (yield* scan(after, wanted, false)).items, total }
})
