/**
 * Validates the arguments of store operations. Invalid arguments are a bug in the calling code, so they are defects,
 * not typed errors. The message names the argument.
 */
import { maxTimeUntilFull } from "./gcra.ts"
import type { Change, IdempotencyRecord, SearchQuery, StoreQuery } from "./StoreOperations.ts"

/** An argument of a store operation is invalid: a mistake in the calling code. It is a defect, not a typed error. */
export class StoreMisuse extends TypeError {
  override readonly name = "StoreMisuse"
}

/** Whether a number is an integer that stays exact, from `minimum` to `maximum`. */
const isInteger = (value: number, minimum: number, maximum = Number.MAX_SAFE_INTEGER): boolean =>
  Number.isSafeInteger(value) && value >= minimum && value <= maximum
export const isCount = (value: number): boolean => isInteger(value, 0)
export const isPositive = (value: number): boolean => isInteger(value, 1)
/** A thousand years. Added to the present, it stays exact. */
const maxTtl = 365_250 * 24 * 60 * 60 * 1_000
/** Maximum index terms in a query. Tollgate uses fewer; every store supports more. */
const maxTerms = 100

/** A lone surrogate has no UTF-8 encoding: two different names would be stored as the same bytes. */
export const isWellFormed = (text: string | undefined): boolean => text === undefined || text.isWellFormed()

export const hasDuplicates = (names: ReadonlyArray<string>): boolean =>
  names.length > 1 && new Set(names).size < names.length

export const validateQueries = (queries: ReadonlyArray<StoreQuery>): StoreMisuse | undefined => {
  for (const { indexTerms, offset, limit, after } of queries) {
    if (indexTerms.length === 0 || indexTerms.length > maxTerms) {
      return new StoreMisuse(`A query must have 1 to ${maxTerms} index terms, not ${indexTerms.length}`)
    }
    if (!isCount(offset) || !isCount(limit)) {
      return new StoreMisuse(`A query's offset and limit must be non-negative integers, not ${offset} and ${limit}`)
    }
    if (after !== undefined && !isCount(after)) {
      return new StoreMisuse(`A query's after must be the next of a page, not ${after}`)
    }
  }
  return undefined
}

/** Maximum search terms of a record, and UTF-16 code units of each: an entry of a B-tree index is limited. */
const maxSearchTerms = 64
const maxSearchTermLength = 256

const isSearchText = (text: string): boolean =>
  text.length <= maxSearchTermLength && text.isWellFormed() && !text.includes("\0")

/** The problem of search terms that are not valid. A record without any leaves them out. */
export const validateSearchTerms = (terms: ReadonlyArray<string> | undefined): string | undefined => {
  if (terms === undefined) return undefined
  if (terms.length === 0 || terms.length > maxSearchTerms) {
    return `search terms must be 1 to ${maxSearchTerms}, or left out, not ${terms.length}`
  }
  if (hasDuplicates(terms)) return "search terms must not contain duplicates"
  return terms.every((term) => term !== "" && isSearchText(term))
    ? undefined
    : `a search term must have 1 to ${maxSearchTermLength} UTF-16 code units, without U+0000 and lone surrogates`
}

export const validateSearches = (queries: ReadonlyArray<SearchQuery>): StoreMisuse | undefined => {
  for (const { prefix, limit, after } of queries) {
    if (!isSearchText(prefix)) {
      return new StoreMisuse(
        `A prefix must have at most ${maxSearchTermLength} UTF-16 code units, without U+0000 and lone surrogates`
      )
    }
    if (!isCount(limit)) return new StoreMisuse(`A search's limit must be a non-negative integer, not ${limit}`)
    if (after !== undefined && !(isSearchText(after) && after.startsWith(prefix))) {
      return new StoreMisuse("A search's after must be a search term with the prefix")
    }
  }
  return undefined
}

const validateChange = (change: Change): string | undefined => {
  switch (change._tag) {
    case "Put":
      if (![change.key, change.body, change.parent, ...change.indexTerms, ...change.uniqueKeys].every(isWellFormed)) {
        return "a string contains a lone surrogate"
      }
      if (hasDuplicates(change.indexTerms) || hasDuplicates(change.uniqueKeys)) {
        return "index terms and unique keys must not contain duplicates"
      }
      if (!isInteger(change.expect, 0)) return `expect must be a version or 0, not ${change.expect}`
      return validateSearchTerms(change.searchTerms)
    case "Check":
      if (!change.key.isWellFormed()) return "the key contains a lone surrogate"
      return isInteger(change.expect, 0) ? undefined : `expect must be a version or 0, not ${change.expect}`
    case "Delete":
      return isInteger(change.expect, 1) ? undefined : `expect must be the version to delete, not ${change.expect}`
    case "AtMost":
      return isInteger(change.atMost, 0) ? undefined : `atMost must be a non-negative integer, not ${change.atMost}`
  }
  if (!change.counter.isWellFormed()) return "the counter name contains a lone surrogate"
  switch (change._tag) {
    case "Add":
      if (!isInteger(Math.abs(change.by), 1)) return `by must be an integer other than 0, not ${change.by}`
      if (change.max !== undefined && !isInteger(change.max, 0)) {
        return `max must be a non-negative integer, not ${change.max}`
      }
      break
    case "Raise":
      if (!isInteger(change.to, 0)) return `to must be a non-negative integer, not ${change.to}`
      break
    case "Take": {
      const { cost, interval, burst } = change
      if (!isInteger(cost, 1) || !isInteger(interval, 1) || !isInteger(burst, 1)) {
        return `cost, interval and burst must be positive integers, not ${cost}, ${interval} and ${burst}`
      }
      if (cost > burst) return `cost must be at most burst, not ${cost} of ${burst}`
      if (burst * interval > maxTimeUntilFull) {
        return `burst × interval must be at most ${maxTimeUntilFull} microseconds, not ${burst * interval}`
      }
      break
    }
    case "CheckCounter":
      return isInteger(change.expect, 0)
        ? undefined
        : `expect must be the value of the counter or 0, not ${change.expect}`
  }
  return isInteger(change.ttl, 1, maxTtl)
    ? undefined
    : `ttl must be a number of milliseconds from 1 to ${maxTtl}, not ${change.ttl}`
}

/** A commit must contain each record, and a change of each counter, at most once. */
export const validateCommit = (
  changes: ReadonlyArray<Change>,
  idempotency: IdempotencyRecord | undefined
): StoreMisuse | undefined => {
  const records = new Set<string>()
  const counters = new Set<string>()
  for (const change of changes) {
    const problem = validateChange(change)
    if (problem !== undefined) return new StoreMisuse(`${change._tag}: ${problem}`)
    if (change._tag === "AtMost" || change._tag === "CheckCounter") continue
    const [kind, name, previousNames] =
      "counter" in change
        ? (["counter", change.counter, counters] as const)
        : (["record", change.key, records] as const)
    if (previousNames.has(name)) {
      return new StoreMisuse(`${change._tag}: the ${kind} ${name} appears twice in one commit`)
    }
    previousNames.add(name)
  }
  if (idempotency === undefined) return undefined
  const { id, fingerprint, result, ttl } = idempotency
  if (!isInteger(ttl, 1, maxTtl)) {
    return new StoreMisuse(`idempotency.ttl must be a number of milliseconds from 1 to ${maxTtl}, not ${ttl}`)
  }
  if (![id, fingerprint, result].every(isWellFormed)) {
    return new StoreMisuse("idempotency: a string contains a lone surrogate")
  }
  return undefined
}
