/**
 * Puts every key under the newest secret while the service runs, so that an old secret can be taken away.
 */
import { Effect, Option } from "effect"
import type { SecretBox } from "../crypto/SecretBox.ts"
import { type KeyBucket, partitionOf } from "../records/KeyBucket.ts"
import { keyRecords } from "../records/keyRecords.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import type { KeyBuckets } from "./KeyBuckets.ts"
import * as KeyValues from "./keyValues.ts"
import { retireSecrets } from "./secretRecords.ts"

/** What became of the keys. */
export interface ReencryptResult {
  /** Keys that are now under the newest secret. */
  readonly reencrypted: number
  /** Keys that were so already. */
  readonly unchanged: number
  /** Keys whose value is not kept: they are found by the secret they were made under, which must stay configured. */
  readonly notStored: number
  /** Keys whose seal does not open: damaged, moved, or under a secret that is not configured. */
  readonly undecryptable: number
}

const pageSize = 200

export const makeReencryptKeys = (vault: SecretBox["Service"], buckets: KeyBuckets["Service"]) => {
  const reencryptOne = Effect.fnUntraced(function* (bucket: KeyBucket, id: string) {
    const store = yield* Store
    const found = yield* keyRecords.get(partitionOf(bucket), id)
    if (Option.isNone(found)) return "unchanged" as const
    const stored = found.value.value
    const { sealed, ...rest } = stored
    if (sealed === undefined) return "notStored" as const
    const opened = yield* Effect.option(KeyValues.decryptValue(vault, bucket, stored.id, sealed))
    if (Option.isNone(opened)) return "undecryptable" as const
    const { value } = opened
    const hashes = vault.hashes(value)
    const isHashed = hashes.length === stored.hashes.length && hashes.every((hash) => stored.hashes.includes(hash))
    if (isHashed && vault.storage === "encrypted" && vault.isUnderCurrentSecret(sealed)) return "unchanged" as const
    const kept = yield* KeyValues.protect(vault, bucket, stored.id, value)
    yield* store.commit(partitionOf(bucket), [keyRecords.replace(found.value, { ...rest, ...kept })])
    return "reencrypted" as const
  })

  return function* () {
    const count = { reencrypted: 0, unchanged: 0, notStored: 0, undecryptable: 0 }
    for (const bucket of yield* buckets.all) {
      const { total } = yield* keyRecords.page(partitionOf(bucket), { offset: 0, limit: 0 })
      // From the end to the start: a key that is deleted meanwhile moves others to where they are met again, and never
      // to where they have been passed by. Keys that are made meanwhile are under the newest secret already.
      for (let end = total; end > 0; end -= pageSize) {
        const offset = Math.max(0, end - pageSize)
        const page = yield* keyRecords.page(partitionOf(bucket), { offset, limit: end - offset })
        for (const { value } of page.entries) {
          count[yield* retryOnConflict(reencryptOne(bucket, value.id))]++
        }
      }
    }
    if (count.notStored + count.undecryptable === 0) yield* retireSecrets(vault)
    return count
  }
}
