/**
 * Records that the values of existing keys are read: one event of each consumer, committed before the values are returned. Who
 * creates or rolls a key sees its value without it.
 */
import { Store, StoreConflict } from "@tollgate/store/internal"
import { Effect } from "effect"
import { recordEvent } from "../outbox/recordEvent.ts"
import type { ApiKey, KeyVisibility } from "../records/ApiKey.ts"
import type { Consumer } from "../records/Consumer.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"

/** Maximum ids in an event. `count` is the number of all. */
const maxKeyIds = 100

/** A consumer and those of its keys that a response shows. */
interface Shown extends Pick<Consumer, "id" | "name"> {
  readonly apiKeys?: ReadonlyArray<ApiKey>
}

/** The changes that record which values a response shows. */
export const recordReveals = (
  { accountName, bucketName }: KeyBucket,
  visibility: KeyVisibility | undefined,
  consumers: ReadonlyArray<Shown>
) =>
  Effect.forEach(
    consumers.flatMap(({ id, name, apiKeys = [] }) => {
      const keyIds = visibility === "visible" ? apiKeys.filter(({ key }) => key !== undefined).map(({ id }) => id) : []
      return keyIds.length === 0 ? [] : [{ id, name, keyIds }]
    }),
    ({ id, name, keyIds }) =>
      recordEvent("key.revealed", {
        accountName,
        subject: { type: "consumer", id, name },
        data: {
          consumerId: id,
          consumerName: name,
          keyBucketName: bucketName,
          keyIds: keyIds.slice(0, maxKeyIds),
          count: keyIds.length
        }
      })
  )

/** Commits what a response shows. Without it, the response must not be sent. */
export const commitReveals = Effect.fnUntraced(function* (
  bucket: KeyBucket,
  visibility: KeyVisibility | undefined,
  consumers: ReadonlyArray<Shown>
) {
  const store = yield* Store
  const changes = yield* recordReveals(bucket, visibility, consumers)
  if (changes.length === 0) return
  // New events conflict with nothing.
  yield* Effect.catchIf(
    store.commit(getKeyBucketPartition(bucket), changes),
    (error) => error instanceof StoreConflict,
    Effect.die
  )
})
