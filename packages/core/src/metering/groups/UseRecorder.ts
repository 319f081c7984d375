/**
 * Notes by which key and under which labels usage was counted, and writes the notes in the background: a count neither waits
 * for them nor has a larger commit.
 */

import { Partition, retryOnConflict, Store } from "@tollgate/store/internal"
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { DueWork } from "../../jobs/DueWork.ts"
import { removeDue } from "../../jobs/removeDue.ts"
import { makeWriteBehind } from "../../jobs/writeBehind.ts"
import { asSystem } from "../../outbox/CurrentActor.ts"
import { toDay } from "../model/clockSteps.ts"
import { MeteringBucketNotFound } from "../model/MeteringBucketError.ts"
import { directoryRecords } from "../model/meteringDirectoryRecords.ts"
import { findRemoval, getGroupsPartition, groupRecords, removals } from "./groupRecords.ts"
import { maxUses, type NotesBudget, type Use, UseNotes } from "./UseNotes.ts"
import { writeUses } from "./writeUses.ts"

const cleanJob = { name: "usage-groups" }
/** Uses become visible within 15 seconds: this delay, and the time of the commits. */
const writeDelay = "5 seconds"
/** How many metering buckets a process notes uses of between two writes. */
const maxBuckets = 5_000

const findAccount = (bucketId: string) =>
  Effect.flatMap(
    directoryRecords.get(Partition.meteringDirectory, bucketId),
    Option.match({
      onNone: () => Effect.fail(new MeteringBucketNotFound({ bucketId })),
      onSome: ({ value }) => Effect.succeed(value.bucket.accountName)
    })
  )

const make = Effect.gen(function* () {
  const store = yield* Store
  const dueWork = yield* DueWork
  const withStore = Effect.provideService(Store, store)
  const budget: NotesBudget = { used: 0 }

  yield* dueWork.register({
    ...cleanJob,
    run: (partition) => withStore(asSystem(retryOnConflict(removeDue(groupRecords, removals, findRemoval, partition))))
  })

  const { pending, isClosed, add } = yield* makeWriteBehind<UseNotes>({
    delay: writeDelay,
    warning: "Cannot write what was used by key and label",
    isEmpty: ({ isEmpty }) => isEmpty,
    write: Effect.fnUntraced(function* (partition, notes) {
      const bucketId = Partition.getBucketId(partition)
      const due = findRemoval({ day: toDay(DateTime.toEpochMillis(yield* DateTime.now)) })
      yield* dueWork.ensure(cleanJob, getGroupsPartition(bucketId), withStore(findAccount(bucketId)), due).pipe(
        Effect.andThen(writeUses(bucketId, notes)),
        Effect.catchTag("MeteringBucketNotFound", () => Effect.sync(() => void notes.take()))
      )
    }, withStore)
  })

  const open = (partition: Partition.Partition): UseNotes | undefined => {
    if (isClosed() || pending.size >= maxBuckets) return undefined
    const notes = new UseNotes(budget)
    add(partition, notes)
    return notes
  }

  return UseRecorder.of({
    pending,
    open,
    note: (bucketId, use) => {
      const partition = Partition.forMeteringBucket(bucketId)
      const notes = pending.get(partition) ?? open(partition)
      if (notes !== undefined && notes.uses.push(use) >= maxUses) notes.fold()
    }
  })
})

/** Notes by which key and under which labels usage was counted. */
export class UseRecorder extends Context.Service<
  UseRecorder,
  {
    /** What was noted of each metering bucket, by its partition, for the hot path. */
    readonly pending: ReadonlyMap<Partition.Partition, UseNotes>
    /** Begins to note uses of a metering bucket; `undefined` if there is no room for it. */
    readonly open: (partition: Partition.Partition) => UseNotes | undefined
    readonly note: (bucketId: string, use: Use) => void
  }
>()("@tollgate/core/metering/UseRecorder") {
  static readonly layer = Layer.effect(UseRecorder, make)
}
