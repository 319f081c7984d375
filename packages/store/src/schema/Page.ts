/**
 * Pagination: the query parameters and the page of results, oldest first.
 */
import { Schema, SchemaGetter, SchemaTransformation } from "effect"

export const maxLimit = 1000

/** The requested range. `Limit` reduces a larger limit to `maxLimit`. */
export interface PageRequest {
  readonly limit: number
  /** Number of items to skip, from `after` on if that is given. */
  readonly offset: number
  /** The place at which an earlier page ended. */
  readonly after?: number | undefined
}

export const Limit = Schema.Int.pipe(
  Schema.check(Schema.isGreaterThanOrEqualTo(1)),
  Schema.decode({
    decode: SchemaGetter.transform((limit: number) => Math.min(limit, maxLimit)),
    encode: SchemaGetter.passthrough()
  })
)

export const Offset = Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 32 - 1 })))

export const cursorPattern = /^(0|[1-9]\d{0,14})$/u

/** The place at which a page ended, as text: callers are not to compute with it. */
export const Cursor = Schema.String.pipe(
  Schema.check(Schema.isPattern(cursorPattern, { expected: "the next of an earlier page" })),
  Schema.decodeTo(Schema.Int, SchemaTransformation.transform({ decode: Number, encode: String }))
)

/** One page of a list, oldest item first, and the number of items on all pages. */
export interface Page<A> {
  readonly data: ReadonlyArray<A>
  readonly limit: number
  readonly offset: number
  readonly total: number
  /** A cursor at the last item, if there are more. */
  readonly next?: string
}

/** What a request asks for and what was read for it, as a page. */
export const toPage = <A>(
  { limit, offset }: PageRequest,
  { total, next }: { readonly total: number; readonly next?: number | string | undefined },
  data: ReadonlyArray<A>
): Page<A> => ({ data, limit, offset, total, ...(next === undefined ? {} : { next: String(next) }) })

const Count = Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 32 - 1 })))

export const Page = <S extends Schema.Top>(item: S) =>
  Schema.Struct({
    data: Schema.Array(item),
    limit: Count,
    offset: Count,
    total: Count,
    next: Schema.optionalKey(Schema.String).annotateKey({
      description:
        "If there are more items: send it as `after`, with the same filters and order, to get the next page. Items " +
        "that are created, changed or removed in between neither hide nor repeat others."
    })
  })
