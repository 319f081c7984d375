/**
 * The operations on API keys, and what keys are for: verifying one.
 */
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { SecretBox } from "../crypto/SecretBox.ts"
import { ApiKey, type ApiKeyCreate, type ApiKeyUpdate, type KeyVisibility, type StoredKey } from "../records/ApiKey.ts"
import type { ConsumerNotFound } from "../records/ConsumerError.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { findConsumer } from "../records/findConsumer.ts"
import { type KeyBucket, partitionOf } from "../records/KeyBucket.ts"
import { byConsumer, keyRecords, maximumKeys } from "../records/keyRecords.ts"
import { TrustedClock } from "../runtime/TrustedClock.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import type { InvalidInput } from "../schema/InvalidInput.ts"
import { Page, type PageRequest } from "../schema/Page.ts"
import type { TagFilter } from "../schema/Tags.ts"
import { checkVersion, type VersionMismatch } from "../schema/VersionMismatch.ts"
import type { Entry } from "../store/Collection.ts"
import { type Idempotency, type IdempotencyError, idempotentCommit } from "../store/Idempotency.ts"
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
  const vault = yield* SecretBox
  const buckets = yield* KeyBuckets
  const cache = yield* VerifyCache
  const keysOnce = idempotentCommit(store, vault, ApiKeyPage)
  const withStore = Effect.provideService(Store, store)

  /** The key, if it is that consumer's and the consumer carries the tags. */
  const find = Effect.fnUntraced(function* (bucket: KeyBucket, name: string, keyId: string, ifTags?: TagFilter) {
    const consumer = yield* findConsumer(bucket, name, ifTags)
    const found = yield* keyRecords.get(partitionOf(bucket), keyId)
    if (Option.isNone(found) || found.value.value.consumer !== name) return yield* new KeyNotFound()
    return { consumer, entry: found.value }
  })

  /** A value that another key has, and a consumer that is full, are the caller's to know. */
  const toKeyErrors = <A, E, R>(effect: Effect.Effect<A, E | StoreConflict, R>) =>
    Effect.mapError(effect, (error) => {
      if (!(error instanceof StoreConflict)) return error
      if (error.reason === "unique-key") return new KeyValueTaken()
      return error.reason === "limit" ? new KeyLimitReached() : error
    })

  const toReplayedPage = (earlier: Page<ApiKey>, committed: CommitResult) => ({
    page: { ...earlier, data: earlier.data.map((key) => KeyValues.redactForReplay(vault, key)) },
    committed
  })

  /** Makes keys in one commit; gives them with their values, and what the commit answered. */
  const createAll = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    name: string,
    inputs: ReadonlyArray<ApiKeyCreate>,
    pointerOf: (index: number) => string,
    idempotency: Idempotency | undefined
  ) {
    const attempt = Effect.gen(function* () {
      const consumer = yield* findConsumer(bucket, name)
      const now = yield* DateTime.now
      const keys = yield* Effect.forEach(inputs, (input, index) =>
        KeyValues.make(vault, bucket, name, input, now, pointerOf(index))
      )
      const envelope = (data: ReadonlyArray<ApiKey>) => ({ data, limit: data.length, offset: 0, total: data.length })
      const shown = keys.map(KeyValues.withPlaintext)
      const committed = yield* keysOnce.commit(
        partitionOf(bucket),
        [
          consumerRecords.assertUnchanged(consumer),
          keyRecords.assertAtMost(byConsumer(name), Math.max(0, maximumKeys - keys.length)),
          ...keys.map(({ stored }) => keyRecords.insert(stored))
        ],
        idempotency,
        envelope(shown.map((key) => KeyValues.redactForReplay(vault, key)))
      )
      return committed.previousResult === undefined
        ? { page: envelope(shown), committed }
        : toReplayedPage(committed.previousResult, committed)
    })
    const made = toKeyErrors(retryOnConflict(attempt))
    return yield* keysOnce.recalling(partitionOf(bucket), idempotency, toReplayedPage, made)
  })

  return ApiKeys.of({
    list: Effect.fnUntraced(
      function* (bucket, name, { limit, offset, keyFormat }) {
        yield* findConsumer(bucket, name)
        const page = yield* keyRecords.page(partitionOf(bucket), { where: [byConsumer(name)], offset, limit })
        const data = yield* Effect.forEach(page.entries, ({ value }) =>
          KeyValues.toApiKey(vault, bucket, value, keyFormat)
        )
        return { data, limit, offset, total: page.total }
      },
      withStore,
      withSafeSpan("ApiKeys.list")
    ),

    create: Effect.fnUntraced(
      function* (bucket, name, input, { idempotency } = {}) {
        const { page, committed } = yield* createAll(bucket, name, [input], () => "", idempotency)
        const [value] = page.data
        return value === undefined
          ? yield* Effect.die("no key was made")
          : { value, version: keyRecords.versionIn(committed, value.id) }
      },
      withStore,
      withSafeSpan("ApiKeys.create")
    ),

    createMany: Effect.fnUntraced(
      function* (bucket, name, inputs, { idempotency } = {}) {
        const { page } = yield* createAll(bucket, name, inputs, (index) => `/${index}`, idempotency)
        return page
      },
      withStore,
      withSafeSpan("ApiKeys.createMany")
    ),

    get: Effect.fnUntraced(
      function* (bucket, name, keyId, { ifTags, keyFormat } = {}) {
        const { entry } = yield* find(bucket, name, keyId, ifTags)
        return { value: yield* KeyValues.toApiKey(vault, bucket, entry.value, keyFormat), version: entry.version }
      },
      withStore,
      withSafeSpan("ApiKeys.get")
    ),

    update: Effect.fnUntraced(
      function* (bucket, name, keyId, patch, { ifTags, ifMatch } = {}) {
        if (patch.key !== undefined) yield* KeyValues.validateSuppliedKey(vault, patch.key, "/key")
        const attempt = Effect.gen(function* () {
          const { consumer, entry } = yield* find(bucket, name, keyId, ifTags)
          yield* checkVersion(entry, ifMatch)
          const { expiresOn: expiry, description: described, sealed, ...rest } = entry.value
          const kept = patch.key === undefined ? undefined : yield* KeyValues.protect(vault, bucket, rest.id, patch.key)
          const expiresOn = patch.expiresOn === undefined ? expiry : (patch.expiresOn ?? undefined)
          const description = patch.description === undefined ? described : (patch.description ?? undefined)
          const stored: StoredKey = {
            ...rest,
            ...(expiresOn === undefined ? {} : { expiresOn }),
            ...(description === undefined ? {} : { description }),
            ...(kept ?? (sealed === undefined ? {} : { sealed })),
            updatedOn: yield* DateTime.now
          }
          const committed = yield* store.commit(partitionOf(bucket), [
            consumerRecords.assertUnchanged(consumer),
            keyRecords.replace(entry, stored)
          ])
          const value =
            patch.key === undefined
              ? yield* KeyValues.toApiKey(vault, bucket, stored, "masked").pipe(
                  Effect.catchTag("KeyNotRetained", Effect.die)
                )
              : KeyValues.withPlaintext({ stored, value: patch.key })
          return { value, version: keyRecords.versionIn(committed, keyId) }
        })
        return yield* toKeyErrors(cache.invalidateAfter(partitionOf(bucket), retryOnConflict(attempt)))
      },
      withStore,
      withSafeSpan("ApiKeys.update")
    ),

    remove: Effect.fnUntraced(
      function* (bucket, name, keyId, { ifTags, ifMatch } = {}) {
        const attempt = Effect.gen(function* () {
          const { consumer, entry } = yield* find(bucket, name, keyId, ifTags)
          yield* checkVersion(entry, ifMatch)
          yield* store.commit(partitionOf(bucket), [
            consumerRecords.assertUnchanged(consumer),
            keyRecords.remove(entry)
          ])
        })
        yield* cache.invalidateAfter(partitionOf(bucket), retryOnConflict(attempt))
      },
      withStore,
      withSafeSpan("ApiKeys.remove")
    ),

    verify: makeVerify(store, vault, cache, yield* TrustedClock),

    reencryptKeys: Effect.fnUntraced(
      makeReencryptKeys(vault, buckets),
      withStore,
      withSafeSpan("ApiKeys.reencryptKeys")
    )
  })
})

