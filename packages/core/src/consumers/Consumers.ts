/**
 * The operations on consumers. Each write is one atomic commit.
 */
import { Context, DateTime, Effect, Layer } from "effect"
import * as Id from "../crypto/Id.ts"
import { SecretBox } from "../crypto/SecretBox.ts"
import { KeyBuckets } from "../keys/KeyBuckets.ts"
import { KeyLimitReached, type KeyNotRetained, KeyValueTaken } from "../keys/KeyError.ts"
import * as KeyValues from "../keys/keyValues.ts"
import { VerifyCache } from "../keys/VerifyCache.ts"
import { ApiKey, type KeyVisibility } from "../records/ApiKey.ts"
import {
  Consumer,
  type ConsumerCreate,
  ConsumerId,
  type ConsumerUpdate,
  type StoredConsumer
} from "../records/Consumer.ts"
import { ConsumerNameTaken, type ConsumerNotFound } from "../records/ConsumerError.ts"
import { consumerRecords } from "../records/consumerRecords.ts"
import { findConsumer } from "../records/findConsumer.ts"
import { type KeyBucket, partitionOf } from "../records/KeyBucket.ts"
import { byConsumer, keyRecords, maximumKeys, withoutExpiryByConsumer } from "../records/keyRecords.ts"
import { type ManagersCreate, managerTerm } from "../records/Manager.ts"
import { forEachInTurns } from "../runtime/inTurns.ts"
import { LimitReached, Limits } from "../runtime/Limits.ts"
import { omitUndefined } from "../runtime/omitUndefined.ts"
import { withSafeSpan } from "../runtime/withSafeSpan.ts"
import { type InvalidInput, invalidBody } from "../schema/InvalidInput.ts"
import type { Page, PageRequest } from "../schema/Page.ts"
import { type TagFilter, tagTerms } from "../schema/Tags.ts"
import { checkVersion, type VersionMismatch } from "../schema/VersionMismatch.ts"
import type { Entry } from "../store/Collection.ts"
import { type Idempotency, type IdempotencyError, idempotentCommit } from "../store/Idempotency.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import { StoreConflict, type StoreError } from "../store/StoreError.ts"

/** What an answer shows beside the consumer itself. */
export interface ConsumerInclude {
  readonly apiKeys?: boolean | undefined
  readonly managers?: boolean | undefined
  readonly managerInvites?: boolean | undefined
  readonly keyFormat?: KeyVisibility | undefined
}

/** Conditions of a write: tags that the consumer must carry, and the version it must be at. */
export interface WriteConditions {
  readonly ifTags?: TagFilter | undefined
  readonly ifMatch?: ReadonlyArray<number> | undefined
}

/** Keys that are embedded in a consumer which is read, in one of a list, and in a whole list. */
const embeddedInOne = 1_000
const embeddedInItem = 100
const embeddedInList = 1_000

const makeManagers = Effect.fnUntraced(function* (input: ManagersCreate = [], now: DateTime.Utc) {
  const managers: Array<StoredConsumer["managers"][number]> = []
  const managerInvites: Array<StoredConsumer["managerInvites"][number]> = []
  for (const item of input) {
    if (typeof item === "string") managerInvites.push({ id: yield* Id.next("inv"), createdOn: now, email: item })
    else managers.push({ id: yield* Id.next("mgr"), createdOn: now, ...item })
  }
  return { managers, managerInvites }
})

