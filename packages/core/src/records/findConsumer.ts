import { Effect, Option } from "effect"
import { matchesTags, type TagFilter } from "../schema/Tags.ts"
import { ConsumerNotFound } from "./ConsumerError.ts"
import { consumerRecords } from "./consumerRecords.ts"
import { type KeyBucket, partitionOf } from "./KeyBucket.ts"

/** The consumer of that name, if it carries the tags; otherwise it is not there. */
export const findConsumer = Effect.fnUntraced(function* (bucket: KeyBucket, name: string, ifTags: TagFilter = {}) {
  const found = yield* consumerRecords.get(partitionOf(bucket), name)
  if (Option.isNone(found) || !matchesTags(found.value.value.tags, ifTags)) {
    return yield* new ConsumerNotFound({ consumer: name })
  }
  return found.value
})
