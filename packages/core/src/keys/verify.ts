/**
 * Whether a key lets its bearer in: the hot path. It decodes no more than it needs, and runs without a fiber of its
 * own wherever the store answers at once.
 */
import { DateTime, Effect } from "effect"
import type { SecretBox } from "../crypto/SecretBox.ts"
import type { KeyId } from "../records/ApiKey.ts"
import type { ConsumerId, ConsumerName } from "../records/Consumer.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { type KeyBucket, partitionOf } from "../records/KeyBucket.ts"
import { byHash, keyRecords } from "../records/keyRecords.ts"
import { deepFreeze } from "../runtime/deepFreeze.ts"
import type { TrustedClock } from "../runtime/TrustedClock.ts"
import type { RecordWithParent, StoreOperations, StoreRecord } from "../store/Store.ts"
import { RecordUnreadable, type StoreError } from "../store/StoreError.ts"
import { notVerified, type Verification, type Verified } from "./Verification.ts"
import type { VerifyCache } from "./VerifyCache.ts"

/** Characters of the longest value that a key can have. */
const longestKey = 256

/** When a key expires, if it does. Most keys do not, and are not parsed for it. */
const parseExpiry = (record: StoreRecord): DateTime.Utc | RecordUnreadable | undefined => {
  if (keyRecords.lacksField(record, "expiresOn")) return undefined
  const key = keyRecords.parseUnchecked(record)
  if (key instanceof RecordUnreadable) return key
  return key.expiresOn === undefined ? undefined : DateTime.makeUnsafe(key.expiresOn)
}

/** The key and its consumer; none if the consumer is gone. */
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
    keyId: keyRecords.localKey(record) as KeyId
  }
  return expiresOn === undefined ? verified : { ...verified, expiresOn }
}

const applyExpiry = (verified: Verified | undefined, now: number): Verification =>
  verified === undefined || (verified.expiresOn !== undefined && DateTime.toEpochMillis(verified.expiresOn) <= now)
    ? notVerified
    : verified

export const makeVerify = (
  store: StoreOperations,
  vault: SecretBox["Service"],
  cache: VerifyCache["Service"],
  moments: TrustedClock["Service"]
): ((bucket: KeyBucket, key: string) => Effect.Effect<Verification, StoreError>) => {
  return (bucket, key) =>
    Effect.clockWith((clock): Effect.Effect<Verification, StoreError> => {
      if (typeof key !== "string" || key.length > longestKey || !vault.isWellFormed(key)) {
        return Effect.succeed(notVerified)
      }
      const partition = partitionOf(bucket)
      const hashes = vault.hashes(key)
      const [newest = ""] = hashes
      const now = moments.at(clock)
      // How long an answer is kept is measured by a clock that nobody sets.
      const age = cache.enabled ? Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n) : 0
      const cached = cache.get(partition, newest, age)
      if (cached !== undefined) return Effect.succeed(applyExpiry(cached, now))
      const generation = cache.generation()
      return Effect.flatMap(
        store.getByUniqueKey(
          partition,
          hashes.map((hash) => keyRecords.uniqueKey(byHash(hash)))
        ),
        (found) => {
          const claimed = found.find((claimed) => claimed !== undefined)
          const verified = claimed === undefined ? undefined : toVerified(claimed)
          if (verified instanceof RecordUnreadable) return Effect.fail(verified)
          if (verified !== undefined && cache.enabled) {
            const bytes = claimed?.parent?.body.length ?? 0
            cache.set(partition, newest, { answer: deepFreeze(verified), bytes }, age, generation)
          }
          return Effect.succeed(applyExpiry(verified, moments.at(clock)))
        }
      )
    })
}