const make = Effect.gen(function* () {
  const store = yield* Store
  const vault = yield* SecretBox
  const buckets = yield* KeyBuckets
  const cache = yield* VerifyCache
  const consumersOnce = idempotentCommit(store, vault, Consumer)
  const rollsOnce = idempotentCommit(store, vault, ApiKey)
  const withStore = Effect.provideService(Store, store)
  const { consumersPerKeyBucket } = yield* Limits

  const toConsumer = ({ managers, managerInvites, ...fields }: StoredConsumer, view: ConsumerInclude): Consumer => ({
    ...fields,
    ...(view.managers === true ? { managers } : {}),
    ...(view.managerInvites === true ? { managerInvites } : {})
  })

  /** Consumers as they are shown, with the keys of all of them read in one call. */
  const toConsumers = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    consumers: ReadonlyArray<StoredConsumer>,
    view: ConsumerInclude,
    maxEach: number
  ) {
    const shown = consumers.map((consumer) => toConsumer(consumer, view))
    if (view.apiKeys !== true || consumers.length === 0) return shown
    const limits = yield* embeddedLimits(bucket, consumers, maxEach)
    const pages = yield* keyRecords.pages(
      partitionOf(bucket),
      limits.map(({ name, limit }) => ({ where: [byConsumer(name)], offset: 0, limit }))
    )
    return yield* forEachInTurns(shown, (consumer, index) =>
      index >= limits.length
        ? Effect.succeed(consumer)
        : Effect.map(
            Effect.forEach(pages[index]?.entries ?? [], ({ value }) =>
              KeyValues.toApiKey(vault, bucket, value, view.keyFormat)
            ),
            (apiKeys): Consumer => ({ ...consumer, apiKeys })
          )
    )
  })

  /** How many keys of which consumers are embedded, until there are enough for one answer; the others come without. */
  const embeddedLimits = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    consumers: ReadonlyArray<StoredConsumer>,
    maxEach: number
  ) {
    if (consumers.length === 1) return consumers.map(({ name }) => ({ name, limit: maxEach }))
    const totals = yield* keyRecords.pages(
      partitionOf(bucket),
      consumers.map(({ name }) => ({ where: [byConsumer(name)], offset: 0, limit: 0 }))
    )
    const limits: Array<{ readonly name: string; readonly limit: number }> = []
    let left = embeddedInList
    for (const [index, { name }] of consumers.entries()) {
      const limit = Math.min(totals[index]?.total ?? 0, maxEach)
      if (limit > left) break
      limits.push({ name, limit })
      left -= limit
    }
    return limits
  })

  /** All keys that carry a term: what a roll or a delete has to reach. */
  const listKeysByTerm = Effect.fnUntraced(function* (bucket: KeyBucket, term: string) {
    const page = yield* keyRecords.page(partitionOf(bucket), { where: [term], offset: 0, limit: maximumKeys })
    return page.entries
  })

  const invalidatingCache = <A, E, R>(bucket: KeyBucket, effect: Effect.Effect<A, E, R>) =>
    cache.invalidateAfter(partitionOf(bucket), effect)

  /** A replay shows no value where none are kept. */
  const toReplayedKey = (key: ApiKey) => KeyValues.redactForReplay(vault, key)

  const isLimitConflict = (term: string) => (error: unknown) =>
    error instanceof StoreConflict && error.reason === "limit" && error.subject === keyRecords.indexTerm(term)

  return Consumers.of({
    list: Effect.fnUntraced(
      function* (bucket, { limit, offset, tags, managerEmail, ...view }) {
        const where = [...tagTerms(tags), ...(managerEmail === undefined ? [] : [managerTerm(managerEmail)])]
        const page = yield* consumerRecords.page(partitionOf(bucket), { where: [...new Set(where)], offset, limit })
        const data = yield* toConsumers(
          bucket,
          page.entries.map(({ value }) => value),
          view,
          embeddedInItem
        )
        return { data, limit, offset, total: page.total }
      },
      withStore,
      withSafeSpan("Consumers.list")
    ),

    create: Effect.fnUntraced(
      function* (bucket, input, { withApiKey, idempotency } = {}) {
        const now = yield* DateTime.now
        const { name, managers, apiKeys, ...fields } = input
        const requestedKeys = apiKeys !== undefined && apiKeys.length > 0 ? apiKeys : withApiKey === true ? [{}] : []
        const keys = yield* Effect.forEach(requestedKeys, (key, index) =>
          KeyValues.make(vault, bucket, name, key, now, `/apiKeys/${index}`)
        )
        const stored: StoredConsumer = {
          id: ConsumerId.make(yield* Id.next("csmr")),
          name,
          createdOn: now,
          updatedOn: now,
          ...fields,
          ...(yield* makeManagers(managers, now))
        }
        const withApiKeys = (shown: ReadonlyArray<ApiKey>): Consumer =>
          shown.length === 0 ? toConsumer(stored, {}) : { ...toConsumer(stored, {}), apiKeys: shown }
        const shown = keys.map(KeyValues.withPlaintext)
        yield* buckets.ensure(bucket)
        const committed = yield* consumersOnce
          .commit(
            partitionOf(bucket),
            [
              consumerRecords.insert(stored),
              ...keys.map((key) => keyRecords.insert(key.stored)),
              consumerRecords.assertAtMost(undefined, consumersPerKeyBucket - 1)
            ],
            idempotency,
            withApiKeys(shown.map((key) => KeyValues.redactForReplay(vault, key)))
          )
          .pipe(
            Effect.catchTag("StoreConflict", (conflict) =>
              Effect.fail(
                conflict.reason === "unique-key"
                  ? new KeyValueTaken()
                  : conflict.reason === "limit"
                    ? new LimitReached({ limit: "consumersPerKeyBucket", max: consumersPerKeyBucket })
                    : new ConsumerNameTaken({ consumer: name })
              )
            )
          )
        const { previousResult } = committed
        const replayedKeys = previousResult?.apiKeys?.map(toReplayedKey)
        const value =
          previousResult === undefined
            ? withApiKeys(shown)
            : { ...previousResult, ...omitUndefined({ apiKeys: replayedKeys }) }
        return { value, version: consumerRecords.versionIn(committed, name) }
      },
      withStore,
      withSafeSpan("Consumers.create")
    ),

    get: Effect.fnUntraced(
      function* (bucket, name, { ifTags, ...view } = {}) {
        const entry = yield* findConsumer(bucket, name, ifTags)
        const [value = toConsumer(entry.value, view)] = yield* toConsumers(bucket, [entry.value], view, embeddedInOne)
        return { value, version: entry.version }
      },
      withStore,
      withSafeSpan("Consumers.get")
    ),

    update: Effect.fnUntraced(
      function* (bucket, name, patch, conditions = {}) {
        if (patch.name !== undefined && patch.name !== name) {
          return yield* invalidBody("/name", "a consumer's name cannot be changed")
        }
        const attempt = Effect.gen(function* () {
          const entry = yield* findConsumer(bucket, name, conditions.ifTags)
          yield* checkVersion(entry, conditions.ifMatch)
          const { description: before, ...rest } = entry.value
          const description = patch.description === undefined ? before : (patch.description ?? undefined)
          const value: StoredConsumer = {
            ...rest,
            ...(description === undefined ? {} : { description }),
            ...(patch.tags === undefined ? {} : { tags: patch.tags }),
            ...(patch.metadata === undefined ? {} : { metadata: patch.metadata }),
            updatedOn: yield* DateTime.now
          }
          const committed = yield* store.commit(partitionOf(bucket), [consumerRecords.replace(entry, value)])
          return { value: toConsumer(value, {}), version: consumerRecords.versionIn(committed, name) }
        })
        return yield* invalidatingCache(bucket, retryOnConflict(attempt))
      },
      withStore,
      withSafeSpan("Consumers.update")
    ),

    remove: Effect.fnUntraced(
      function* (bucket, name, conditions = {}) {
        const attempt = Effect.gen(function* () {
          const entry = yield* findConsumer(bucket, name, conditions.ifTags)
          yield* checkVersion(entry, conditions.ifMatch)
          const keys = yield* listKeysByTerm(bucket, byConsumer(name))
          yield* store.commit(partitionOf(bucket), [
            consumerRecords.remove(entry),
            keyRecords.assertAtMost(byConsumer(name), keys.length),
            ...keys.map(keyRecords.remove)
          ])
        })
        // A key that was made in between is to go with the others.
        yield* invalidatingCache(bucket, retryOnConflict(attempt, isLimitConflict(byConsumer(name))))
      },
      withStore,
      withSafeSpan("Consumers.remove")
    ),

    rollKey: Effect.fnUntraced(
      function* (bucket, name, expiresOn, { ifTags, idempotency } = {}) {
        const attempt = Effect.gen(function* () {
          const entry = yield* findConsumer(bucket, name, ifTags)
          const open = yield* listKeysByTerm(bucket, withoutExpiryByConsumer(name))
          const now = yield* DateTime.now
          const made = yield* KeyValues.make(vault, bucket, name, {}, now, "")
          const key = KeyValues.withPlaintext(made)
          const committed = yield* rollsOnce.commit(
            partitionOf(bucket),
            [
              consumerRecords.assertUnchanged(entry),
              keyRecords.assertAtMost(withoutExpiryByConsumer(name), open.length),
              keyRecords.assertAtMost(byConsumer(name), maximumKeys - 1),
              ...open.map((key) => keyRecords.replace(key, { ...key.value, expiresOn, updatedOn: now })),
              keyRecords.insert(made.stored)
            ],
            idempotency,
            KeyValues.redactForReplay(vault, key)
          )
          return committed.previousResult === undefined ? key : toReplayedKey(committed.previousResult)
        })
        const rolled = invalidatingCache(
          bucket,
          retryOnConflict(attempt, isLimitConflict(withoutExpiryByConsumer(name)))
        ).pipe(
          Effect.catchIf(isLimitConflict(byConsumer(name)), () => Effect.fail(new KeyLimitReached())),
          Effect.catchTag("InvalidInput", Effect.die)
        )
        return yield* rollsOnce.recalling(partitionOf(bucket), idempotency, toReplayedKey, rolled)
      },
      withStore,
      withSafeSpan("Consumers.rollKey")
    )
  })
})

