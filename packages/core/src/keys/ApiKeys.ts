/**
 * Operations on API keys: list, create, import, get, update, remove, verify, and re-encryption under a new secret.
 */
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { SecretBox } from "../crypto/SecretBox.ts"
import type { ApiKey, ApiKeyCreate, KeyVisibility, StoredKey } from "../records/ApiKey.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { findConsumer } from "../records/findConsumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { byConsumer, keyRecords } from "../records/keyRecords.ts"
import { TrustedClock } from "../runtime/TrustedClock.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import { type Page, toPage } from "../schema/Page.ts"
import type { TagFilter } from "../schema/Tags.ts"
import { checkVersion } from "../schema/VersionMismatch.ts"
import type { Entry } from "../store/Collection.ts"
import { runInFiber } from "../store/HotPath.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { type CommitResult, Store } from "../store/Store.ts"
import type { StoreError } from "../store/StoreError.ts"
import { makeInsertKeys, toKeyErrors } from "./insertKeys.ts"
import { KeyBuckets } from "./KeyBuckets.ts"
import { KeyNotFound, KeyNotRetained } from "./KeyError.ts"
import { KeysApi, type KeysMethods } from "./KeysApi.ts"
import { KeyUse } from "./KeyUse.ts"
import { recordKeyEvent } from "./keyEvents.ts"
import { patchFields } from "./keyFields.ts"
import { makeToApiKeys } from "./keyResults.ts"
import { replaceValue } from "./keyValues.ts"
import { makeImportedKey, makeKey, validateSuppliedKey } from "./newKeys.ts"
import { RecentKeys } from "./RecentKeys.ts"
import { makeReencryptKeys, type ReencryptResult } from "./reencryptKeys.ts"
import { type KeyCheck, toVerification } from "./Verification.ts"
import { VerifyCache } from "./VerifyCache.ts"
import { makeVerify, type VerifyKey } from "./verify.ts"

const isList = (payload: ApiKeyCreate | ReadonlyArray<ApiKeyCreate>): payload is ReadonlyArray<ApiKeyCreate> =>
  Array.isArray(payload)

const toFirstEntry = ([value]: ReadonlyArray<ApiKey>, commitResult: CommitResult): Entry<ApiKey> => {
  if (value === undefined) throw new Error("The commit created no key")
  return { value, version: keyRecords.getVersion(commitResult, value.id) }
}

