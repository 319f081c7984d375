/**
 * Operations on consumers: list, create, get, update, remove, and `rollKey`, which creates a new API key and sets an
 * expiry on those of the consumer's keys that have none. Each write is one atomic commit.
 */
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { LimitReached } from "../accounts/limits/LimitReached.ts"
import { Limits } from "../accounts/limits/Limits.ts"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import * as Id from "../crypto/Id.ts"
import { SecretBox } from "../crypto/SecretBox.ts"
import { toValueTaken } from "../keys/insertKeys.ts"
import { KeyBuckets } from "../keys/KeyBuckets.ts"
import { KeyLimitReached } from "../keys/KeyError.ts"
import { KeyUse } from "../keys/KeyUse.ts"
import { recordKeyEvent } from "../keys/keyEvents.ts"
import * as KeyResults from "../keys/keyResults.ts"
import { makeKey } from "../keys/newKeys.ts"
import { VerifyCache } from "../keys/VerifyCache.ts"
import { type ApiKey, type KeyVisibility, maxKeysPerConsumer } from "../records/ApiKey.ts"
import { type Consumer, ConsumerId, type StoredConsumer } from "../records/Consumer.ts"
import { ConsumerNameTaken } from "../records/ConsumerError.ts"
import { consumerRecords, getConsumerTerms } from "../records/consumerRecords.ts"
import { findConsumer } from "../records/findConsumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { byConsumer, keyRecords, withoutExpiryByConsumer } from "../records/keyRecords.ts"
import { type ManagersCreate, managerTerm } from "../records/Manager.ts"
import { omitUndefined } from "../runtime/omitUndefined.ts"
import { invalidBody } from "../schema/InvalidInput.ts"
import { type PageRequest, toPage } from "../schema/Page.ts"
import { applyPatch } from "../schema/patch.ts"
import { tagTerms } from "../schema/Tags.ts"
import { checkVersion } from "../schema/VersionMismatch.ts"
import { retryOnConflict } from "../store/retryOnConflict.ts"
import { Store } from "../store/Store.ts"
import { StoreConflict } from "../store/StoreError.ts"
import { ConsumersApi, type ConsumersMethods } from "./ConsumersApi.ts"
import { recordConsumerEvent } from "./consumerEvents.ts"

/** Optional parts of a returned consumer. */
interface ConsumerInclude {
  readonly apiKeys?: boolean | undefined
  readonly managers?: boolean | undefined
  readonly managerInvites?: boolean | undefined
  readonly keyFormat?: KeyVisibility | undefined
}

/** Maximum numbers of keys embedded with `apiKeys: true`: in one consumer, in each consumer of a list, and in a whole list. */
const maxKeysInOneConsumer = 1_000
const maxKeysPerListedConsumer = 100
const maxKeysInList = 1_000

