/**
 * The list of key buckets. A bucket needs no explicit creation: Tollgate adds it to this list before the first write to
 * it, so that operations on all keys, such as re-encryption, find every bucket.
 */
import { Context, Effect, Layer } from "effect"
import { KeyBucket } from "../records/KeyBucket.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { LimitReached } from "../runtime/LimitReached.ts"
import { Limits } from "../runtime/Limits.ts"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import type { StoreError, StoreUnavailable } from "../store/StoreError.ts"

const byAccount = (accountName: string): string => `account:${accountName}`

const bucketRecords = Collection.make({
  name: "bucket",
  format: 1,
  schema: KeyBucket,
  key: ({ accountName, bucketName }) => `${accountName}/${bucketName}`,
  indexTerms: ({ accountName }) => [byAccount(accountName)]
})

const pageSize = 1_000

export class KeyBuckets extends Context.Service<
  KeyBuckets,
  {
    /** Adds a bucket to the list unless it is already there. */
    readonly ensureListed: (bucket: KeyBucket) => Effect.Effect<void, StoreUnavailable | LimitReached>
    readonly all: Effect.Effect<ReadonlyArray<KeyBucket>, StoreError>
  }
>()("@tollgate/core/keys/KeyBuckets") {
  static readonly layer = Layer.effect(
    KeyBuckets,
    Effect.gen(function* () {
      const store = yield* Store
      const { keyBucketsPerAccount } = yield* Limits
      const listedBuckets = new BoundedMap<string, true>(10_000)
      const insert = (bucket: KeyBucket): Effect.Effect<void, StoreUnavailable | LimitReached> => {
        const withinLimit = bucketRecords.assertAtMost(byAccount(bucket.accountName), keyBucketsPerAccount - 1)
        return store.commit(Partition.keysDirectory, [bucketRecords.insert(bucket), withinLimit]).pipe(
          Effect.asVoid,
          Effect.catchTag("StoreConflict", ({ reason }) =>
            reason === "too-many-records"
              ? Effect.fail(new LimitReached({ limit: "keyBucketsPerAccount", max: keyBucketsPerAccount }))
              : // The bucket is already listed.
                Effect.void
          )
        )
      }
      const readFrom = (offset: number): Effect.Effect<ReadonlyArray<KeyBucket>, StoreError> =>
        Effect.gen(function* () {
          const page = yield* bucketRecords.page(Partition.keysDirectory, { offset, limit: pageSize })
          const buckets = page.entries.map(({ value }) => value)
          return offset + pageSize < page.total ? [...buckets, ...(yield* readFrom(offset + pageSize))] : buckets
        }).pipe(Effect.provideService(Store, store))

      return KeyBuckets.of({
        all: readFrom(0),
        ensureListed: (bucket) => {
          const partition = Partition.forKeyBucket(bucket.accountName, bucket.bucketName)
          return listedBuckets.has(partition)
            ? Effect.void
            : Effect.map(insert(bucket), () => {
                listedBuckets.set(partition, true)
              })
        }
      })
    })
  )
}
