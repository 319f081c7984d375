/**
 * The list of key buckets. A bucket needs no explicit creation: Tollgate adds it to this list before the first write to
 * it, so that operations on all keys, such as re-encryption, find every bucket.
 */

import { BoundedMap, Partition, Store, type StoreError, type StoreUnavailable, toPage } from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer, Option, Stream } from "effect"
import { Accounts } from "../accounts/Accounts.ts"
import { type LimitReached, limitReached } from "../accounts/limits/LimitReached.ts"
import { Limits } from "../accounts/limits/Limits.ts"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { KeyBucketsApi, type KeyBucketsMethods } from "./KeyBucketsApi.ts"
import { byAccount, keyBucketRecords } from "./keyBucketRecords.ts"

const pageSize = 1_000

const make = Effect.gen(function* () {
  const store = yield* Store
  const accounts = yield* Accounts
  const { keyBucketsPerAccount } = yield* Limits
  const listedBuckets = new BoundedMap<string, true>(10_000)

  const insert = Effect.fnUntraced(function* ({ accountName, bucketName }: KeyBucket) {
    yield* accounts.ensureListed(accountName)
    const bucket = { accountName, bucketName, createdOn: yield* DateTime.now }
    const withinLimit = keyBucketRecords.assertAtMost(byAccount(accountName), keyBucketsPerAccount - 1)
    yield* store.commit(Partition.keysDirectory, [keyBucketRecords.insert(bucket), withinLimit]).pipe(
      Effect.catchTag("StoreConflict", ({ reason }) =>
        reason === "too-many-records"
          ? Effect.fail(limitReached("keyBucketsPerAccount", keyBucketsPerAccount))
          : // The bucket is already listed.
            Effect.void
      )
    )
  })

  return KeyBuckets.of({
    ...implementOperations(KeyBucketsApi, { store })({
      list: Effect.fnUntraced(function* ({ params: { accountName }, query }) {
        const { entries, ...page } = yield* keyBucketRecords.page(Partition.keysDirectory, {
          where: [byAccount(accountName)],
          ...query
        })
        const data = entries.map(({ value: { bucketName, createdOn } }) => ({ name: bucketName, createdOn }))
        return toPage(query, page, data)
      })
    }),
    all: keyBucketRecords.stream(Partition.keysDirectory, { pageSize }).pipe(
      Stream.map(({ value }) => value),
      Stream.runCollect,
      Effect.provideService(Store, store)
    ),
    ensureListed: (bucket) => {
      const partition = Partition.forKeyBucket(bucket.accountName, bucket.bucketName)
      return listedBuckets.has(partition)
        ? Effect.void
        : Effect.map(insert(bucket), () => {
            listedBuckets.set(partition, true)
          })
    },
    isListed: ({ accountName, bucketName }) => {
      const partition = Partition.forKeyBucket(accountName, bucketName)
      if (listedBuckets.has(partition)) return Effect.succeed(true)
      const entry = keyBucketRecords.get(Partition.keysDirectory, `${accountName}/${bucketName}`)
      return Effect.map(Effect.provideService(entry, Store, store), (entry) => {
        if (Option.isSome(entry)) listedBuckets.set(partition, true)
        return Option.isSome(entry)
      })
    }
  })
})

/**
 * The operation on key buckets, `list`, which takes one `OperationRequest`, and functions for the other services.
 */
export class KeyBuckets extends Context.Service<
  KeyBuckets,
  Operations<typeof KeyBucketsApi, KeyBucketsMethods> & {
    /** Adds a bucket and its account to their lists unless they are already there. */
    readonly ensureListed: (bucket: KeyBucket) => Effect.Effect<void, StoreUnavailable | LimitReached>
    /** Whether anything was ever written to a bucket. */
    readonly isListed: (bucket: KeyBucket) => Effect.Effect<boolean, StoreError>
    readonly all: Effect.Effect<ReadonlyArray<KeyBucket>, StoreError>
  }
>()("@tollgate/core/keys/KeyBuckets") {
  static readonly layer = Layer.effect(KeyBuckets, make)
}
