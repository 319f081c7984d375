/**
 * Operations on API keys: list, create, import, get, update, remove, verify, and re-encryption under a new secret.
 */

import {
  type CommitResult,
  checkVersion,
  type Entry,
  getRevision,
  type HotPath,
  type Page,
  retryOnConflict,
  runInFiber,
  SecretBox,
  Store,
  type StoreError,
  type TagFilter,
  TrustedClock,
  toPage,
  withSafeSpan
} from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { callerHasPermission } from "../access/callerHasPermission.ts"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { DueWork } from "../jobs/DueWork.ts"
import type { ApiKey, ApiKeyCreate, KeyVisibility, StoredKey } from "../records/ApiKey.ts"
import { assertNotRolled } from "../records/assertNotRolled.ts"
import type { StoredConsumer } from "../records/Consumer.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { findConsumer } from "../records/findConsumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { byConsumer, keyRecords } from "../records/keyRecords.ts"
import { expiriesJob, makeEnsureExpiryEvents, recordExpiringKeys } from "./expiryEvents.ts"
import { makeInsertKeys, toKeyErrors } from "./insertKeys.ts"
import { makeIsIpAllowed } from "./ipAddresses.ts"
import { KeyBuckets } from "./KeyBuckets.ts"
import { KeyNotFound, KeyNotRetained } from "./KeyError.ts"
import { KeysApi, type KeysMethods } from "./KeysApi.ts"
import { KeyUse } from "./KeyUse.ts"
import { recordKeyEvent } from "./keyEvents.ts"
import { patchFields } from "./keyFields.ts"
import { makeToApiKeys } from "./keyResults.ts"
import { replaceValue } from "./keyValues.ts"
import { makeImportedKey, makeKey, validateSuppliedKey } from "./newKeys.ts"
import { makeOwnKeys, type OwnKeys } from "./ownKeys.ts"
import { RecentKeys } from "./RecentKeys.ts"
import { makeReencryptKeys, type ReencryptOthers, type ReencryptResult } from "./reencryptKeys.ts"
import { afterOrphans, keysJob, removeOrphans } from "./removedConsumers.ts"
import { commitReveals } from "./reveals.ts"
import { applyRolls, finishAllRolls, rollNumber } from "./rolls.ts"
import { type KeyCheck, toFullVerification, toVerification } from "./Verification.ts"
import { VerifyCache } from "./VerifyCache.ts"
import { type CheckedKey, type CheckKey, makeCheckKey } from "./verify.ts"

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
  const toApiKeys = makeToApiKeys(secretBox, keyUse)
  const trustedClock = yield* TrustedClock
  const dueWork = yield* DueWork
  const ensureExpiryEvents = makeEnsureExpiryEvents(dueWork)
  const insertKeys = makeInsertKeys(secretBox, ensureExpiryEvents)
  yield* dueWork.register({
    ...keysJob,
    run: (partition) =>
      removeOrphans(partition).pipe(
        Effect.andThen(finishAllRolls(partition)),
        Effect.as(undefined),
        Effect.provideService(Store, store)
      )
  })
  yield* dueWork.register({
    ...expiriesJob,
    run: (partition) =>
      Effect.flatMap(trustedClock.now, (now) => recordExpiringKeys(partition, now)).pipe(
        Effect.provideService(Store, store)
      )
  })
  const isIpAllowed = makeIsIpAllowed()
  const recentKeys = new RecentKeys(secretBox, trustedClock, isIpAllowed)
  const checkKey = makeCheckKey({ secretBox, cache, trustedClock, isIpAllowed })

  /** Records the use of a key that passed a check, and what the store said of it. */
  const noteCheck = ({ check, found, partition, hash, now }: CheckedKey): void => {
    if (hash !== undefined && recentKeys.isEnabled) recentKeys.note(partition, hash, found, now)
    if (check.valid) keyUse.note(partition, check.keyId, now)
  }

  const checkAndNote = (bucket: KeyBucket, key: string, hotPath: HotPath, ip?: string) =>
    Effect.mapEager(checkKey(bucket, key, hotPath, ip), (checked) => {
      noteCheck(checked)
      return checked
    })

  const verifyOnHotPath = (bucket: KeyBucket, key: string, hotPath: HotPath, ip?: string) =>
    Effect.mapEager(checkAndNote(bucket, key, hotPath, ip), ({ check }) => check)

  const verifyKey = (bucket: KeyBucket, key: string, ip?: string) =>
    runInFiber(store, (hotPath) => verifyOnHotPath(bucket, key, hotPath, ip))

  const findEntry = Effect.fnUntraced(function* (bucket: KeyBucket & { readonly keyId: string }) {
    const entry = yield* keyRecords.get(getKeyBucketPartition(bucket), bucket.keyId)
    return Option.isNone(entry) ? yield* new KeyNotFound() : entry.value
  })

  /** A key as it is. Fails unless it belongs to the consumer: one that was removed and created again has other keys. */
  const ofConsumer = Effect.fnUntraced(function* (consumer: Entry<StoredConsumer>, entry: Entry<StoredKey>) {
    if (entry.value.consumerId !== consumer.value.id) return yield* new KeyNotFound()
    const key = applyRolls(consumer.value, entry)
    return { consumer, entry, key, version: getRevision({ ...entry, value: key }) }
  })

  /** Finds a key by id. Fails unless the key belongs to the consumer and the consumer has the tags. */
  const findKey = Effect.fnUntraced(function* (
    bucket: KeyBucket & { readonly consumerName: string; readonly keyId: string },
    ifTags?: TagFilter
  ) {
    const consumer = yield* findConsumer(bucket, bucket.consumerName, ifTags)
    return yield* ofConsumer(consumer, yield* findEntry(bucket))
  })

  /** Finds a key of any consumer. */
  const findKeyById = Effect.fnUntraced(function* (bucket: KeyBucket & { readonly keyId: string }, ifTags?: TagFilter) {
    const entry = yield* findEntry(bucket)
    const consumer = findConsumer(bucket, entry.value.consumer, ifTags)
    return yield* ofConsumer(yield* Effect.catchTag(consumer, "ConsumerNotFound", () => new KeyNotFound()), entry)
  })

  const toApiKey = Effect.fnUntraced(function* (bucket: KeyBucket, stored: StoredKey, visibility?: KeyVisibility) {
    const [key] = yield* toApiKeys(bucket, [stored], visibility)
    return key ?? (yield* Effect.die("The key was not converted"))
  })

  const showKey = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    { consumer, key, version }: Effect.Success<ReturnType<typeof ofConsumer>>,
    visibility?: KeyVisibility
  ) {
    if (visibility === "visible" && key.sealed === undefined) return yield* new KeyNotRetained()
    const value = yield* toApiKey(bucket, key, visibility)
    yield* commitReveals(bucket, visibility, [{ ...consumer.value, apiKeys: [value] }])
    return { value, version }
  })

  const operations = implementOperations(KeysApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: bucket, query: { keyFormat, ...request } }) {
      const partition = getKeyBucketPartition(bucket)
      const read = Effect.gen(function* () {
        const { value: consumer } = yield* findConsumer(bucket, bucket.consumerName)
        const where = [byConsumer(consumer.id)]
        const page = yield* keyRecords.page(partition, { where, ...request, mayEndEarly: true })
        yield* assertNotRolled(partition, [consumer])
        return { consumer, page, stored: page.entries.map((entry) => applyRolls(consumer, entry)) }
      })
      const { consumer, page, stored } = yield* retryOnConflict(read)
      const data = yield* toApiKeys(bucket, stored, keyFormat)
      yield* commitReveals(bucket, keyFormat, [{ ...consumer, apiKeys: data }])
      return toPage(request, page, data)
    }),

    create: ({ params, payload }, once) =>
      insertKeys(once, toFirstEntry, params, [payload], (owner, input, _, now) =>
        makeKey(secretBox, params, owner, input, now, "")
      ),

    createMany: ({ params, payload }, once) =>
      insertKeys(once, toWholePage, params, isList(payload) ? payload : [payload], (owner, input, index, now) =>
        makeKey(secretBox, params, owner, input, now, `/${index}`)
      ),

    import: ({ params, payload }, once) =>
      insertKeys(once, toWholePage, params, payload.keys, (owner, input, _, now) =>
        makeImportedKey(secretBox, params, owner, input, now)
      ),

    get: ({ params, query: { ifTags, keyFormat } = {} }) =>
      Effect.flatMap(findKey(params, ifTags), (found) => showKey(params, found, keyFormat)),

    find: ({ params, query: { ifTags, keyFormat } = {} }) =>
      Effect.flatMap(findKeyById(params, ifTags), (found) => showKey(params, found, keyFormat)),

    update: Effect.fnUntraced(function* ({
      params: bucket,
      query: { ifTags } = {},
      headers: { ifMatch } = {},
      payload: patch
    }) {
      const { key: newValue, ...fields } = patch
      const partition = getKeyBucketPartition(bucket)
      if (newValue !== undefined) yield* validateSuppliedKey(secretBox, newValue, "/key")
      const attempt = Effect.gen(function* () {
        const { consumer, entry, key, version } = yield* findKey(bucket, ifTags)
        yield* checkVersion({ version }, ifMatch)
        const now = yield* DateTime.now
        const patched = { ...patchFields(key, fields, now), ...rollNumber(consumer.value), updatedOn: now }
        const stored = newValue === undefined ? patched : yield* replaceValue(secretBox, bucket, patched, newValue)
        // Before the commit, because it reads from the store: an update that was applied must not fail.
        // Only `visible` needs the stored value, so `masked` never fails with `KeyNotRetained`.
        const masked = yield* Effect.catchTag(toApiKey(bucket, stored, "masked"), "KeyNotRetained", Effect.die)
        const changes = [
          consumerRecords.assertUnchanged(consumer),
          keyRecords.replace(entry, stored),
          yield* recordKeyEvent("key.updated", bucket, stored)
        ]
        yield* ensureExpiryEvents(partition, bucket.accountName, [stored])
        const commitResult = yield* afterOrphans(partition, stored.hashes, store.commit(partition, changes))
        const value = newValue === undefined ? masked : { ...masked, key: newValue }
        return { value, version: keyRecords.getVersion(commitResult, bucket.keyId) }
      })
      return yield* toKeyErrors(cache.invalidateAfter(partition, retryOnConflict(attempt)))
    }),

    remove: Effect.fnUntraced(function* ({ params: bucket, query: { ifTags } = {}, headers: { ifMatch } = {} }) {
      const attempt = Effect.gen(function* () {
        const { consumer, entry, key, version } = yield* findKey(bucket, ifTags)
        yield* checkVersion({ version }, ifMatch)
        yield* store.commit(getKeyBucketPartition(bucket), [
          consumerRecords.assertUnchanged(consumer),
          keyRecords.remove(entry),
          yield* recordKeyEvent("key.deleted", bucket, key)
        ])
      })
      yield* cache.invalidateAfter(getKeyBucketPartition(bucket), retryOnConflict(attempt))
    }),

    verify: Effect.fnUntraced(function* ({ params, payload }) {
      const { check, owner } = yield* runInFiber(store, (hotPath) =>
        checkAndNote(params, payload.key, hotPath, payload.ip)
      )
      return (yield* callerHasPermission("decisions:read")) ? toFullVerification(check, owner) : toVerification(check)
    })
  })

  return ApiKeys.of({
    ...operations,
    verifyKey,
    verifyOnHotPath,
    checkKey,
    noteCheck,
    recentKeys,
    own: makeOwnKeys({ secretBox, trustedClock, cache, ensureExpiryEvents }),
    reencryptKeys: Effect.fnUntraced(
      makeReencryptKeys(secretBox, buckets),
      Effect.provideService(Store, store),
      withSafeSpan("tollgate.keys.reencryptKeys")
    )
  })
})

