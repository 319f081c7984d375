/**
 * Keys that customers make for themselves: no more than their host lets them have, and none that may do more than theirs do.
 * Each commit replaces the consumer, so that two at a time cannot exceed the number.
 */
import {
  type Entry,
  keepRevision,
  makeResultCodec,
  type Once,
  omitUndefined,
  retryOnConflict,
  type SecretBox,
  StoreConflict,
  type TrustedClock
} from "@tollgate/store/internal"
import { DateTime, Effect, Stream } from "effect"
import { ApiKey, type ApiKeyCreate, type StoredKey } from "../records/ApiKey.ts"
import type { StoredConsumer } from "../records/Consumer.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { findConsumer } from "../records/findConsumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { byConsumer, keyRecords } from "../records/keyRecords.ts"
import type { EnsureExpiryEvents } from "./expiryEvents.ts"
import { toKeyErrors } from "./insertKeys.ts"
import { KeyLimitReached } from "./KeyError.ts"
import { recordKeyEvent } from "./keyEvents.ts"
import { omitValueIfHashOnly, toNewApiKey } from "./keyResults.ts"
import { makeKey } from "./newKeys.ts"
import { afterOrphans } from "./removedConsumers.ts"
import { isLiveAt, type KeyDraft, makeRollOne } from "./rollOne.ts"
import { applyRolls, batchSize } from "./rolls.ts"
import type { VerifyCache } from "./VerifyCache.ts"

/** With this many keys, also expired ones, a customer makes no more: each new one reads them. */
const maxListed = 1_000

const keyCodec = makeResultCodec(ApiKey)

type OwnedBucket = KeyBucket & { readonly consumerName: string }

interface Services {
  readonly secretBox: SecretBox["Service"]
  readonly trustedClock: TrustedClock["Service"]
  readonly cache: VerifyCache["Service"]
  readonly ensureExpiryEvents: EnsureExpiryEvents
}

export const makeOwnKeys = ({ secretBox, trustedClock, cache, ensureExpiryEvents }: Services) => {
  const rollOne = makeRollOne(trustedClock)

  /** The newest keys of a consumer that have not expired, at most `max`. */
  const listLive = Effect.fnUntraced(function* (bucket: KeyBucket, consumer: StoredConsumer, max: number) {
    const query = { where: [byConsumer(consumer.id)], pageSize: batchSize, descending: true }
    const isLive = isLiveAt(yield* trustedClock.now)
    return yield* keyRecords.stream(getKeyBucketPartition(bucket), query).pipe(
      Stream.take(maxListed),
      Stream.map((entry) => applyRolls(consumer, entry)),
      Stream.filter(isLive),
      Stream.take(max),
      Stream.runCollect
    )
  })

  /** Inserts a key unless the consumer has `maxKeys` that have not expired. */
  const insert = <A, E, R>(
    once: Once<A>,
    toResult: (key: ApiKey) => A,
    bucket: OwnedBucket,
    maxKeys: number,
    describe: (
      consumer: Entry<StoredConsumer>,
      live: ReadonlyArray<StoredKey>,
      now: DateTime.Utc
    ) => Effect.Effect<KeyDraft, E, R>
  ) => {
    const partition = getKeyBucketPartition(bucket)
    const commitOnce = once(partition, (key) => toResult(omitValueIfHashOnly(secretBox, key)), keyCodec)
    const attempt = Effect.gen(function* () {
      const consumer = yield* findConsumer(bucket, bucket.consumerName)
      const now = yield* DateTime.now
      const live = yield* listLive(bucket, consumer.value, maxKeys)
      const { fields, changes, written } = yield* describe(consumer, live, now)
      if (live.length >= maxKeys) {
        const detail = `There can be at most ${maxKeys} keys that have not expired. Delete one first.`
        return yield* new KeyLimitReached({ detail })
      }
      // Only a value that a caller gives can be invalid.
      const newKey = yield* Effect.orDie(makeKey(secretBox, bucket, consumer.value, fields, now, ""))
      const key = toNewApiKey(bucket, newKey)
      yield* ensureExpiryEvents(partition, bucket.accountName, [newKey.stored, ...written])
      const commit = commitOnce(
        [
          consumerRecords.replace(consumer, keepRevision(consumer, consumer.value)),
          keyRecords.assertAtMost(byConsumer(consumer.value.id), maxListed - 1),
          ...changes,
          keyRecords.insert(newKey.stored),
          yield* recordKeyEvent("key.created", bucket, newKey.stored)
        ],
        omitValueIfHashOnly(secretBox, key)
      )
      yield* Effect.mapError(afterOrphans(partition, newKey.stored.hashes, commit), (error) =>
        error instanceof StoreConflict && error.reason === "too-many-records"
          ? new KeyLimitReached({ detail: `There are ${maxListed} keys. Delete those that have expired first.` })
          : error
      )
      return toResult(key)
    })
    return toKeyErrors(cache.invalidateAfter(partition, retryOnConflict(attempt))).pipe(
      // The value is a new one.
      Effect.catchTag("KeyValueTaken", Effect.die)
    )
  }

  return {
    /** Creates a key with the scopes and addresses of the newest one that is enabled, or with `scopes`. */
    create: <A>(
      once: Once<A>,
      toResult: (key: ApiKey) => A,
      bucket: OwnedBucket,
      {
        description,
        maxKeys,
        scopes
      }: { readonly description: string; readonly maxKeys: number; readonly scopes?: ReadonlyArray<string> | undefined }
    ) =>
      insert(once, toResult, bucket, maxKeys, (_, live) => {
        const newest = live.find(({ disabled }) => disabled !== true)
        const fields = { description, scopes: scopes ?? newest?.scopes, ipAllow: newest?.ipAllow }
        return Effect.succeed({ fields: omitUndefined(fields) as ApiKeyCreate, changes: [], written: [] })
      }),

    /**
     * Replaces a key by one that may do the same and ends when the key would have ended. The key ends after `graceMs`, or
     * earlier if it would have.
     */
    roll: <A>(
      once: Once<A>,
      toResult: (key: ApiKey) => A,
      bucket: OwnedBucket & { readonly keyId: string },
      { graceMs, maxKeys }: { readonly graceMs: number; readonly maxKeys: number }
    ) =>
      insert(once, toResult, bucket, maxKeys, (consumer, _, now) =>
        rollOne(bucket, bucket.keyId, consumer.value, DateTime.add(now, { milliseconds: graceMs }), now)
      )
  }
}

export type OwnKeys = ReturnType<typeof makeOwnKeys>
