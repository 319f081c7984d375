/**
 * Operations on API keys: list, create, get, update, remove, verify, and re-encryption under a new secret.
 */
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { SecretBox } from "../crypto/SecretBox.ts"
import { ApiKey, type ApiKeyCreate, type ApiKeyUpdate, type KeyVisibility, type StoredKey } from "../records/ApiKey.ts"
import type { ConsumerNotFound } from "../records/ConsumerError.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { findConsumer } from "../records/findConsumer.ts"
import { getKeyBucketPartition, type KeyBucket } from "../records/KeyBucket.ts"
import { byConsumer, keyRecords, maxKeysPerConsumer } from "../records/keyRecords.ts"
import { TrustedClock } from "../runtime/TrustedClock.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import type { InvalidInput } from "../schema/InvalidInput.ts"
import { Page, type PageRequest } from "../schema/Page.ts"
import type { TagFilter } from "../schema/Tags.ts"
import { checkVersion, type VersionMismatch } from "../schema/VersionMismatch.ts"
import type { Entry } from "../store/Collection.ts"
import { type Idempotency, type IdempotencyError, makeIdempotentCommits } from "../store/Idempotency.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { type CommitResult, Store } from "../store/Store.ts"
import { StoreConflict, type StoreError } from "../store/StoreError.ts"
import { KeyBuckets } from "./KeyBuckets.ts"
import { KeyLimitReached, KeyNotFound, type KeyNotRetained, KeyValueTaken } from "./KeyError.ts"
import * as KeyValues from "./keyValues.ts"
import { makeReencryptKeys, type ReencryptResult } from "./reencryptKeys.ts"
import type { Verification } from "./Verification.ts"
import { VerifyCache } from "./VerifyCache.ts"
import { makeVerify } from "./verify.ts"