/**
 * The operations on API keys: `list`, `create`, `createMany`, `import`, `get`, `find`, `update`, `remove` and `verify`. Each
 * takes one `OperationRequest`. `verifyKey` and `reencryptKeys` take their arguments directly.
 */
export class ApiKeys extends Context.Service<
  ApiKeys,
  Operations<typeof KeysApi, KeysMethods> & {
    /**
     * Verifies a key in one store round trip, without a write. A malformed key is rejected without a round trip. Same as
     * the operation `verify`, without its span: this is the hot path of protected routes.
     */
    readonly verifyKey: (bucket: KeyBucket, key: string, ip?: string) => Effect.Effect<KeyCheck, StoreError>
    /** `verifyKey` without a fiber, if the store answers at once. */
    readonly verifyOnHotPath: (
      bucket: KeyBucket,
      key: string,
      hotPath: HotPath,
      ip?: string
    ) => Effect.Effect<KeyCheck, StoreError>
    /** The same for decisions, which record the check when they end, with `noteCheck`. */
    readonly checkKey: CheckKey
    readonly noteCheck: (checked: CheckedKey) => void
    /** The keys that were valid lately, for routes that stay open while the store cannot be reached. */
    readonly recentKeys: RecentKeys
    /** Keys that customers make for themselves. */
    readonly own: OwnKeys
    /** Re-encrypts every key of every bucket under the primary secret while the service runs. Safe to repeat. */
    readonly reencryptKeys: (others?: ReencryptOthers) => Effect.Effect<ReencryptResult, StoreError>
  }
>()("@tollgate/core/keys/ApiKeys") {
  static readonly layer = Layer.effect(ApiKeys, make)
}