const makeManagers = Effect.fnUntraced(function* (input: ManagersCreate = [], now: DateTime.Utc) {
  const managers: Array<StoredConsumer["managers"][number]> = []
  const managerInvites: Array<StoredConsumer["managerInvites"][number]> = []
  // Of those that name the same user, the first counts.
  const items: Iterable<ManagersCreate[number]> = input
  const byUser = Map.groupBy(items, (item) => (typeof item === "string" ? managerTerm(item) : item.sub))
  for (const item of [...byUser.values()].flatMap((same) => same.slice(0, 1))) {
    if (typeof item === "string") managerInvites.push({ id: yield* Id.generate("inv"), createdOn: now, email: item })
    else managers.push({ id: yield* Id.generate("mgr"), createdOn: now, ...item })
  }
  return { managers, managerInvites }
})

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const buckets = yield* KeyBuckets
  const cache = yield* VerifyCache
  const toApiKeys = KeyResults.makeToApiKeys(secretBox, yield* KeyUse)
  const { consumersPerKeyBucket } = yield* Limits

  const toConsumer = ({ managers, managerInvites, ...fields }: StoredConsumer, include: ConsumerInclude): Consumer => ({
    ...fields,
    ...(include.managers === true ? { managers } : {}),
    ...(include.managerInvites === true ? { managerInvites } : {})
  })

  /** Converts stored consumers for the caller. Reads the keys of all of them in one store call. */
  const toConsumers = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    consumers: ReadonlyArray<StoredConsumer>,
    include: ConsumerInclude,
    maxKeysEach: number
  ) {
    const results = consumers.map((consumer) => toConsumer(consumer, include))
    if (include.apiKeys !== true || consumers.length === 0) return results
    const limits = yield* limitEmbeddedKeys(bucket, consumers, maxKeysEach)
    const pages = yield* keyRecords.pages(
      getKeyBucketPartition(bucket),
      limits.map(({ name, limit }) => ({ where: [byConsumer(name)], offset: 0, limit }))
    )
    const stored = pages.map(({ entries }) => entries.map(({ value }) => value))
    const apiKeys = yield* toApiKeys(bucket, stored.flat(), include.keyFormat)
    return results.map((consumer, index): Consumer => {
      const keys = stored[index]
      return keys === undefined ? consumer : { ...consumer, apiKeys: apiKeys.splice(0, keys.length) }
    })
  })

  /**
   * Decides how many keys to embed in each consumer. Stops at the first consumer whose keys would exceed the limit of
   * the list; that consumer and the ones after it are returned without keys.
   */
  const limitEmbeddedKeys = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    consumers: ReadonlyArray<StoredConsumer>,
    maxKeysEach: number
  ) {
    if (consumers.length === 1) return consumers.map(({ name }) => ({ name, limit: maxKeysEach }))
    const totals = yield* keyRecords.pages(
      getKeyBucketPartition(bucket),
      consumers.map(({ name }) => ({ where: [byConsumer(name)], offset: 0, limit: 0 }))
    )
    const limits: Array<{ readonly name: string; readonly limit: number }> = []
    let remaining = maxKeysInList
    for (const [index, { name }] of consumers.entries()) {
      const limit = Math.min(totals[index]?.total ?? 0, maxKeysEach)
      if (limit > remaining) break
      limits.push({ name, limit })
      remaining -= limit
    }
    return limits
  })

  const toSingleConsumer = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    consumer: StoredConsumer,
    include: ConsumerInclude
  ) {
    const [result = toConsumer(consumer, include)] = yield* toConsumers(
      bucket,
      [consumer],
      include,
      maxKeysInOneConsumer
    )
    return result
  })

  /** All keys with this index term of a consumer. They always fit into one page. */
  const listKeysByTerm = Effect.fnUntraced(function* (bucket: KeyBucket, term: string) {
    const page = yield* keyRecords.page(getKeyBucketPartition(bucket), {
      where: [term],
      offset: 0,
      limit: maxKeysPerConsumer
    })
    return page.entries
  })

  /** The page with the consumer of this name, if it has the index terms. */
  const findPage = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    name: string,
    where: ReadonlyArray<string>,
    { offset, after }: PageRequest
  ) {
    const entry = yield* consumerRecords.get(getKeyBucketPartition(bucket), name)
    const found = Option.toArray(entry).filter(({ value }) => {
      const terms = getConsumerTerms(value)
      return where.every((term) => terms.includes(term))
    })
    return { entries: after === undefined ? found.slice(offset) : [], total: found.length }
  })

  const withCacheInvalidation = <A, E, R>(bucket: KeyBucket, effect: Effect.Effect<A, E, R>) =>
    cache.invalidateAfter(getKeyBucketPartition(bucket), effect)

  const omitValueIfHashOnly = (key: ApiKey) => KeyResults.omitValueIfHashOnly(secretBox, key)

  /** Whether a commit failed because more keys than allowed have the index term. */
  const isLimitConflict = (term: string) => (error: unknown) =>
    error instanceof StoreConflict &&
    error.reason === "too-many-records" &&
    error.subject === keyRecords.indexTerm(term)

  return implementOperations(ConsumersApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: bucket, query }) {
      const { limit, offset, after, tags, managerEmail, name, ...include } = query
      const request = { limit, offset, after }
      const where = [...tagTerms(tags), ...(managerEmail === undefined ? [] : [managerTerm(managerEmail)])]
      const page =
        name === undefined
          ? yield* consumerRecords.page(getKeyBucketPartition(bucket), {
              where: [...new Set(where)],
              ...request,
              mayEndEarly: true
            })
          : yield* findPage(bucket, name, where, request)
      const data = yield* toConsumers(
        bucket,
        page.entries.map(({ value }) => value),
        include,
        maxKeysPerListedConsumer
      )
      return toPage(request, page, data)
    }),

    create: Effect.fnUntraced(function* (
      { params: bucket, query: { withApiKey, keyFormat, ...include } = {}, payload: input },
      once
    ) {
      const { name, managers, apiKeys, ...fields } = input
      const commitOnce = once(getKeyBucketPartition(bucket), (consumer, commitResult) => ({
        value: { ...consumer, ...omitUndefined({ apiKeys: consumer.apiKeys?.map(omitValueIfHashOnly) }) },
        version: consumerRecords.getVersion(commitResult, name)
      }))
      const now = yield* DateTime.now
      const requestedKeys = apiKeys !== undefined && apiKeys.length > 0 ? apiKeys : withApiKey === true ? [{}] : []
      const keys = yield* Effect.forEach(requestedKeys, (key, index) =>
        makeKey(secretBox, bucket, name, key, now, `/apiKeys/${index}`)
      )
      const stored: StoredConsumer = {
        id: ConsumerId.make(yield* Id.generate("csmr")),
        name,
        createdOn: now,
        updatedOn: now,
        ...fields,
        ...(yield* makeManagers(managers, now))
      }
      const withApiKeys = (apiKeys: ReadonlyArray<ApiKey>): Consumer =>
        apiKeys.length === 0 && include.apiKeys !== true
          ? toConsumer(stored, include)
          : { ...toConsumer(stored, include), apiKeys }
      const newKeys = keys.map((key) => KeyResults.toNewApiKey(key, keyFormat))
      yield* buckets.ensureListed(bucket)
      const changes = [
        consumerRecords.insert(stored),
        ...keys.map((key) => keyRecords.insert(key.stored)),
        consumerRecords.assertAtMost(undefined, consumersPerKeyBucket - 1),
        yield* recordConsumerEvent("consumer.created", bucket, toConsumer(stored, {})),
        ...(yield* Effect.forEach(keys, (key) => recordKeyEvent("key.created", bucket, key.stored)))
      ]
      const commitResult = yield* commitOnce(changes, withApiKeys(newKeys.map(omitValueIfHashOnly))).pipe(
        Effect.catchTag("StoreConflict", (conflict) =>
          Effect.fail(
            toValueTaken(keys, conflict) ??
              (conflict.reason === "too-many-records"
                ? new LimitReached({ limit: "consumersPerKeyBucket", max: consumersPerKeyBucket })
                : // `stale`: a consumer with this name exists.
                  new ConsumerNameTaken({ consumer: name }))
          )
        )
      )
      return { value: withApiKeys(newKeys), version: consumerRecords.getVersion(commitResult, name) }
    }),

    get: Effect.fnUntraced(function* ({ params: bucket, query: { ifTags, ...include } = {} }) {
      const entry = yield* findConsumer(bucket, bucket.consumerName, ifTags)
      return { value: yield* toSingleConsumer(bucket, entry.value, include), version: entry.version }
    }),

    update: Effect.fnUntraced(function* ({
      params: bucket,
      query: { ifTags, ...include } = {},
      headers: { ifMatch } = {},
      payload: { name: newName, ...patch }
    }) {
      const name = bucket.consumerName
      if (newName !== undefined && newName !== name) {
        return yield* invalidBody("/name", "a consumer cannot be renamed")
      }
      const attempt = Effect.gen(function* () {
        const entry = yield* findConsumer(bucket, name, ifTags)
        yield* checkVersion(entry, ifMatch)
        const value = applyPatch(entry.value, { ...patch, updatedOn: yield* DateTime.now })
        // Before the commit, because it reads from the store: an update that was applied must not fail.
        const result = yield* toSingleConsumer(bucket, value, include)
        const commitResult = yield* store.commit(getKeyBucketPartition(bucket), [
          consumerRecords.replace(entry, value),
          yield* recordConsumerEvent("consumer.updated", bucket, toConsumer(value, {}))
        ])
        return { value: result, version: consumerRecords.getVersion(commitResult, name) }
      })
      return yield* withCacheInvalidation(bucket, retryOnConflict(attempt))
    }),

    remove: Effect.fnUntraced(function* ({ params: bucket, query: { ifTags } = {}, headers: { ifMatch } = {} }) {
      const name = bucket.consumerName
      const attempt = Effect.gen(function* () {
        const entry = yield* findConsumer(bucket, name, ifTags)
        yield* checkVersion(entry, ifMatch)
        const keys = yield* listKeysByTerm(bucket, byConsumer(name))
        yield* store.commit(getKeyBucketPartition(bucket), [
          consumerRecords.remove(entry),
          keyRecords.assertAtMost(byConsumer(name), keys.length),
          ...keys.map(keyRecords.remove),
          yield* recordConsumerEvent("consumer.deleted", bucket, toConsumer(entry.value, {}))
        ])
      })
      // Retry when a key was created after the keys were listed, so that it is removed too.
      yield* withCacheInvalidation(bucket, retryOnConflict(attempt, isLimitConflict(byConsumer(name))))
    }),

    /**
     * Rolls the consumer's keys in one commit: sets `expiresOn` on every key that has no expiry, and inserts a new key.
     * The commit fails if a key without an expiry is created after they were listed; `retryOnConflict` then lists them
     * again.
     */
    rollKey: Effect.fnUntraced(function* ({ params: bucket, query: { ifTags } = {}, payload }, once) {
      const name = bucket.consumerName
      const { expiresOn } = payload
      const commitOnce = once(getKeyBucketPartition(bucket), omitValueIfHashOnly)
      const attempt = Effect.gen(function* () {
        const entry = yield* findConsumer(bucket, name, ifTags)
        const keysWithoutExpiry = yield* listKeysByTerm(bucket, withoutExpiryByConsumer(name))
        const now = yield* DateTime.now
        const newestEnabled = keysWithoutExpiry.findLast(({ value }) => value.disabled !== true)
        const scopes = payload.scopes ?? newestEnabled?.value.scopes
        const newKey = yield* makeKey(secretBox, bucket, name, omitUndefined({ scopes }), now, "")
        const plaintextKey = KeyResults.toNewApiKey(newKey)
        yield* commitOnce(
          [
            consumerRecords.assertUnchanged(entry),
            keyRecords.assertAtMost(withoutExpiryByConsumer(name), keysWithoutExpiry.length),
            keyRecords.assertAtMost(byConsumer(name), maxKeysPerConsumer - 1),
            ...keysWithoutExpiry.map((key) => keyRecords.replace(key, { ...key.value, expiresOn, updatedOn: now })),
            keyRecords.insert(newKey.stored),
            yield* recordConsumerEvent("consumer.key_rolled", bucket, toConsumer(entry.value, {})),
            yield* recordKeyEvent("key.created", bucket, newKey.stored)
          ],
          omitValueIfHashOnly(plaintextKey)
        )
        return plaintextKey
      })
      return yield* withCacheInvalidation(
        bucket,
        retryOnConflict(attempt, isLimitConflict(withoutExpiryByConsumer(name)))
      ).pipe(
        Effect.catchIf(isLimitConflict(byConsumer(name)), () => Effect.fail(new KeyLimitReached())),
        // Only a supplied key value can be invalid, and a roll generates the value.
        Effect.catchTag("InvalidInput", Effect.die)
      )
    })
  })
})

/**
 * The operations on consumers: `list`, `create`, `get`, `update`, `remove` and `rollKey`. Each takes one
 * `OperationRequest`.
 */
export class Consumers extends Context.Service<Consumers, Operations<typeof ConsumersApi, ConsumersMethods>>()(
  "@tollgate/core/consumers/Consumers"
) {
  static readonly layer = Layer.effect(Consumers, make)
}