const ApiKeyPage = Page(ApiKey)

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const buckets = yield* KeyBuckets
  const cache = yield* VerifyCache
  const idempotentCreate = makeIdempotentCommits(store, secretBox, ApiKeyPage)
  const withStore = Effect.provideService(Store, store)

  /** Finds a key by id. Fails unless the key belongs to the consumer and the consumer has the tags. */
  const findKey = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    consumerName: string,
    keyId: string,
    ifTags?: TagFilter
  ) {
    const consumer = yield* findConsumer(bucket, consumerName, ifTags)
    const entry = yield* keyRecords.get(getKeyBucketPartition(bucket), keyId)
    if (Option.isNone(entry) || entry.value.value.consumer !== consumerName) return yield* new KeyNotFound()
    return { consumer, entry: entry.value }
  })

  /** Maps store conflicts that the caller can resolve to domain errors. */
  const toKeyErrors = <A, E, R>(effect: Effect.Effect<A, E | StoreConflict, R>) =>
    Effect.mapError(effect, (error) => {
      if (!(error instanceof StoreConflict)) return error
      if (error.reason === "unique-key") return new KeyValueTaken()
      return error.reason === "too-many-records" ? new KeyLimitReached() : error
    })

  const toReplayedPage = (previousPage: Page<ApiKey>, commitResult: CommitResult) => ({
    page: { ...previousPage, data: previousPage.data.map((key) => KeyValues.omitValueIfHashOnly(secretBox, key)) },
    commitResult
  })

  /**
   * Creates keys in one commit. Returns them with their values, and the commit's result. `toPointer` gives the JSON
   * pointer of a key in the request, for error messages.
   */
  const createAll = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    consumerName: string,
    inputs: ReadonlyArray<ApiKeyCreate>,
    toPointer: (index: number) => string,
    idempotency: Idempotency | undefined
  ) {
    const attempt = Effect.gen(function* () {
      const consumer = yield* findConsumer(bucket, consumerName)
      const now = yield* DateTime.now
      const keys = yield* Effect.forEach(inputs, (input, index) =>
        KeyValues.makeKey(secretBox, bucket, consumerName, input, now, toPointer(index))
      )
      const toPage = (data: ReadonlyArray<ApiKey>) => ({ data, limit: data.length, offset: 0, total: data.length })
      const plaintextKeys = keys.map(KeyValues.toApiKeyWithValue)
      const commitResult = yield* idempotentCreate.commit(
        getKeyBucketPartition(bucket),
        [
          consumerRecords.assertUnchanged(consumer),
          keyRecords.assertAtMost(byConsumer(consumerName), Math.max(0, maxKeysPerConsumer - keys.length)),
          ...keys.map(({ stored }) => keyRecords.insert(stored))
        ],
        idempotency,
        toPage(plaintextKeys.map((key) => KeyValues.omitValueIfHashOnly(secretBox, key)))
      )
      return commitResult.previousResult === undefined
        ? { page: toPage(plaintextKeys), commitResult }
        : toReplayedPage(commitResult.previousResult, commitResult)
    })
    const createKeys = toKeyErrors(retryOnConflict(attempt))
    return yield* idempotentCreate.replayIfFailed(
      getKeyBucketPartition(bucket),
      idempotency,
      toReplayedPage,
      createKeys
    )
  })

  return ApiKeys.of({
    list: Effect.fnUntraced(
      function* (bucket, consumerName, { limit, offset, keyFormat }) {
        yield* findConsumer(bucket, consumerName)
        const page = yield* keyRecords.page(getKeyBucketPartition(bucket), {
          where: [byConsumer(consumerName)],
          offset,
          limit
        })
        const data = yield* Effect.forEach(page.entries, ({ value }) =>
          KeyValues.toApiKey(secretBox, bucket, value, keyFormat)
        )
        return { data, limit, offset, total: page.total }
      },
      withStore,
      withSafeSpan("ApiKeys.list")
    ),

    create: Effect.fnUntraced(
      function* (bucket, consumerName, input, { idempotency } = {}) {
        const { page, commitResult } = yield* createAll(bucket, consumerName, [input], () => "", idempotency)
        const [value] = page.data
        return value === undefined
          ? yield* Effect.die("The commit created no key")
          : { value, version: keyRecords.getVersion(commitResult, value.id) }
      },
      withStore,
      withSafeSpan("ApiKeys.create")
    ),

    createMany: Effect.fnUntraced(
      function* (bucket, consumerName, inputs, { idempotency } = {}) {
        const { page } = yield* createAll(bucket, consumerName, inputs, (index) => `/${index}`, idempotency)
        return page
      },
      withStore,
      withSafeSpan("ApiKeys.createMany")
    ),

    get: Effect.fnUntraced(
      function* (bucket, consumerName, keyId, { ifTags, keyFormat } = {}) {
        const { entry } = yield* findKey(bucket, consumerName, keyId, ifTags)
        return { value: yield* KeyValues.toApiKey(secretBox, bucket, entry.value, keyFormat), version: entry.version }
      },
      withStore,
      withSafeSpan("ApiKeys.get")
    ),

    update: Effect.fnUntraced(
      function* (bucket, consumerName, keyId, patch, { ifTags, ifMatch } = {}) {
        if (patch.key !== undefined) yield* KeyValues.validateSuppliedKey(secretBox, patch.key, "/key")
        const attempt = Effect.gen(function* () {
          const { consumer, entry } = yield* findKey(bucket, consumerName, keyId, ifTags)
          yield* checkVersion(entry, ifMatch)
          const { expiresOn: previousExpiry, description: previousDescription, sealed, ...rest } = entry.value
          const protectedValue =
            patch.key === undefined ? undefined : yield* KeyValues.hashAndEncrypt(secretBox, bucket, rest.id, patch.key)
          const expiresOn = patch.expiresOn === undefined ? previousExpiry : (patch.expiresOn ?? undefined)
          const description = patch.description === undefined ? previousDescription : (patch.description ?? undefined)
          const stored: StoredKey = {
            ...rest,
            ...(expiresOn === undefined ? {} : { expiresOn }),
            ...(description === undefined ? {} : { description }),
            ...(protectedValue ?? (sealed === undefined ? {} : { sealed })),
            updatedOn: yield* DateTime.now
          }
          const commitResult = yield* store.commit(getKeyBucketPartition(bucket), [
            consumerRecords.assertUnchanged(consumer),
            keyRecords.replace(entry, stored)
          ])
          const value =
            patch.key === undefined
              ? // Only `visible` needs the stored value, so `masked` never fails with `KeyNotRetained`.
                yield* KeyValues.toApiKey(secretBox, bucket, stored, "masked").pipe(
                  Effect.catchTag("KeyNotRetained", Effect.die)
                )
              : KeyValues.toApiKeyWithValue({ stored, value: patch.key })
          return { value, version: keyRecords.getVersion(commitResult, keyId) }
        })
        return yield* toKeyErrors(cache.invalidateAfter(getKeyBucketPartition(bucket), retryOnConflict(attempt)))
      },
      withStore,
      withSafeSpan("ApiKeys.update")
    ),

    remove: Effect.fnUntraced(
      function* (bucket, consumerName, keyId, { ifTags, ifMatch } = {}) {
        const attempt = Effect.gen(function* () {
          const { consumer, entry } = yield* findKey(bucket, consumerName, keyId, ifTags)
          yield* checkVersion(entry, ifMatch)
          yield* store.commit(getKeyBucketPartition(bucket), [
            consumerRecords.assertUnchanged(consumer),
            keyRecords.remove(entry)
          ])
        })
        yield* cache.invalidateAfter(getKeyBucketPartition(bucket), retryOnConflict(attempt))
      },
      withStore,
      withSafeSpan("ApiKeys.remove")
    ),

    verify: makeVerify(store, secretBox, cache, yield* TrustedClock),

    reencryptKeys: Effect.fnUntraced(
      makeReencryptKeys(secretBox, buckets),
      withStore,
      withSafeSpan("ApiKeys.reencryptKeys")
    )
  })
})

