/**
 * Verifies an API key. This is the hot path: it decodes only the fields it needs, and completes synchronously when the
 * store does.
 */

import {
  deepFreeze,
  type HotPath,
  type Partition,
  RecordUnreadable,
  type RecordWithParent,
  type SecretBox,
  type StoreError,
  type TrustedClock
} from "@tollgate/store/internal"
import { DateTime, Effect, Predicate } from "effect"
import type { KeyId, StoredKey } from "../records/ApiKey.ts"
import type { ConsumerId, ConsumerName } from "../records/Consumer.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { hashPrefix, keyRecords } from "../records/keyRecords.ts"
import type { IpSource, IsIpAllowed } from "./ipAddresses.ts"
import { hashAsImportedKey } from "./keyHashes.ts"
import { findRoll } from "./rolls.ts"
import type { FoundKey, KeyCheck, KeyOwner, KeyRefusal, Verified } from "./Verification.ts"
import type { VerifyCache } from "./VerifyCache.ts"

const maxKeyLength = 256

/** What limits the use of a key. */
type Restrictions = Pick<typeof StoredKey.Encoded, "expiresOn" | "disabled" | "scopes" | "ipAllow" | "roll">

const restrictionNames = ["expiresOn", "disabled", "scopes", "ipAllow"] satisfies ReadonlyArray<keyof Restrictions>
const noRestrictions: Restrictions = {}

const malformedKey: KeyRefusal = { valid: false, reason: "malformed-key" }
const unknownKey: RefusedKey = { valid: false, refusal: { valid: false, reason: "unknown-key" } }
const expiredKey: KeyRefusal = { valid: false, reason: "expired-key" }
const disabledKey: KeyRefusal = { valid: false, reason: "disabled-key" }
const disabledConsumer: KeyRefusal = { valid: false, reason: "disabled-consumer" }

/** A key that is refused at any time, from any address. */
interface RefusedKey {
  readonly valid: false
  readonly refusal: KeyRefusal
  /** Whose key it is, if it exists. */
  readonly owner?: KeyOwner | undefined
}

