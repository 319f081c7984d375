/**
 * Pagination: the query parameters and the page of results, oldest first.
 */
import { Schema, SchemaGetter } from "effect"

export const maxLimit = 1000

/** The requested range. `Limit` reduces a larger limit to `maxLimit`. */
export interface PageRequest {
  readonly limit: number
  readonly offset: number
}

export const Limit = Schema.Int.pipe(
  Schema.check(Schema.isGreaterThanOrEqualTo(1)),
  Schema.decode({
    decode: SchemaGetter.transform((limit: number) => Math.min(limit, maxLimit)),
    encode: SchemaGetter.passthrough()
  })
)

export const Offset = Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 32 - 1 })))

/** One page of a list, oldest item first, and the number of items on all pages. */
export interface Page<A> extends PageRequest {
  readonly data: ReadonlyArray<A>
  readonly total: number
}

const Count = Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 32 - 1 })))

export const Page = <S extends Schema.Top>(item: S) =>
  Schema.Struct({ data: Schema.Array(item), limit: Count, offset: Count, total: Count })
