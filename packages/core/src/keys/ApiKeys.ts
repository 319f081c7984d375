/**
 * Operations on API keys: list, create, get, update, remove, verify, and re-encryption under a new secret.
 */
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { SecretBox } from "../crypto/SecretBox.ts"
import { ApiKey, type ApiKeyCreate, maxKeysPerConsumer, type StoredKey } from "../records/ApiKey.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { findConsumer } from "../records/findConsumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { byConsumer, keyRecords } from "../records/keyRecords.ts"
import { TrustedClock } from "../runtime/TrustedClock.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import { Page } from "../schema/Page.ts"
import type { TagFilter } from "../schema/Tags.ts"
import { checkVersion } from "../schema/VersionMismatch.ts"
import { CurrentIdempotency, makeIdempotentCommits } from "../store/Idempotency.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { type CommitResult, Store } from "../store/Store.ts"
import { StoreConflict, type StoreError } from "../store/StoreError.ts"
import { KeyBuckets } from "./KeyBuckets.ts"
import { KeyLimitReached, KeyNotFound, KeyValueTaken } from "./KeyError.ts"
import { KeysApi, type KeysMethods } from "./KeysApi.ts"
import * as KeyValues from "./keyValues.ts"
import { makeReencryptKeys, type ReencryptResult } from "./reencryptKeys.ts"
import { type KeyCheck, toVerification } from "./Verification.ts"
import { VerifyCache } from "./VerifyCache.ts"
import { makeVerify } from "./verify.ts"

const ApiKeyPage = Page(ApiKey)

const isList = (payload: ApiKeyCreate | ReadonlyArray<ApiKeyCreate>): payload is ReadonlyArray<ApiKeyCreate> =>
  Array.isArray(payload)

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const buckets = yield* KeyBuckets
  const cache = yield* VerifyCache
  const idempotentCreate = makeIdempotentCommits(store, secretBox, ApiKeyPage)
  const verifyKey = makeVerify(store, secretBox, cache, yield* TrustedClock)

  /** Finds a key by id. Fails unless the key belongs to the consumer and the consumer has the tags. */
  const findKey = Effect.fnUntraced(function* (
    bucket: KeyBucket & { readonly consumerName: string; readonly keyId: string },
    ifTags?: TagFilter
  ) {
    const { consumerName, keyId } = bucket
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
    bucket: KeyBucket & { readonly consumerName: string },
    inputs: ReadonlyArray<ApiKeyCreate>,
    toPointer: (index: number) => string
  ) {
    const { consumerName } = bucket
    const idempotency = yield* CurrentIdempotency
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

  const operations = implementOperations(KeysApi, store, {
    list: Effect.fnUntraced(function* ({ params: bucket, query: { limit, offset, keyFormat } }) {
      const { consumerName } = bucket
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
    }),

    create: Effect.fnUntraced(function* ({ params, payload }) {
      const { page, commitResult } = yield* createAll(params, [payload], () => "")
      const [value] = page.data
      return value === undefined
        ? yield* Effect.die("The commit created no key")
        : { value, version: keyRecords.getVersion(commitResult, value.id) }
    }),

    createMany: Effect.fnUntraced(function* ({ params, payload }) {
      const { page } = yield* createAll(params, isList(payload) ? payload : [payload], (index) => `/${index}`)
      return page
    }),

    get: Effect.fnUntraced(function* ({ params: bucket, query: { ifTags, keyFormat } = {} }) {
      const { entry } = yield* findKey(bucket, ifTags)
      return { value: yield* KeyValues.toApiKey(secretBox, bucket, entry.value, keyFormat), version: entry.version }
    }),

    update: Effect.fnUntraced(function* ({
      params: bucket,
      query: { ifTags } = {},
      headers: { ifMatch } = {},
      payload: patch
    }) {
      if (patch.key !== undefined) yield* KeyValues.validateSuppliedKey(secretBox, patch.key, "/key")
      const attempt = Effect.gen(function* () {
        const { consumer, entry } = yield* findKey(bucket, ifTags)
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
        return { value, version: keyRecords.getVersion(commitResult, bucket.keyId) }
      })
      return yield* toKeyErrors(cache.invalidateAfter(getKeyBucketPartition(bucket), retryOnConflict(attempt)))
    }),

    remove: Effect.fnUntraced(function* ({ params: bucket, query: { ifTags } = {}, headers: { ifMatch } = {} }) {
      const attempt = Effect.gen(function* () {
        const { consumer, entry } = yield* findKey(bucket, ifTags)
        yield* checkVersion(entry, ifMatch)
        yield* store.commit(getKeyBucketPartition(bucket), [
          consumerRecords.assertUnchanged(consumer),
          keyRecords.remove(entry)
        ])
      })
      yield* cache.invalidateAfter(getKeyBucketPartition(bucket), retryOnConflict(attempt))
    }),

    verify: ({ params, payload }) => Effect.map(verifyKey(params, payload.key), toVerification)
  })

  return ApiKeys.of({
    ...operations,
    verifyKey,
    reencryptKeys: Effect.fnUntraced(
      makeReencryptKeys(secretBox, buckets),
      Effect.provideService(Store, store),
      withSafeSpan("keys.reencryptKeys")
    )
  })
})

export class ApiKeys extends Context.Service<
  ApiKeys,
  Operations<typeof KeysApi, KeysMethods> & {
    /**
     * Verifies a key in one store round trip, without a write. A malformed key is rejected without a round trip. Same as
     * the operation `verify`, without its span: this is the hot path of protected routes.
     */
    readonly verifyKey: (bucket: KeyBucket, key: string) => Effect.Effect<KeyCheck, StoreError>
    /** Re-encrypts every key of every bucket under the primary secret while the service runs. Safe to repeat. */
    readonly reencryptKeys: () => Effect.Effect<ReencryptResult, StoreError>
  }
>()("@tollgate/core/keys/ApiKeys") {
  static readonly layer = Layer.effect(ApiKeys, make)
}