interface WriteConditions {
  readonly ifTags?: TagFilter | undefined
  readonly ifMatch?: ReadonlyArray<number> | undefined
}

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** A page of a consumer's keys, oldest first, including expired keys. */
    readonly list: (
      bucket: KeyBucket,
      consumerName: string,
      query: PageRequest & { readonly keyFormat?: KeyVisibility | undefined }
    ) => Effect.Effect<Page<ApiKey>, StoreError | ConsumerNotFound | KeyNotRetained>
    /** Creates a key. The result contains its value. */
    readonly create: (
      bucket: KeyBucket,
      consumerName: string,
      input: ApiKeyCreate,
      options?: { readonly idempotency?: Idempotency | undefined }
    ) => Effect.Effect<
      Entry<ApiKey>,
      StoreError | InvalidInput | ConsumerNotFound | KeyValueTaken | KeyLimitReached | IdempotencyError
    >
    /** Creates several keys in one atomic commit. */
    readonly createMany: (
      bucket: KeyBucket,
      consumerName: string,
      inputs: ReadonlyArray<ApiKeyCreate>,
      options?: { readonly idempotency?: Idempotency | undefined }
    ) => Effect.Effect<
      Page<ApiKey>,
      StoreError | InvalidInput | ConsumerNotFound | KeyValueTaken | KeyLimitReached | IdempotencyError
    >
    readonly get: (
      bucket: KeyBucket,
      consumerName: string,
      keyId: string,
      options?: { readonly ifTags?: TagFilter | undefined; readonly keyFormat?: KeyVisibility | undefined }
    ) => Effect.Effect<Entry<ApiKey>, StoreError | ConsumerNotFound | KeyNotFound | KeyNotRetained>
    readonly update: (
      bucket: KeyBucket,
      consumerName: string,
      keyId: string,
      patch: ApiKeyUpdate,
      conditions?: WriteConditions
    ) => Effect.Effect<
      Entry<ApiKey>,
      StoreError | InvalidInput | ConsumerNotFound | KeyNotFound | KeyValueTaken | KeyLimitReached | VersionMismatch
    >
    readonly remove: (
      bucket: KeyBucket,
      consumerName: string,
      keyId: string,
      conditions?: WriteConditions
    ) => Effect.Effect<void, StoreError | ConsumerNotFound | KeyNotFound | VersionMismatch>
    /** Verifies a key in one store round trip, without a write. A malformed key is rejected without a round trip. */
    readonly verify: (bucket: KeyBucket, key: string) => Effect.Effect<Verification, StoreError>
    /** Re-encrypts every key of every bucket under the primary secret while the service runs. Safe to repeat. */
    readonly reencryptKeys: () => Effect.Effect<ReencryptResult, StoreError>
  }
>()("@tollgate/core/keys/ApiKeys") {
  static readonly layer = Layer.effect(ApiKeys, make)
}
