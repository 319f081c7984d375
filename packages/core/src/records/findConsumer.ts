import { matchesTags, type TagFilter } from "@tollgate/store/internal"
import { Effect, Option } from "effect"
import { ConsumerNotFound } from "./ConsumerError.ts"
import { consumerRecords } from "./consumerRecords.ts"
import type { KeyBucket } from "./KeyBucket.ts"
import { getKeyBucketPartition } from "./keyBucketPartition.ts"

/** Finds a consumer by name. A consumer without the required tags counts as not found. */
export const findConsumer = Effect.fnUntraced(function* (bucket: KeyBucket, name: string, ifTags: TagFilter = {}) {
  const entry = yield* consumerRecords.get(getKeyBucketPartition(bucket), name)
  if (Option.isNone(entry) || !matchesTags(entry.value.value.tags, ifTags)) {
    return yield* new ConsumerNotFound({ consumer: name })
  }
  return entry.value
})