interface ItemConditions {
  readonly ifTags?: TagFilter | undefined
  readonly ifMatch?: ReadonlyArray<number> | undefined
}

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** A page of a consumer's keys, oldest first; expired ones too. */
    readonly list: (
      bucket: KeyBucket,
      consumer: string,
      query: PageRequest & { readonly keyFormat?: KeyVisibility | undefined }
    ) => Effect.Effect<Page<ApiKey>, StoreError | ConsumerNotFound | KeyNotRetained>
    /** Makes a key; its value is in the answer. */
    readonly create: (
      bucket: KeyBucket,
      consumer: string,
      input: ApiKeyCreate,
      options?: { readonly idempotency?: Idempotency | undefined }
    ) => Effect.Effect<
      Entry<ApiKey>,
      StoreError | InvalidInput | ConsumerNotFound | KeyValueTaken | KeyLimitReached | IdempotencyError
    >
    /** Makes several keys, all or none. */
    readonly createMany: (
      bucket: KeyBucket,
      consumer: string,
      inputs: ReadonlyArray<ApiKeyCreate>,
      options?: { readonly idempotency?: Idempotency | undefined }
    ) => Effect.Effect<
      Page<ApiKey>,
      StoreError | InvalidInput | ConsumerNotFound | KeyValueTaken | KeyLimitReached | IdempotencyError
    >
    readonly get: (
      bucket: KeyBucket,
      consumer: string,
      keyId: string,
      options?: { readonly ifTags?: TagFilter | undefined; readonly keyFormat?: KeyVisibility | undefined }
    ) => Effect.Effect<Entry<ApiKey>, StoreError | ConsumerNotFound | KeyNotFound | KeyNotRetained>
    readonly update: (
      bucket: KeyBucket,
      consumer: string,
      keyId: string,
      patch: ApiKeyUpdate,
      conditions?: ItemConditions
    ) => Effect.Effect<
      Entry<ApiKey>,
      StoreError | InvalidInput | ConsumerNotFound | KeyNotFound | KeyValueTaken | KeyLimitReached | VersionMismatch
    >
    readonly remove: (
      bucket: KeyBucket,
      consumer: string,
      keyId: string,
      conditions?: ItemConditions
    ) => Effect.Effect<void, StoreError | ConsumerNotFound | KeyNotFound | VersionMismatch>
    /** Whether a key lets its bearer in: the hot path. One round trip, no write; none at all for a malformed key. */
    readonly verify: (bucket: KeyBucket, key: string) => Effect.Effect<Verification, StoreError>
    /** Puts every key of every bucket under the newest secret, while the service runs. It may be repeated. */
    readonly reencryptKeys: () => Effect.Effect<ReencryptResult, StoreError>
  }
>()("@tollgate/core/keys/ApiKeys") {
  static readonly layer = Layer.effect(ApiKeys, make)
}