const toWholePage = (data: ReadonlyArray<ApiKey>): Page<ApiKey> => {
  const { length } = data
  return { data, limit: length, offset: 0, total: length }
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const buckets = yield* KeyBuckets
  const cache = yield* VerifyCache
  const keyUse = yield* KeyUse
  const insertKeys = makeInsertKeys(secretBox)
  const toApiKeys = makeToApiKeys(secretBox, keyUse)
  const trustedClock = yield* TrustedClock
  const recentKeys = new RecentKeys(secretBox, trustedClock)
  const checkKey = makeVerify({ secretBox, cache, keyUse, recentKeys, trustedClock })
  const verifyKey = (bucket: KeyBucket, key: string) => runInFiber(store, (hotPath) => checkKey(bucket, key, hotPath))

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

  const toApiKey = Effect.fnUntraced(function* (bucket: KeyBucket, stored: StoredKey, visibility?: KeyVisibility) {
    const [key] = yield* toApiKeys(bucket, [stored], visibility)
    return key ?? (yield* Effect.die("The key was not converted"))
  })

  const operations = implementOperations(KeysApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: bucket, query: { keyFormat, ...request } }) {
      const { consumerName } = bucket
      yield* findConsumer(bucket, consumerName)
      const page = yield* keyRecords.page(getKeyBucketPartition(bucket), {
        where: [byConsumer(consumerName)],
        ...request,
        mayEndEarly: true
      })
      const stored = page.entries.map(({ value }) => value)
      const data = yield* toApiKeys(bucket, stored, keyFormat)
      return toPage(request, page, data)
    }),

    create: ({ params, payload }, once) =>
      insertKeys(once, toFirstEntry, params, [payload], (input, _, now) =>
        makeKey(secretBox, params, params.consumerName, input, now, "")
      ),

    createMany: ({ params, payload }, once) =>
      insertKeys(once, toWholePage, params, isList(payload) ? payload : [payload], (input, index, now) =>
        makeKey(secretBox, params, params.consumerName, input, now, `/${index}`)
      ),

    import: ({ params, payload }, once) =>
      insertKeys(once, toWholePage, params, payload.keys, (input, _, now) =>
        makeImportedKey(secretBox, params, params.consumerName, input, now)
      ),

    get: Effect.fnUntraced(function* ({ params: bucket, query: { ifTags, keyFormat } = {} }) {
      const { entry } = yield* findKey(bucket, ifTags)
      if (keyFormat === "visible" && entry.value.sealed === undefined) return yield* new KeyNotRetained()
      return { value: yield* toApiKey(bucket, entry.value, keyFormat), version: entry.version }
    }),

    update: Effect.fnUntraced(function* ({
      params: bucket,
      query: { ifTags } = {},
      headers: { ifMatch } = {},
      payload: patch
    }) {
      const { key: newValue, ...fields } = patch
      if (newValue !== undefined) yield* validateSuppliedKey(secretBox, newValue, "/key")
      const attempt = Effect.gen(function* () {
        const { consumer, entry } = yield* findKey(bucket, ifTags)
        yield* checkVersion(entry, ifMatch)
        const patched = { ...patchFields(entry.value, fields), updatedOn: yield* DateTime.now }
        const stored = newValue === undefined ? patched : yield* replaceValue(secretBox, bucket, patched, newValue)
        // Before the commit, because it reads from the store: an update that was applied must not fail.
        // Only `visible` needs the stored value, so `masked` never fails with `KeyNotRetained`.
        const masked = yield* Effect.catchTag(toApiKey(bucket, stored, "masked"), "KeyNotRetained", Effect.die)
        const commitResult = yield* store.commit(getKeyBucketPartition(bucket), [
          consumerRecords.assertUnchanged(consumer),
          keyRecords.replace(entry, stored),
          yield* recordKeyEvent("key.updated", bucket, stored)
        ])
        const value = newValue === undefined ? masked : { ...masked, key: newValue }
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
          keyRecords.remove(entry),
          yield* recordKeyEvent("key.deleted", bucket, entry.value)
        ])
      })
      yield* cache.invalidateAfter(getKeyBucketPartition(bucket), retryOnConflict(attempt))
    }),

    verify: ({ params, payload }) => Effect.map(verifyKey(params, payload.key), toVerification)
  })

  return ApiKeys.of({
    ...operations,
    verifyKey,
    checkKey,
    recentKeys,
    reencryptKeys: Effect.fnUntraced(
      makeReencryptKeys(secretBox, buckets),
      Effect.provideService(Store, store),
      withSafeSpan("tollgate.keys.reencryptKeys")
    )
  })
})

/**
 * The operations on API keys: `list`, `create`, `createMany`, `import`, `get`, `update`, `remove` and `verify`. Each
 * takes one `OperationRequest`. `verifyKey` and `reencryptKeys` take their arguments directly.
 */
export class ApiKeys extends Context.Service<
  ApiKeys,
  Operations<typeof KeysApi, KeysMethods> & {
    /**
     * Verifies a key in one store round trip, without a write. A malformed key is rejected without a round trip. Same as
     * the operation `verify`, without its span: this is the hot path of protected routes.
     */
    readonly verifyKey: (bucket: KeyBucket, key: string) => Effect.Effect<KeyCheck, StoreError>
    /** `verifyKey` without a fiber, if the store answers at once. */
    readonly checkKey: VerifyKey
    /** The keys that were valid lately, for routes that stay open while the store cannot be reached. */
    readonly recentKeys: RecentKeys
    /** Re-encrypts every key of every bucket under the primary secret while the service runs. Safe to repeat. */
    readonly reencryptKeys: () => Effect.Effect<ReencryptResult, StoreError>
  }
>()("@tollgate/core/keys/ApiKeys") {
  static readonly layer = Layer.effect(ApiKeys, make)
}
