/**
 * Validates the arguments of store operations. Invalid arguments are a bug in the calling code, so they are defects,
 * not typed errors. The message names the argument.
 */
import { maxTimeUntilFull } from "./gcra.ts"
import type { Change, CounterChange, IdempotencyRecord, StoreQuery } from "./StoreOperations.ts"

/** An argument of a store operation is invalid: a mistake in the calling code. It is a defect, not a typed error. */
export class StoreMisuse extends TypeError {
  override readonly name = "StoreMisuse"
}

export const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
export const isPositive = (value: number): boolean => Number.isSafeInteger(value) && value > 0
/** A thousand years. Added to the present, it stays exact. */
const maxTtl = 365_250 * 24 * 60 * 60 * 1_000
const isTtl = (value: number): boolean => isPositive(value) && value <= maxTtl
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

const validateChange = (change: Change): string | undefined => {
  switch (change._tag) {
    case "Put":
      if (![change.key, change.body, change.parent, ...change.indexTerms, ...change.uniqueKeys].every(isWellFormed)) {
        return "a string contains a lone surrogate"
      }
      if (hasDuplicates(change.indexTerms) || hasDuplicates(change.uniqueKeys)) {
        return "index terms and unique keys must not contain duplicates"
      }
      return isCount(change.expect) ? undefined : `expect must be a version or 0, not ${change.expect}`
    case "Check":
      if (!isWellFormed(change.key)) return "the key contains a lone surrogate"
      return isCount(change.expect) ? undefined : `expect must be a version or 0, not ${change.expect}`
    case "Delete":
      return isPositive(change.expect) ? undefined : `expect must be the version to delete, not ${change.expect}`
    case "AtMost":
      return isCount(change.atMost) ? undefined : `atMost must be a non-negative integer, not ${change.atMost}`
    default:
      if (!isWellFormed(change.counter)) return "the counter name contains a lone surrogate"
      return (
        validateAmounts(change) ??
        (isTtl(change.ttl) ? undefined : `ttl must be a number of milliseconds from 1 to ${maxTtl}, not ${change.ttl}`)
      )
  }
}

const validateAmounts = (change: CounterChange): string | undefined => {
  switch (change._tag) {
    case "Add":
      if (!isPositive(Math.abs(change.by))) return `by must be an integer other than 0, not ${change.by}`
      return change.max === undefined || isCount(change.max)
        ? undefined
        : `max must be a non-negative integer, not ${change.max}`
    case "Raise":
      return isCount(change.to) ? undefined : `to must be a non-negative integer, not ${change.to}`
    case "Take": {
      const { cost, interval, burst } = change
      if (![cost, interval, burst].every(isPositive)) {
        return `cost, interval and burst must be positive integers, not ${cost}, ${interval} and ${burst}`
      }
      if (cost > burst) return `cost must be at most burst, not ${cost} of ${burst}`
      return burst * interval <= maxTimeUntilFull
        ? undefined
        : `burst × interval must be at most ${maxTimeUntilFull} microseconds, not ${burst * interval}`
    }
  }
}

/** A commit must contain each record and each counter at most once. */
export const validateCommit = (
  changes: ReadonlyArray<Change>,
  idempotency: IdempotencyRecord | undefined
): StoreMisuse | undefined => {
  const records = new Set<string>()
  const counters = new Set<string>()
  for (const change of changes) {
    const problem = validateChange(change)
    if (problem !== undefined) return new StoreMisuse(`${change._tag}: ${problem}`)
    if (change._tag === "AtMost") continue
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
  if (!isTtl(ttl)) {
    return new StoreMisuse(`idempotency.ttl must be a number of milliseconds from 1 to ${maxTtl}, not ${ttl}`)
  }
  if (![id, fingerprint, result].every(isWellFormed)) {
    return new StoreMisuse("idempotency: a string contains a lone surrogate")
  }
  return undefined
}