/** The result for a key and its consumer, apart from the expiry and the address. A key without a consumer was removed with it. */
const toVerified = ({ record, parent }: RecordWithParent): FoundKey | RefusedKey | RecordUnreadable => {
  if (parent === undefined) return unknownKey
  const consumer = consumerRecords.parseUnchecked(parent)
  if (consumer instanceof RecordUnreadable) return consumer
  const { id, name, customerKey, tags = {}, metadata = {}, disabled: isDisabled } = consumer
  const { rolls: { pending = [] } = {} } = consumer
  // Its consumer was removed, and another one has the name. Quotation marks in other fields are escaped.
  if (!record.body.includes(`"consumerId":"${id}"`)) return unknownKey
  const owner: KeyOwner = {
    consumer: {
      id: id as ConsumerId,
      name: name as ConsumerName,
      ...(customerKey === undefined ? {} : { customerKey }),
      tags,
      metadata
    },
    keyId: keyRecords.keyInCollection(record) as KeyId
  }
  if (isDisabled === true) return { valid: false, refusal: disabledConsumer, owner }
  // Records without restrictions, which are most of them, are not parsed.
  const isUnrestricted = pending.length === 0 && keyRecords.lacksFields(record, restrictionNames)
  const restrictions: Restrictions | RecordUnreadable = isUnrestricted
    ? noRestrictions
    : keyRecords.parseUnchecked(record)
  if (restrictions instanceof RecordUnreadable) return restrictions
  const { disabled, scopes, ipAllow } = restrictions
  if (disabled === true) return { valid: false, refusal: disabledKey, owner }
  const expiresOn = restrictions.expiresOn ?? (isUnrestricted ? undefined : findRoll(pending, restrictions)?.expiresOn)
  const verified: Verified = { valid: true, consumer: owner.consumer, keyId: owner.keyId }
  if (expiresOn === undefined && scopes === undefined && ipAllow === undefined) return verified
  return {
    ...verified,
    ...(expiresOn === undefined ? {} : { expiresOn: DateTime.makeUnsafe(expiresOn) }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(ipAllow === undefined ? {} : { ipAllow })
  }
}

interface VerifyServices {
  readonly secretBox: SecretBox["Service"]
  readonly cache: VerifyCache["Service"]
  readonly trustedClock: TrustedClock["Service"]
  readonly isIpAllowed: IsIpAllowed
}

/** The check of a key, with what is recorded of it. */
export interface CheckedKey {
  readonly check: KeyCheck
  /** The key, if it exists and is not disabled: also one that has expired, or is used from another address. */
  readonly found?: FoundKey | undefined
  /** Whose key it is, if it exists, also if it was refused. */
  readonly owner?: KeyOwner | undefined
  readonly partition: Partition.Partition
  /** The hash under the primary secret; `undefined` if the key was not looked up in the store. */
  readonly hash: string | undefined
  /** When the key was checked, in epoch milliseconds. */
  readonly now: number
}

/** Checks a key of a bucket. Returns an `Exit` if the store answers at once. The caller records the check. */
export type CheckKey = (
  bucket: KeyBucket,
  key: string,
  hotPath: HotPath,
  ip: IpSource
) => Effect.Effect<CheckedKey, StoreError>

/** Checks what depends on the time and on the address of the request. */
const judge = (found: FoundKey, now: number, ip: IpSource, isIpAllowed: IsIpAllowed): KeyCheck => {
  if (found.expiresOn !== undefined && DateTime.toEpochMillis(found.expiresOn) <= now) return expiredKey
  if (found.ipAllow === undefined) return found
  const { ipAllow, ...verified } = found
  const { consumer, keyId } = verified
  return isIpAllowed(ipAllow, ip) ? verified : { valid: false, reason: "ip-not-allowed", consumer, keyId }
}

export const makeCheckKey =
  ({ secretBox, cache, trustedClock, isIpAllowed }: VerifyServices): CheckKey =>
  (bucket, key, { clock, store }, ip) => {
    const partition = getKeyBucketPartition(bucket)
    if (typeof key !== "string" || key.length > maxKeyLength || !secretBox.isWellFormed(key)) {
      return Effect.succeed({ check: malformedKey, partition, hash: undefined, now: trustedClock.readMillis(clock) })
    }
    const valueHashes = secretBox.keyHashes(key)
    const [hash = ""] = valueHashes
    // The monotonic clock: adjusting the wall clock must not extend the life of a cached result.
    const monotonicNow = cache.enabled ? Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n) : 0
    const cached = cache.enabled ? cache.get(partition, hash, monotonicNow) : undefined
    if (cached !== undefined) {
      const now = trustedClock.readMillis(clock)
      return Effect.succeed({
        check: judge(cached, now, ip, isIpAllowed),
        owner: cached,
        partition,
        hash: undefined,
        now
      })
    }
    const generation = cache.enabled ? cache.generation() : 0
    // A generated key is not looked up as an imported one, which would take half as long again in memory, and twice as
    // long on SQLite.
    const hashes = secretBox.hasKeyPrefix(key) ? valueHashes : [...valueHashes, ...hashAsImportedKey(secretBox, key)]
    return Effect.flatMapEager(
      store.getByUniqueKey(
        partition,
        hashes.map((hash) => hashPrefix + hash)
      ),
      (matches): Effect.Effect<CheckedKey, StoreError> => {
        const match = matches.find(Predicate.isNotUndefined)
        const found = match === undefined ? unknownKey : toVerified(match)
        if (found instanceof RecordUnreadable) return Effect.fail(found)
        const now = trustedClock.readMillis(clock)
        if (!found.valid) {
          return Effect.succeed({ check: found.refusal, owner: found.owner, partition, hash, now })
        }
        if (cache.enabled) {
          const hasLists = found.scopes !== undefined || found.ipAllow !== undefined
          const bytes = (match?.parent?.body.length ?? 0) + (hasLists ? (match?.record.body.length ?? 0) : 0)
          cache.set(partition, hash, { result: deepFreeze(found), bytes }, monotonicNow, generation)
        }
        return Effect.succeed({ check: judge(found, now, ip, isIpAllowed), found, owner: found, partition, hash, now })
      }
    )
  }
