/**
 * Calls that no correct program makes: a defect, not an error to handle. The message names the argument.
 */
import type { Change, IdempotencyRecord, StoreQuery } from "./Store.ts"

export class StoreMisuse extends TypeError {
  override readonly name = "StoreMisuse"
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
const isPositive = (value: number): boolean => Number.isSafeInteger(value) && value > 0
/** More than anybody asks for, and less than any store's own limit. */
const maxTerms = 100

/** Half a surrogate pair cannot be written as UTF-8: two different names would become one. */
const isWellFormed = (text: string | undefined): boolean => text === undefined || text.isWellFormed()

const hasRepeats = (names: ReadonlyArray<string>): boolean => names.length > 1 && new Set(names).size < names.length

export const validateQueries = (queries: ReadonlyArray<StoreQuery>): StoreMisuse | undefined => {
  for (const { indexTerms: terms, offset, limit } of queries) {
    if (terms.length === 0 || terms.length > maxTerms) {
      return new StoreMisuse(`A query has 1 to ${maxTerms} terms, not ${terms.length}`)
    }
    if (!isCount(offset) || !isCount(limit)) {
      return new StoreMisuse(`A query's offset and limit are integers from 0, not ${offset} and ${limit}`)
    }
  }
  return undefined
}

const validateChange = (change: Change): string | undefined => {
  switch (change._tag) {
    case "Put":
      if (![change.key, change.body, change.parent, ...change.indexTerms, ...change.uniqueKeys].every(isWellFormed)) {
        return "a text has half a surrogate pair in it"
      }
      if (hasRepeats(change.indexTerms) || hasRepeats(change.uniqueKeys)) return `terms and claims are given once each`
      return isCount(change.expect) ? undefined : `expect is a version or 0, not ${change.expect}`
    case "Check":
      if (!isWellFormed(change.key)) return "the key has half a surrogate pair in it"
      return isCount(change.expect) ? undefined : `expect is a version or 0, not ${change.expect}`
    case "Delete":
      return isPositive(change.expect) ? undefined : `expect is the version to delete, not ${change.expect}`
    case "AtMost":
      return isCount(change.atMost) ? undefined : `atMost is an integer from 0, not ${change.atMost}`
    case "Add":
      if (!isWellFormed(change.counter)) return "the counter's name has half a surrogate pair in it"
      if (!isPositive(change.by)) return `by is an integer from 1, not ${change.by}`
      if (change.max !== undefined && !isCount(change.max)) return `max is an integer from 0, not ${change.max}`
      return isPositive(change.ttl) ? undefined : `ttl is a number of milliseconds from 1, not ${change.ttl}`
  }
}

/** A record or a counter is named once in a commit. */
export const validateCommit = (
  changes: ReadonlyArray<Change>,
  once: IdempotencyRecord | undefined
): StoreMisuse | undefined => {
  const records = new Set<string>()
  const counters = new Set<string>()
  for (const change of changes) {
    const wrong = validateChange(change)
    if (wrong !== undefined) return new StoreMisuse(`${change._tag}: ${wrong}`)
    if (change._tag === "AtMost") continue
    const [kind, name, named] =
      change._tag === "Add"
        ? (["counter", change.counter, counters] as const)
        : (["record", change.key, records] as const)
    if (named.has(name)) return new StoreMisuse(`${change._tag}: the ${kind} ${name} is named twice in one commit`)
    named.add(name)
  }
  if (once === undefined) return undefined
  if (!isPositive(once.ttl)) return new StoreMisuse(`once.ttl is a number of milliseconds from 1, not ${once.ttl}`)
  if (![once.id, once.fingerprint, once.result].every(isWellFormed)) {
    return new StoreMisuse("once: a text has half a surrogate pair in it")
  }
  return undefined
}
