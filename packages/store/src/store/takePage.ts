import type { StoreRecord } from "./Store.ts"

/**
 * A page ends with the record with which its bodies reach this size, in bytes or in characters, even if it has fewer records
 * than its `limit`. So what one call returns is bounded.
 */
export const maxPageBytes = 4 * 1024 * 1024

/** The first records, as many as a page may have. Reads no others. */
export const takePage = (records: Iterable<StoreRecord>, limit: number): Array<StoreRecord> => {
  const page: Array<StoreRecord> = []
  if (limit === 0) return page
  let bytes = 0
  for (const record of records) {
    page.push(record)
    bytes += record.body.length
    if (page.length === limit || bytes >= maxPageBytes) break
  }
  return page
}
