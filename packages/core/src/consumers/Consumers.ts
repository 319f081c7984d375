/**
 * Operations on consumers: list, create, get, update, remove, and `rollKey`, which creates a new API key and sets an
 * expiry on those of the consumer's keys that have none. Each write is one atomic commit.
 */

import {
  AllowedShare,
  applyPatch,
  type Change,
  checkVersion,
  type Entry,
  getRevision,
  Ids,
  invalidBody,
  invalidParameter,
  keepRevision,
  maxFound,
  omitUndefined,
  type PageRequest,
  retryOnConflict,
  SecretBox,
  Store,
  StoreConflict,
  type TagFilter,
  TrustedClock,
  tagTerms,
  toPage
} from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer, Option, Stream } from "effect"
import { callerMaySee } from "../access/callerHasPermission.ts"
import { limitReached } from "../accounts/limits/LimitReached.ts"
import { Limits } from "../accounts/limits/Limits.ts"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { DueWork } from "../jobs/DueWork.ts"
import { makeEnsureExpiryEvents } from "../keys/expiryEvents.ts"
import { toValueTaken } from "../keys/insertKeys.ts"
import { KeyBuckets } from "../keys/KeyBuckets.ts"
import { KeyLimitReached } from "../keys/KeyError.ts"
import { KeyUse } from "../keys/KeyUse.ts"
import { recordKeyEvent } from "../keys/keyEvents.ts"
import * as KeyResults from "../keys/keyResults.ts"
import { makeKey } from "../keys/newKeys.ts"
import { afterOrphans, keysJob, removedConsumers } from "../keys/removedConsumers.ts"
import { commitReveals, recordReveals } from "../keys/reveals.ts"
import { type KeyDraft, makeRollOne } from "../keys/rollOne.ts"
import { applyRolls, batchSize, finishRolls, maxPendingRolls, setExpiry } from "../keys/rolls.ts"
import { VerifyCache } from "../keys/VerifyCache.ts"
import { type ApiKey, type ApiKeyCreate, maxKeysPerConsumer } from "../records/ApiKey.ts"
import { ConsumerId, type StoredConsumer } from "../records/Consumer.ts"
import { ConsumerNameTaken } from "../records/ConsumerError.ts"
import { consumerRecords, getConsumerTerms } from "../records/consumerRecords.ts"
import { findConsumer } from "../records/findConsumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import { byConsumer, keyRecords, withoutExpiryByConsumer } from "../records/keyRecords.ts"
import { managerTerm } from "../records/Manager.ts"
import { omitIfEnabled } from "../records/omitIfEnabled.ts"
import type { CreatedConsumer } from "./ConsumerCreate.ts"
import { ConsumersApi, type ConsumersMethods } from "./ConsumersApi.ts"
import { recordConsumerEvent } from "./consumerEvents.ts"
import { makeManagers } from "./makeManagers.ts"
import { findConsumers } from "./searchConsumers.ts"
import { makeSignUps, toSignUpUndone } from "./signUps.ts"
import { readByName } from "./sortConsumers.ts"
import { makeToConsumers, maxKeysPerListedConsumer, toConsumer } from "./toConsumers.ts"

/** Before a name that is a cursor. */
const nameCursor = "~"

interface ConsumerRange {
  readonly limit: number
  readonly offset?: number | undefined
  /** A place in the order of creation, or a name. */
  readonly after?: number | string | undefined
  readonly sort?: "name" | "-createdOn" | undefined
}

