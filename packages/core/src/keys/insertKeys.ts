/**
 * Inserts new keys of a consumer in one commit.
 */

import {
  type CommitResult,
  forEachInPieces,
  type InvalidInput,
  makeResultCodec,
  type Once,
  retryOnConflict,
  type SecretBox,
  StoreConflict
} from "@tollgate/store/internal"
import { DateTime, Effect, Schema } from "effect"
import { ApiKey, maxKeysPerConsumer } from "../records/ApiKey.ts"
import type { StoredConsumer } from "../records/Consumer.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { findConsumer } from "../records/findConsumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { byConsumer, byHash, keyRecords } from "../records/keyRecords.ts"
import type { EnsureExpiryEvents } from "./expiryEvents.ts"
import { KeyLimitReached, KeyValueTaken } from "./KeyError.ts"
import { recordKeyEvent } from "./keyEvents.ts"
import { omitValueIfHashOnly, toNewApiKey } from "./keyResults.ts"
import type { NewKey } from "./newKeys.ts"
import { afterOrphans } from "./removedConsumers.ts"

/** Maps store conflicts that the caller can resolve to domain errors. */
export const toKeyErrors = <A, E, R>(effect: Effect.Effect<A, E | StoreConflict, R>) =>
  Effect.mapError(effect, (error) => {
    if (!(error instanceof StoreConflict)) return error
    if (error.reason === "unique-key") return new KeyValueTaken()
    return error.reason === "too-many-records" ? new KeyLimitReached() : error
  })

/** The error for a value that is taken. Says which of several keys has it. */
export const toValueTaken = (keys: ReadonlyArray<NewKey>, error: unknown): KeyValueTaken | undefined => {
  if (!(error instanceof StoreConflict) || error.reason !== "unique-key") return undefined
  if (keys.length === 1) return new KeyValueTaken()
  const owns = (hash: string) => keyRecords.uniqueKey(byHash(hash)) === error.subject
  const index = keys.findLastIndex(({ stored }) => stored.hashes.some(owns))
  return new KeyValueTaken(index < 0 ? {} : { index })
}

const keysCodec = makeResultCodec(Schema.Array(ApiKey))

export const makeInsertKeys = (secretBox: SecretBox["Service"], ensureExpiryEvents: EnsureExpiryEvents) => {
  const omitValues = (keys: ReadonlyArray<ApiKey>) => keys.map((key) => omitValueIfHashOnly(secretBox, key))

  /** Makes one key of each input and inserts them. `toResult` gets them with their values. */
  return Effect.fnUntraced(function* <Input, A>(
    once: Once<A>,
    toResult: (keys: ReadonlyArray<ApiKey>, commitResult: CommitResult) => A,
    bucket: KeyBucket & { readonly consumerName: string },
    inputs: ReadonlyArray<Input>,
    makeNewKey: (
      owner: StoredConsumer,
      input: Input,
      index: number,
      now: DateTime.Utc
    ) => Effect.Effect<NewKey, InvalidInput>
  ) {
    const { consumerName } = bucket
    const toReplay = (keys: ReadonlyArray<ApiKey>, commitResult: CommitResult) =>
      toResult(omitValues(keys), commitResult)
    const commitOnce = once(getKeyBucketPartition(bucket), toReplay, keysCodec)
    const attempt = Effect.gen(function* () {
      const consumer = yield* findConsumer(bucket, consumerName)
      const now = yield* DateTime.now
      const keys = yield* forEachInPieces(inputs, (input, index) => makeNewKey(consumer.value, input, index, now))
      const plaintextKeys = keys.map((key) => toNewApiKey(bucket, key))
      const storedKeys = keys.map(({ stored }) => stored)
      yield* ensureExpiryEvents(getKeyBucketPartition(bucket), bucket.accountName, storedKeys)
      const insertAll = commitOnce(
        [
          consumerRecords.assertUnchanged(consumer),
          keyRecords.assertAtMost(byConsumer(consumer.value.id), Math.max(0, maxKeysPerConsumer - keys.length)),
          ...storedKeys.map(keyRecords.insert),
          ...(yield* forEachInPieces(storedKeys, (stored) => recordKeyEvent("key.created", bucket, stored)))
        ],
        omitValues(plaintextKeys)
      )
      const hashes = storedKeys.flatMap((stored) => stored.hashes)
      const commitResult = yield* afterOrphans(getKeyBucketPartition(bucket), hashes, insertAll).pipe(
        Effect.mapError((error) => toValueTaken(keys, error) ?? error)
      )
      return toResult(plaintextKeys, commitResult)
    })
    return yield* toKeyErrors(retryOnConflict(attempt))
  })
}
