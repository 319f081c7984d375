/**
 * What the examples share, so that they fit together: account `acme`, key bucket `production`, consumer `alice`, plan `pro`.
 */
import { maxLimit } from "@tollgate/store/internal"

/** The id of an item in examples. */
export const exampleId = (prefix: string): string => `${prefix}_4fGh7jKl0mNp3qRs6tUv9wXy`

/** The id of a second item in the same example. */
export const otherExampleId = (prefix: string): string => `${prefix}_8sTu1vWx4yZa7bCd0eFg3hIj`

/** When the items of examples were created. */
export const created = "2026-11-16T09:30:00.000Z"
/** When the items of examples were updated. */
export const updated = "2026-11-16T10:15:00.000Z"
export const period = { start: "2026-11-01T00:00:00.000Z", end: "2026-12-01T00:00:00.000Z" }

/** The dates that a new item has. */
export const generatedDates = { createdOn: created, updatedOn: created }

/** The id of a token of the option `tokens`: the beginning of its hash. */
export const exampleTokenId = "ASNFZ4mrze8BI0Vn"

/** A digest in examples. */
export const exampleDigest = "0123456789abcdef".repeat(4)

/** A whole list on one page. */
export const pageOf = <Item>(...data: ReadonlyArray<Item>) => ({
  data,
  limit: maxLimit,
  offset: 0,
  total: data.length
})

/** What was created together, as one page. */
export const createdPageOf = <Item>(...data: ReadonlyArray<Item>) => ({ ...pageOf(...data), limit: data.length })