export class Consumers extends Context.Service<
  Consumers,
  {
    /** A page of the consumers that carry all the tags, oldest first. */
    readonly list: (
      bucket: KeyBucket,
      query: PageRequest &
        ConsumerInclude & { readonly tags?: TagFilter | undefined; readonly managerEmail?: string | undefined }
    ) => Effect.Effect<Page<Consumer>, StoreError | KeyNotRetained>
    /** Makes a consumer, and its keys with it. The keys that were made are in the answer, with their values. */
    readonly create: (
      bucket: KeyBucket,
      input: ConsumerCreate,
      options?: { readonly withApiKey?: boolean | undefined; readonly idempotency?: Idempotency | undefined }
    ) => Effect.Effect<
      Entry<Consumer>,
      StoreError | InvalidInput | ConsumerNameTaken | KeyValueTaken | LimitReached | IdempotencyError
    >
    readonly get: (
      bucket: KeyBucket,
      name: string,
      options?: ConsumerInclude & { readonly ifTags?: TagFilter | undefined }
    ) => Effect.Effect<Entry<Consumer>, StoreError | ConsumerNotFound | KeyNotRetained>
    readonly update: (
      bucket: KeyBucket,
      name: string,
      patch: ConsumerUpdate,
      conditions?: WriteConditions
    ) => Effect.Effect<Entry<Consumer>, StoreError | InvalidInput | ConsumerNotFound | VersionMismatch>
    /** Removes a consumer with its keys, managers and invites, in one step. */
    readonly remove: (
      bucket: KeyBucket,
      name: string,
      conditions?: WriteConditions
    ) => Effect.Effect<void, StoreError | ConsumerNotFound | VersionMismatch>
    /** Sets the expiry of every key that has none and makes a new key, atomically; the new key has its value. */
    readonly rollKey: (
      bucket: KeyBucket,
      name: string,
      expiresOn: DateTime.Utc,
      options?: { readonly ifTags?: TagFilter | undefined; readonly idempotency?: Idempotency | undefined }
    ) => Effect.Effect<ApiKey, StoreError | ConsumerNotFound | KeyLimitReached | IdempotencyError>
  }
>()("@tollgate/core/consumers/Consumers") {
  static readonly layer = Layer.effect(Consumers, make)
}
