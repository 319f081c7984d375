/**
 * Which key buckets there are. A bucket needs no creation: it is listed before the first write to it, so that what
 * must reach all keys, such as a change of secrets, finds them.
 */
import { Context, Effect, Layer } from "effect"
import { KeyBucket } from "../records/KeyBucket.ts"
import { BoundedMap } from "../runtime/BoundedMap.ts"
import { LimitReached, Limits } from "../runtime/Limits.ts"
import * as Collection from "../store/Collection.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import type { StoreError, StoreUnavailable } from "../store/StoreError.ts"

const ofAccount = (accountName: string): string => `account:${accountName}`

const bucketRecords = Collection.make({
  name: "bucket",
  format: 1,
  schema: KeyBucket,
  key: ({ accountName, bucketName }) => `${accountName}/${bucketName}`,
  indexTerms: ({ accountName }) => [ofAccount(accountName)]
})

const pageSize = 1_000

export class KeyBuckets extends Context.Service<
  KeyBuckets,
  {
    /** Lists a bucket, if it is not listed yet. */
    readonly ensure: (bucket: KeyBucket) => Effect.Effect<void, StoreUnavailable | LimitReached>
    readonly all: Effect.Effect<ReadonlyArray<KeyBucket>, StoreError>
  }
>()("@tollgate/core/keys/KeyBuckets") {
  static readonly layer = Layer.effect(
    KeyBuckets,
    Effect.gen(function* () {
      const store = yield* Store
      const { keyBucketsPerAccount } = yield* Limits
      const listed = new BoundedMap<string, true>(10_000)
      const insert = (bucket: KeyBucket): Effect.Effect<void, StoreUnavailable | LimitReached> => {
        const limit = bucketRecords.assertAtMost(ofAccount(bucket.accountName), keyBucketsPerAccount - 1)
        return store.commit(Partition.keysDirectory, [bucketRecords.insert(bucket), limit]).pipe(
          Effect.asVoid,
          Effect.catchTag("StoreConflict", ({ reason }) =>
            reason === "limit"
              ? Effect.fail(new LimitReached({ limit: "keyBucketsPerAccount", max: keyBucketsPerAccount }))
              : Effect.void
          )
        )
      }
      const from = (offset: number): Effect.Effect<ReadonlyArray<KeyBucket>, StoreError> =>
        Effect.gen(function* () {
          const page = yield* bucketRecords.page(Partition.keysDirectory, { offset, limit: pageSize })
          const buckets = page.entries.map(({ value }) => value)
          return offset + pageSize < page.total ? [...buckets, ...(yield* from(offset + pageSize))] : buckets
        }).pipe(Effect.provideService(Store, store))

      return KeyBuckets.of({
        all: from(0),
        ensure: (bucket) => {
          const name = Partition.keys(bucket.accountName, bucket.bucketName)
          return listed.has(name)
            ? Effect.void
            : Effect.map(insert(bucket), () => {
                listed.set(name, true)
              })
        }
      })
    })
  )
}
