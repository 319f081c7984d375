/**
 * Marks metering buckets in the directory as ones that background jobs must visit, so that any process finds them.
 */
import { Effect, Option, Stream } from "effect"
import { BoundedMap } from "../../runtime/BoundedMap.ts"
import * as Partition from "../../store/Partition.ts"
import { retryOnConflict } from "../../store/retryOnConflict.ts"
import { Store } from "../../store/Store.ts"
import { directoryRecords, type reservesTerm, type trialsTerm } from "../model/meteringDirectoryRecords.ts"

/** How many buckets a process remembers as marked. */
const maxMarked = 10_000
const pageSize = 200

type Mark = typeof reservesTerm | typeof trialsTerm

/** Marks a bucket that exists. Of many calls at once, the first one writes, and the others find the mark. */
export const markBucket = (mark: Mark, bucketId: string) =>
  retryOnConflict(
    Effect.gen(function* () {
      const store = yield* Store
      const found = yield* directoryRecords.get(Partition.meteringDirectory, bucketId)
      if (Option.isNone(found) || found.value.value[mark] === true) return
      const entry = found.value
      yield* store.commit(Partition.meteringDirectory, [
        directoryRecords.replace(entry, { ...entry.value, [mark]: true })
      ])
    })
  )

/** Makes a function that marks a bucket unless this process has already done so. */
export const makeMarkOnce = (mark: Mark) => {
  const marked = new BoundedMap<string, true>(maxMarked)
  return (bucketId: string) =>
    marked.has(bucketId)
      ? Effect.void
      : Effect.tap(markBucket(mark, bucketId), () => Effect.sync(() => marked.set(bucketId, true)))
}

/** Visits all buckets with a mark. If a visit fails, the others continue. */
export const forEachMarkedBucket = <E, R>(
  mark: Mark,
  description: string,
  visit: (bucketId: string) => Effect.Effect<void, E, R>
) =>
  Stream.runForEach(
    directoryRecords.stream(Partition.meteringDirectory, { where: [mark], pageSize }),
    ({ value: { bucket } }) =>
      Effect.catchCause(visit(bucket.id), (cause) => Effect.logDebug(`${description} in ${bucket.id} failed`, cause))
  )
