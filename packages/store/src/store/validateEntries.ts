/**
 * Validates the entries that are written to a store. An invalid entry is a bug in the calling code.
 */

import type { ReplayNumbers, StoreEntry } from "./StoreEntry.ts"
import { hasDuplicates, isCount, isPositive, isWellFormed, StoreMisuse, validateSearchTerms } from "./StoreMisuse.ts"

const isValidReplayNumbers = (numbers: ReplayNumbers): boolean =>
  numbers.every(([name, value]) => isWellFormed(name) && Number.isSafeInteger(value))

const surrogate = "a string contains a lone surrogate"

const validateEntry = (entry: StoreEntry): string | undefined => {
  switch (entry._tag) {
    case "Sequence":
      return isPositive(entry.value) ? undefined : `value must be a positive integer, not ${entry.value}`
    case "Record": {
      const { key, version, body, parent, indexTerms, uniqueKeys, searchTerms } = entry.record
      if (![key, body, parent, ...indexTerms, ...uniqueKeys].every(isWellFormed)) return surrogate
      if (hasDuplicates(indexTerms) || hasDuplicates(uniqueKeys)) {
        return "index terms and unique keys must not contain duplicates"
      }
      if (!isPositive(version)) return `version must be a positive integer, not ${version}`
      return validateSearchTerms(searchTerms)
    }
    case "Counter":
      if (!isWellFormed(entry.name)) return surrogate
      if (!isCount(entry.value)) return `value must be a non-negative integer, not ${entry.value}`
      break
    case "Replay":
      if (![entry.id, entry.fingerprint, entry.result].every(isWellFormed)) return surrogate
      if (![entry.versions, entry.totals].every(isValidReplayNumbers)) {
        return "versions and totals must be integers, with names without lone surrogates"
      }
  }
  return isPositive(entry.expiresAt)
    ? undefined
    : `expiresAt must be milliseconds since the epoch, not ${entry.expiresAt}`
}

export const validateEntries = (entries: ReadonlyArray<StoreEntry>): StoreMisuse | undefined => {
  for (const entry of entries) {
    const problem = validateEntry(entry)
    if (problem !== undefined) return new StoreMisuse(`${entry._tag}: ${problem}`)
  }
  return undefined
}
