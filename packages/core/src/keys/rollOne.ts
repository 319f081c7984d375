/** Replaces one key of a consumer by another that may do the same. */
import { type Change, type Entry, omitUndefined, type TrustedClock } from "@tollgate/store/internal"
import { DateTime, Effect, Option } from "effect"
import type { ApiKeyCreate, StoredKey } from "../records/ApiKey.ts"
import type { StoredConsumer } from "../records/Consumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { keyRecords } from "../records/keyRecords.ts"
import { KeyNotActive, KeyNotFound } from "./KeyError.ts"
import { recordKeyEvent } from "./keyEvents.ts"
import { patchFields } from "./keyFields.ts"
import { applyRolls, rollNumber } from "./rolls.ts"

/** What a new key is, and what else its commit changes. */
export interface KeyDraft {
  readonly fields: ApiKeyCreate
  readonly changes: ReadonlyArray<Change>
  /** The other keys that the commit writes. */
  readonly written: ReadonlyArray<Pick<StoredKey, "expiresOn">>
}

export const isLiveAt =
  (now: DateTime.Utc) =>
  ({ expiresOn }: StoredKey): boolean =>
    expiresOn === undefined || DateTime.isGreaterThan(expiresOn, now)

/** The new key ends when the former would have ended. The former ends at `end`, or earlier if it would have. */
export const makeRollOne = (trustedClock: TrustedClock["Service"]) =>
  Effect.fnUntraced(function* (
    bucket: KeyBucket,
    keyId: string,
    consumer: StoredConsumer,
    end: DateTime.Utc,
    now: DateTime.Utc
  ) {
    const entry: Entry<StoredKey> | undefined = Option.getOrUndefined(
      yield* keyRecords.get(getKeyBucketPartition(bucket), keyId)
    )
    if (entry === undefined || entry.value.consumerId !== consumer.id) return yield* new KeyNotFound()
    const key = applyRolls(consumer, entry)
    if (key.disabled === true || !isLiveAt(yield* trustedClock.now)(key)) return yield* new KeyNotActive()
    const expiresOn = key.expiresOn === undefined ? end : DateTime.min(key.expiresOn, end)
    const { description, scopes, ipAllow } = key
    const rolled = { ...patchFields(key, { expiresOn }, now), ...rollNumber(consumer), updatedOn: now }
    const draft: KeyDraft = {
      fields: omitUndefined({ description, scopes, ipAllow, expiresOn: key.expiresOn }) as ApiKeyCreate,
      changes: [keyRecords.replace(entry, rolled), yield* recordKeyEvent("key.updated", bucket, rolled)],
      written: [rolled]
    }
    return draft
  })
