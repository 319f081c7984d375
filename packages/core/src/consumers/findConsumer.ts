import { Effect, Option } from "effect"
import { type KeyBucket, partitionOf } from "../shared/KeyBucket.ts"
import { matchesTags, type TagFilter } from "../shared/Tags.ts"
import { ConsumerNotFound } from "./ConsumerError.ts"
import { consumerRecords } from "./consumerRecords.ts"

/** The consumer of that name, if it carries the tags; otherwise it is not there. */
export const findConsumer = Effect.fnUntraced(function* (bucket: KeyBucket, name: string, ifTags: TagFilter = {}) {
  const found = yield* consumerRecords.get(partitionOf(bucket), name)
  if (Option.isNone(found) || !matchesTags(found.value.value.tags, ifTags)) {
    return yield* new ConsumerNotFound({ consumer: name })
  }
  return found.value
})
