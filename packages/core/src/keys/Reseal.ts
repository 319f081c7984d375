/**
 * Puts every key under the newest secret while the service runs, so that an old secret can be taken away.
 */
import { Effect, Option } from "effect"
import { type KeyBucket, partitionOf } from "../shared/KeyBucket.ts"
import * as Contention from "../store/Contention.ts"
import { Store } from "../store/Store.ts"
import type { KeyBuckets } from "./KeyBuckets.ts"
import * as KeyMaker from "./KeyMaker.ts"
import type { KeyVault } from "./KeyVault.ts"
import { keyRecords } from "./keyRecords.ts"

/** What became of the keys. */
export interface Resealed {
  /** Keys that are now under the newest secret. */
  readonly resealed: number
  /** Keys that were so already. */
  readonly unchanged: number
  /** Keys whose value is not kept: they are found by the secret they were made under, which must stay configured. */
  readonly unrecoverable: number
}

const pageSize = 200

export const makeReseal = (vault: KeyVault["Service"], buckets: KeyBuckets["Service"]) => {
  const resealOne = Effect.fnUntraced(function* (bucket: KeyBucket, id: string) {
    const store = yield* Store
    const found = yield* keyRecords.get(partitionOf(bucket), id)
    if (Option.isNone(found)) return "unchanged" as const
    const stored = found.value.value
    const value = yield* KeyMaker.openValue(vault, bucket, stored)
    if (value === undefined) return "unrecoverable" as const
    const { sealed, ...rest } = stored
    const isHashed = vault.hashes(value).every((hash) => stored.hashes.includes(hash))
    if (isHashed && vault.retention === "sealed" && vault.isCurrent(sealed ?? "")) return "unchanged" as const
    const kept = yield* KeyMaker.keep(vault, bucket, stored.id, value)
    yield* store.commit(partitionOf(bucket), [keyRecords.replace(found.value, { ...rest, ...kept })])
    return "resealed" as const
  })

  return function* () {
    const count = { resealed: 0, unchanged: 0, unrecoverable: 0 }
    for (const bucket of yield* buckets.all) {
      let offset = 0
      let total = Number.POSITIVE_INFINITY
      while (offset < total) {
        const page = yield* keyRecords.page(partitionOf(bucket), { offset, limit: pageSize })
        for (const { value } of page.entries) {
          count[yield* Contention.retryWhenStale(resealOne(bucket, value.id))]++
        }
        // Keys that were deleted meanwhile moved the rest up: so many are looked at again.
        const deleted = Number.isFinite(total) ? Math.max(0, total - page.total) : 0
        offset += Math.max(1, page.entries.length - deleted)
        total = page.total
      }
    }
    return count
  }
}
