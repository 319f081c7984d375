/**
 * Verifies an API key. This is the hot path: it decodes only the fields it needs, and completes synchronously when the
 * store does.
 */
import { DateTime, Effect } from "effect"
import type { SecretBox } from "../crypto/SecretBox.ts"
import type { KeyId, StoredKey } from "../records/ApiKey.ts"
import type { ConsumerId, ConsumerName } from "../records/Consumer.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { byHash, keyRecords } from "../records/keyRecords.ts"
import { deepFreeze } from "../runtime/deepFreeze.ts"
import type { TrustedClock } from "../runtime/TrustedClock.ts"
import type { HotPath } from "../store/HotPath.ts"
import type { Partition } from "../store/Partition.ts"
import type { RecordWithParent, StoreRecord } from "../store/Store.ts"
import { RecordUnreadable, type StoreError } from "../store/StoreError.ts"
import type { KeyUse } from "./KeyUse.ts"
import { hashForLookup } from "./keyHashes.ts"
import type { RecentKeys } from "./RecentKeys.ts"
import type { KeyCheck, KeyRefusal, Verified } from "./Verification.ts"
import type { VerifyCache } from "./VerifyCache.ts"

const maxKeyLength = 256

type Restrictions = Pick<typeof StoredKey.Encoded, "expiresOn" | "disabled" | "scopes">

const restrictionNames = ["expiresOn", "disabled", "scopes"] satisfies ReadonlyArray<keyof Restrictions>
const noRestrictions: Restrictions = {}

/** What limits the use of a key. Records without these fields, which are most of them, are not parsed. */
const parseRestrictions = (record: StoreRecord): Restrictions | RecordUnreadable =>
  keyRecords.lacksFields(record, restrictionNames) ? noRestrictions : keyRecords.parseUnchecked(record)

const malformedKey: KeyRefusal = { valid: false, reason: "malformed-key" }
const unknownKey: KeyRefusal = { valid: false, reason: "unknown-key" }
const expiredKey: KeyRefusal = { valid: false, reason: "expired-key" }
const disabledKey: KeyRefusal = { valid: false, reason: "disabled-key" }

/** The result for a key and its consumer, apart from the expiry. A key without a consumer was removed with it. */
const toVerified = ({ record, parent }: RecordWithParent): Verified | KeyRefusal | RecordUnreadable => {
  if (parent === undefined) return unknownKey
  const restrictions = parseRestrictions(record)
  if (restrictions instanceof RecordUnreadable) return restrictions
  const { expiresOn, disabled, scopes } = restrictions
  if (disabled === true) return disabledKey
  const consumer = consumerRecords.parseUnchecked(parent)
  if (consumer instanceof RecordUnreadable) return consumer
  const { id, name, tags = {}, metadata = {} } = consumer
  const verified: Verified = {
    valid: true,
    consumer: { id: id as ConsumerId, name: name as ConsumerName, tags, metadata },
    keyId: keyRecords.keyInCollection(record) as KeyId
  }
  if (expiresOn === undefined && scopes === undefined) return verified
  return {
    ...verified,
    ...(expiresOn === undefined ? {} : { expiresOn: DateTime.makeUnsafe(expiresOn) }),
    ...(scopes === undefined ? {} : { scopes })
  }
}

interface VerifyServices {
  readonly secretBox: SecretBox["Service"]
  readonly cache: VerifyCache["Service"]
  readonly keyUse: KeyUse["Service"]
  readonly recentKeys: RecentKeys
  readonly trustedClock: TrustedClock["Service"]
}

/** Verifies a key of a bucket. Returns an `Exit` if the store answers at once. */
export type VerifyKey = (bucket: KeyBucket, key: string, hotPath: HotPath) => Effect.Effect<KeyCheck, StoreError>

export const makeVerify = ({ secretBox, cache, keyUse, recentKeys, trustedClock }: VerifyServices): VerifyKey => {
  /** Judges the expiry, also of a cached result, and notes the use of a key that passes. */
  const toKeyCheck = (partition: Partition, verified: Verified, now: number): KeyCheck => {
    if (verified.expiresOn !== undefined && DateTime.toEpochMillis(verified.expiresOn) <= now) return expiredKey
    keyUse.note(partition, verified.keyId, now)
    return verified
  }

  return (bucket, key, { clock, store }) => {
    if (typeof key !== "string" || key.length > maxKeyLength || !secretBox.isWellFormed(key)) {
      return Effect.succeed(malformedKey)
    }
    const partition = getKeyBucketPartition(bucket)
    const valueHashes = secretBox.keyHashes(key)
    const [primaryHash = ""] = valueHashes
    // The monotonic clock: adjusting the wall clock must not extend the life of a cached result.
    const monotonicNow = cache.enabled ? Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n) : 0
    const cached = cache.get(partition, primaryHash, monotonicNow)
    if (cached !== undefined) return Effect.succeed(toKeyCheck(partition, cached, trustedClock.readMillis(clock)))
    const generation = cache.generation()
    const hashes = hashForLookup(secretBox, key, valueHashes)
    return Effect.flatMapEager(
      store.getByUniqueKey(
        partition,
        hashes.map((hash) => keyRecords.uniqueKey(byHash(hash)))
      ),
      (matches): Effect.Effect<KeyCheck, StoreError> => {
        const match = matches.find((match) => match !== undefined)
        const verified = match === undefined ? unknownKey : toVerified(match)
        if (verified instanceof RecordUnreadable) return Effect.fail(verified)
        const now = trustedClock.readMillis(clock)
        recentKeys.note(partition, primaryHash, verified.valid ? verified : undefined, now)
        if (!verified.valid) return Effect.succeed(verified)
        if (cache.enabled) {
          const scopesBytes = verified.scopes === undefined ? 0 : (match?.record.body.length ?? 0)
          const bytes = (match?.parent?.body.length ?? 0) + scopesBytes
          cache.set(partition, primaryHash, { result: deepFreeze(verified), bytes }, monotonicNow, generation)
        }
        return Effect.succeed(toKeyCheck(partition, verified, now))
      }
    )
  }
}