const make = Effect.gen(function* () {
  const store = yield* Store
  const secretBox = yield* SecretBox
  const buckets = yield* KeyBuckets
  const cache = yield* VerifyCache
  const { consumersPerKeyBucket } = yield* Limits
  const dueWork = yield* DueWork
  const ensureExpiryEvents = makeEnsureExpiryEvents(dueWork)
  const rollOne = makeRollOne(yield* TrustedClock)
  const { signUp } = yield* makeSignUps

  const { toConsumers, toSingleConsumer } = makeToConsumers(KeyResults.makeToApiKeys(secretBox, yield* KeyUse))

  /** The keys with this index term of a consumer, as many as one commit changes, and the number of all. */
  const listSomeKeys = Effect.fnUntraced(function* (bucket: KeyBucket, term: string) {
    const page = { where: [term], offset: 0, limit: batchSize }
    const { entries, total } = yield* keyRecords.page(getKeyBucketPartition(bucket), page)
    return { keys: entries, total }
  })

  /** The newest key of a consumer that is neither disabled nor expires. */
  const findNewestEnabled = (bucket: KeyBucket, consumer: StoredConsumer) =>
    keyRecords
      .stream(getKeyBucketPartition(bucket), {
        where: [withoutExpiryByConsumer(consumer.id)],
        pageSize: batchSize,
        descending: true
      })
      .pipe(
        Stream.map((entry) => applyRolls(consumer, entry)),
        Stream.filter(({ disabled, expiresOn }) => disabled !== true && expiresOn === undefined),
        Stream.runHead,
        Effect.map(Option.getOrUndefined)
      )

  /** A consumer to roll. Writes earlier rolls to its keys if there are too many of them. */
  const findRollable = Effect.fnUntraced(function* (
    bucket: KeyBucket & { readonly consumerName: string },
    ifTags?: TagFilter
  ) {
    const entry = yield* findConsumer(bucket, bucket.consumerName, ifTags)
    if ((entry.value.rolls?.pending.length ?? 0) < maxPendingRolls) return entry
    const finish = finishRolls(getKeyBucketPartition(bucket), entry.value)
    yield* Effect.provideService(finish, AllowedShare, Number.POSITIVE_INFINITY)
    return yield* findConsumer(bucket, bucket.consumerName, ifTags)
  })

  /** Sees to it that a removal or a roll of many keys is written to the keys. */
  const ensureKeysJob = (bucket: KeyBucket) =>
    Effect.flatMap(DateTime.now, (now) =>
      dueWork.ensure(keysJob, getKeyBucketPartition(bucket), Effect.succeed(bucket.accountName), now)
    )

  /** Sets an expiry on the keys that have none. Of many keys, the consumer says that they are rolled. */
  const rollAll = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    entry: Entry<StoredConsumer>,
    expiresOn: DateTime.Utc,
    now: DateTime.Utc
  ) {
    const { id, rolls = { count: 0, pending: [] } } = entry.value
    const { keys, total } = yield* listSomeKeys(bucket, withoutExpiryByConsumer(id))
    const areMany = total > keys.length || rolls.pending.length > 0
    if (areMany) yield* ensureKeysJob(bucket)
    const { scopes, ipAllow } = (yield* findNewestEnabled(bucket, entry.value)) ?? {}
    const upTo = rolls.count + 1
    const rolled: StoredConsumer = areMany
      ? {
          ...entry.value,
          rolls: { count: upTo, pending: [...rolls.pending, { upTo, expiresOn, rolledOn: now }] }
        }
      : entry.value
    const draft: KeyDraft = {
      fields: omitUndefined({ scopes, ipAllow }) as ApiKeyCreate,
      changes: areMany
        ? [consumerRecords.replace(entry, keepRevision(entry, rolled))]
        : [
            consumerRecords.assertUnchanged(entry),
            keyRecords.assertAtMost(withoutExpiryByConsumer(id), total),
            ...keys.map((key) => keyRecords.replace(key, { ...key.value, ...setExpiry(expiresOn, now) }))
          ],
      written: [{ expiresOn }]
    }
    return { rolled, draft }
  })

  const rollSingle = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    entry: Entry<StoredConsumer>,
    keyId: string,
    expiresOn: DateTime.Utc,
    now: DateTime.Utc
  ) {
    const draft = yield* rollOne(bucket, keyId, entry.value, expiresOn, now)
    const changes = [consumerRecords.assertUnchanged(entry), ...draft.changes]
    return { rolled: entry.value, draft: { ...draft, changes } }
  })

  /** Consumers in the order of their creation, or of their names. */
  const readPage = Effect.fnUntraced(function* (
    bucket: KeyBucket,
    where: ReadonlyArray<string>,
    name: string | undefined,
    { limit, offset, after, sort }: ConsumerRange
  ) {
    if (sort === "name") {
      const isOwnCursor = after === undefined || typeof after === "string"
      if (!isOwnCursor) return yield* invalidParameter("after", "must be the next of an earlier page in this order")
      if (offset !== undefined && offset > 0)
        return yield* invalidParameter("offset", "cannot be combined with sort=name; use after")
      if (where.length > 0 || name !== undefined) {
        return yield* invalidParameter("sort", "cannot be combined with filters if it is name")
      }
      const { next, ...page } = yield* readByName(bucket, limit, after?.slice(nameCursor.length))
      return { ...page, ...(next === undefined ? {} : { next: nameCursor + next }) }
    }
    if (typeof after === "string") {
      return yield* invalidParameter("after", "must be the next of an earlier page in this order")
    }
    const descending = sort === "-createdOn"
    const range = { limit, offset: offset ?? 0, after }
    if (name !== undefined) return yield* findPage(bucket, name, where, range)
    return yield* consumerRecords.page(getKeyBucketPartition(bucket), {
      where: [...new Set(where)],
      ...range,
      descending,
      mayEndEarly: true
    })
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

  /** Whether a commit failed because there are more keys than were listed, or than there may be. */
  const isLimitConflict = (error: unknown): error is StoreConflict =>
    error instanceof StoreConflict &&
    error.reason === "too-many-records" &&
    error.subject.startsWith(keyRecords.indexTerm(""))

  /** Whether the consumer has as many keys as it may have. */
  const isFull = (error: unknown): boolean =>
    isLimitConflict(error) && error.subject.startsWith(keyRecords.indexTerm(byConsumer("")))

  return implementOperations(ConsumersApi, { store, secretBox })({
    list: Effect.fnUntraced(function* ({ params: bucket, query }) {
      const { limit, offset, after, tags, managerEmail, name, search, sort, ...include } = query
      const where = [...tagTerms(tags), ...(managerEmail === undefined ? [] : [managerTerm(managerEmail)])]
      const isRestricted = where.length > 0 || [offset, after, name, sort].some((value) => value !== undefined)
      if (search !== undefined && isRestricted) {
        return yield* invalidParameter("search", "cannot be combined with filters, sort, offset or after")
      }
      const toPageOf = (consumers: ReadonlyArray<StoredConsumer>) =>
        toConsumers(bucket, consumers, include, maxKeysPerListedConsumer)
      const read = Effect.gen(function* () {
        if (search !== undefined) {
          const max = Math.min(limit, maxFound)
          const found = yield* findConsumers(bucket, search, max, yield* callerMaySee("keys:read"))
          const consumers = new Map(found.map(({ consumer }) => [consumer.id, consumer]))
          return { data: yield* toPageOf([...consumers.values()].slice(0, max)), limit: max, offset: 0 }
        }
        const { entries, ...page } = yield* readPage(bucket, where, name, { limit, offset, after, sort })
        const data = yield* toPageOf(entries.map(({ value }) => value))
        return toPage({ limit, offset: offset ?? 0 }, page, data)
      })
      const page = yield* retryOnConflict(read)
      // Outside the retry, so that each read is told of once.
      yield* commitReveals(bucket, include.keyFormat, page.data)
      return page
    }),

    create: Effect.fnUntraced(function* (
      { params: bucket, query: { withApiKey, keyFormat, ...include } = {}, payload: input },
      once
    ) {
      const { name, managers, apiKeys, subscription, ...fields } = input
      const commitOnce = once(getKeyBucketPartition(bucket), (consumer, commitResult) => ({
        value: { ...consumer, ...omitUndefined({ apiKeys: consumer.apiKeys?.map(omitValueIfHashOnly) }) },
        version: consumerRecords.getVersion(commitResult, name)
      }))
      const now = yield* DateTime.now
      const requestedKeys = apiKeys !== undefined && apiKeys.length > 0 ? apiKeys : withApiKey === true ? [{}] : []
      const id = ConsumerId.make(yield* Ids.generate("csmr"))
      const keys = yield* Effect.forEach(requestedKeys, (key, index) =>
        makeKey(secretBox, bucket, { id, name }, key, now, `/apiKeys/${index}`)
      )
      const base: StoredConsumer = { id, name, createdOn: now, updatedOn: now, ...(yield* makeManagers(managers, now)) }
      const stored = applyPatch(base, { ...fields, ...omitIfEnabled(fields) })
      const toResult = (
        apiKeys: ReadonlyArray<ApiKey>,
        subscription: CreatedConsumer["subscription"]
      ): CreatedConsumer => ({
        ...toConsumer(stored, include),
        ...(apiKeys.length === 0 && include.apiKeys !== true ? {} : { apiKeys }),
        ...omitUndefined({ subscription })
      })
      const newKeys = keys.map((key) => KeyResults.toNewApiKey(bucket, key, keyFormat))
      yield* buckets.ensureListed(bucket)
      const storedKeys = keys.map(({ stored }) => stored)
      yield* ensureExpiryEvents(getKeyBucketPartition(bucket), bucket.accountName, storedKeys)
      const changes = [
        consumerRecords.insert(stored),
        ...storedKeys.map(keyRecords.insert),
        consumerRecords.assertAtMost(undefined, consumersPerKeyBucket - 1),
        yield* recordConsumerEvent("consumer.created", bucket, toConsumer(stored, {})),
        ...(yield* Effect.forEach(storedKeys, (key) => recordKeyEvent("key.created", bucket, key)))
      ]
      const hashes = storedKeys.flatMap((key) => key.hashes)
      const commit = Effect.fnUntraced(function* (
        further: ReadonlyArray<Change>,
        subscription?: CreatedConsumer["subscription"]
      ) {
        const replay = toResult(newKeys.map(omitValueIfHashOnly), subscription)
        const commitAll = commitOnce([...further, ...changes], replay)
        const commitResult = yield* afterOrphans(getKeyBucketPartition(bucket), hashes, commitAll).pipe(
          Effect.catchTag("StoreConflict", (conflict) =>
            Effect.fail(
              toValueTaken(keys, conflict) ??
                toSignUpUndone(conflict) ??
                (conflict.reason === "too-many-records"
                  ? limitReached("consumersPerKeyBucket", consumersPerKeyBucket)
                  : // `stale`: a consumer with this name exists.
                    new ConsumerNameTaken({ consumer: name }))
            )
          )
        )
        return { value: toResult(newKeys, subscription), version: consumerRecords.getVersion(commitResult, name) }
      })
      if (subscription === undefined) return yield* commit([])
      const checkName = Effect.flatMap(consumerRecords.get(getKeyBucketPartition(bucket), name), (entry) =>
        Option.isNone(entry) ? Effect.void : Effect.fail(new ConsumerNameTaken({ consumer: name }))
      )
      return yield* signUp(
        { bucket, customerKey: fields.customerKey ?? name, subscription },
        checkName,
        (removeIntent, subscription) => commit([removeIntent], subscription)
      )
    }),

    get: Effect.fnUntraced(function* ({ params: bucket, query: { ifTags, ...include } = {} }) {
      const read = Effect.gen(function* () {
        const entry = yield* findConsumer(bucket, bucket.consumerName, ifTags)
        return { value: yield* toSingleConsumer(bucket, entry.value, include), version: getRevision(entry) }
      })
      const consumer = yield* retryOnConflict(read)
      yield* commitReveals(bucket, include.keyFormat, [consumer.value])
      return consumer
    }),

    update: Effect.fnUntraced(function* ({
      params: bucket,
      query: { ifTags, ...include } = {},
      headers: { ifMatch } = {},
      payload: { name: newName, managers, ...patch }
    }) {
      const name = bucket.consumerName
      if (newName !== undefined && newName !== name) {
        return yield* invalidBody("/name", "a consumer cannot be renamed")
      }
      const attempt = Effect.gen(function* () {
        const entry = yield* findConsumer(bucket, name, ifTags)
        yield* checkVersion({ version: getRevision(entry) }, ifMatch)
        const now = yield* DateTime.now
        const value = applyPatch(entry.value, {
          ...patch,
          ...omitIfEnabled(patch),
          ...(managers === undefined ? {} : yield* makeManagers(managers, now, entry.value)),
          revision: null,
          updatedOn: now
        })
        // Before the commit, because it reads from the store: an update that was applied must not fail.
        const result = yield* toSingleConsumer(bucket, value, include)
        const commitResult = yield* store.commit(getKeyBucketPartition(bucket), [
          consumerRecords.replace(entry, value),
          yield* recordConsumerEvent("consumer.updated", bucket, toConsumer(value, {})),
          ...(yield* recordReveals(bucket, include.keyFormat, [result]))
        ])
        return { value: result, version: consumerRecords.getVersion(commitResult, name) }
      })
      return yield* withCacheInvalidation(bucket, retryOnConflict(attempt))
    }),

    remove: Effect.fnUntraced(function* ({ params: bucket, query: { ifTags } = {}, headers: { ifMatch } = {} }) {
      const name = bucket.consumerName
      const attempt = Effect.gen(function* () {
        const entry = yield* findConsumer(bucket, name, ifTags)
        yield* checkVersion({ version: getRevision(entry) }, ifMatch)
        const { id } = entry.value
        const { keys, total } = yield* listSomeKeys(bucket, byConsumer(id))
        const areMany = total > keys.length
        if (areMany) yield* ensureKeysJob(bucket)
        yield* store.commit(getKeyBucketPartition(bucket), [
          consumerRecords.remove(entry),
          // Without their consumer, keys are not valid.
          ...(areMany
            ? [removedConsumers.insert({ id })]
            : [keyRecords.assertAtMost(byConsumer(id), total), ...keys.map(keyRecords.remove)]),
          yield* recordConsumerEvent("consumer.deleted", bucket, toConsumer(entry.value, {}))
        ])
      })
      // Retry when a key was created after the keys were listed, so that it is removed too.
      yield* withCacheInvalidation(bucket, retryOnConflict(attempt, isLimitConflict))
    }),

    /**
     * Rolls the consumer's keys, or one of them, in one commit, and inserts a new key. All: sets `expiresOn` on every key that
     * has no expiry; of many keys, the consumer says that they are rolled. The commit fails if a key without an expiry is
     * created after they were listed; `retryOnConflict` then lists them again.
     */
    rollKey: Effect.fnUntraced(function* ({ params: bucket, query: { ifTags } = {}, payload }, once) {
      const { keyId, expiresOn } = payload
      const partition = getKeyBucketPartition(bucket)
      const commitOnce = once(partition, omitValueIfHashOnly)
      const attempt = Effect.gen(function* () {
        const entry = yield* findRollable(bucket, ifTags)
        const now = yield* DateTime.now
        const { rolled, draft } = yield* keyId === undefined
          ? rollAll(bucket, entry, expiresOn, now)
          : rollSingle(bucket, entry, keyId, expiresOn, now)
        const fields = { ...draft.fields, ...omitUndefined({ scopes: payload.scopes }) }
        const newKey = yield* makeKey(secretBox, bucket, rolled, fields, now, "")
        yield* ensureExpiryEvents(partition, bucket.accountName, [newKey.stored, ...draft.written])
        const plaintextKey = KeyResults.toNewApiKey(bucket, newKey)
        yield* commitOnce(
          [
            keyRecords.assertAtMost(byConsumer(rolled.id), maxKeysPerConsumer - 1),
            ...draft.changes,
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
        retryOnConflict(attempt, (error) => isLimitConflict(error) && !isFull(error))
      ).pipe(
        Effect.catchIf(isFull, () => Effect.fail(new KeyLimitReached())),
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
