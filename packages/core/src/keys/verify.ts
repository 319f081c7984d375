/**
 * Verifies an API key. This is the hot path: it decodes only the fields it needs, and completes synchronously when the
 * store does.
 */
import { DateTime, Effect } from "effect"
import type { SecretBox } from "../crypto/SecretBox.ts"
import type { KeyId } from "../records/ApiKey.ts"
import type { ConsumerId, ConsumerName } from "../records/Consumer.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { byHash, keyRecords } from "../records/keyRecords.ts"
import { deepFreeze } from "../runtime/deepFreeze.ts"
import type { TrustedClock } from "../runtime/TrustedClock.ts"
import type { RecordWithParent, StoreOperations, StoreRecord } from "../store/Store.ts"
import { RecordUnreadable, type StoreError } from "../store/StoreError.ts"
import type { KeyCheck, KeyRefusal, Verified } from "./Verification.ts"
import type { VerifyCache } from "./VerifyCache.ts"

const maxKeyLength = 256

/** A key's expiry, if it has one. Records without the field `expiresOn`, which are most of them, are not parsed. */
const parseExpiry = (record: StoreRecord): DateTime.Utc | RecordUnreadable | undefined => {
  if (keyRecords.lacksFields(record, ["expiresOn"])) return undefined
  const key = keyRecords.parseUnchecked(record)
  if (key instanceof RecordUnreadable) return key
  return key.expiresOn === undefined ? undefined : DateTime.makeUnsafe(key.expiresOn)
}

/** The result for a key and its consumer; `undefined` if the consumer was removed. */
const toVerified = ({ record, parent }: RecordWithParent): Verified | RecordUnreadable | undefined => {
  if (parent === undefined) return undefined
  const expiresOn = parseExpiry(record)
  if (expiresOn instanceof RecordUnreadable) return expiresOn
  const consumer = consumerRecords.parseUnchecked(parent)
  if (consumer instanceof RecordUnreadable) return consumer
  const { id, name, tags = {}, metadata = {} } = consumer
  const verified: Verified = {
    valid: true,
    consumer: { id: id as ConsumerId, name: name as ConsumerName, tags, metadata },
    keyId: keyRecords.keyInCollection(record) as KeyId
  }
  return expiresOn === undefined ? verified : { ...verified, expiresOn }
}

const malformedKey: KeyRefusal = { valid: false, reason: "malformed-key" }
const unknownKey: KeyRefusal = { valid: false, reason: "unknown-key" }
const expiredKey: KeyRefusal = { valid: false, reason: "expired-key" }

const toKeyCheck = (verified: Verified | undefined, now: number): KeyCheck => {
  if (verified === undefined) return unknownKey
  const isExpired = verified.expiresOn !== undefined && DateTime.toEpochMillis(verified.expiresOn) <= now
  return isExpired ? expiredKey : verified
}

export const makeVerify = (
  store: StoreOperations,
  secretBox: SecretBox["Service"],
  cache: VerifyCache["Service"],
  trustedClock: TrustedClock["Service"]
): ((bucket: KeyBucket, key: string) => Effect.Effect<KeyCheck, StoreError>) => {
  return (bucket, key) =>
    Effect.clockWith((clock): Effect.Effect<KeyCheck, StoreError> => {
      if (typeof key !== "string" || key.length > maxKeyLength || !secretBox.isWellFormed(key)) {
        return Effect.succeed(malformedKey)
      }
      const partition = getKeyBucketPartition(bucket)
      const hashes = secretBox.keyHashes(key)
      const [primaryHash = ""] = hashes
      const now = trustedClock.readMillis(clock)
      // The monotonic clock: adjusting the wall clock must not extend the life of a cached result.
      const monotonicNow = cache.enabled ? Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n) : 0
      const cached = cache.get(partition, primaryHash, monotonicNow)
      if (cached !== undefined) return Effect.succeed(toKeyCheck(cached, now))
      const generation = cache.generation()
      return Effect.flatMap(
        store.getByUniqueKey(
          partition,
          hashes.map((hash) => keyRecords.uniqueKey(byHash(hash)))
        ),
        (matches) => {
          const match = matches.find((match) => match !== undefined)
          const verified = match === undefined ? undefined : toVerified(match)
          if (verified instanceof RecordUnreadable) return Effect.fail(verified)
          if (verified !== undefined && cache.enabled) {
            const bytes = match?.parent?.body.length ?? 0
            cache.set(partition, primaryHash, { result: deepFreeze(verified), bytes }, monotonicNow, generation)
          }
          return Effect.succeed(toKeyCheck(verified, trustedClock.readMillis(clock)))
        }
      )
    })
}
