/**
 * Everything in the database, as streams of short reads: other processes can write in between.
 */

import {
  type Partition,
  StoreContents,
  type StoreContentsOperations,
  StoreEntry,
  type StoreUnavailable
} from "@tollgate/store"
import { ChunkedSort } from "@tollgate/store/internal"
import type { Database } from "better-sqlite3"
import { Clock, Effect, Exit, Option, Stream } from "effect"
import type { CommitQueue } from "./CommitQueue.ts"
import { readWithRetry } from "./readWithRetry.ts"
import type { Step, SyncContents } from "./SyncContents.ts"

type Batches = Stream.Stream<ReadonlyArray<StoreEntry>, StoreUnavailable>

export const makeContents = (
  database: Database,
  contents: SyncContents,
  queue: CommitQueue
): StoreContentsOperations => {
  const read = <A>(run: () => A) => Effect.andThen(Effect.yieldNow, readWithRetry(database, "read", run))

  /** Repeats a step until its batch is empty. */
  const repeatStep = <From>(first: From, step: (from: From) => Step<From>): Batches =>
    Stream.unfold(first, (from) =>
      Effect.map(
        read(() => step(from)),
        ({ entries, next }) => (entries.length === 0 ? undefined : ([entries, next] as const))
      )
    )

  const sortRecordIds = Effect.fnUntraced(function* (partition: number) {
    const sorted = new ChunkedSort<number>()
    for (let from: string | undefined = ""; from !== undefined; ) {
      const key: string = from
      const { ids, next } = yield* read(() => contents.recordIds(partition, key))
      for (const id of ids) sorted.add(id, id)
      from = next
    }
    return sorted
  })

  const readRecords = (partition: number): Batches =>
    Stream.unwrap(Effect.map(sortRecordIds(partition), Stream.fromIterable)).pipe(
      Stream.grouped(500),
      Stream.flatMap((ids) => repeatStep<ReadonlyArray<number>>(ids, (rest) => contents.records(rest)))
    )

  const readPartition = (partition: Partition.Partition): Batches =>
    Stream.unwrap(
      Effect.gen(function* () {
        const found = yield* read(() => contents.find(partition))
        if (found === undefined) return Stream.empty
        const { id, sequence } = found
        const clock = yield* Clock.Clock
        return Stream.fromIterable(sequence === 0 ? [] : [[StoreEntry.Sequence({ value: sequence })]]).pipe(
          Stream.concat(readRecords(id)),
          Stream.concat(repeatStep("", (from) => contents.counters(id, from, clock))),
          Stream.concat(repeatStep("", (from) => contents.replays(id, from, clock)))
        )
      })
    )

  return StoreContents.make({
    partitions: Stream.paginate(0, (after) =>
      Effect.map(
        readWithRetry(database, "partitions", () => contents.partitionsAfter(after)),
        (rows) => [
          // The table has names that only this package writes.
          rows.map(([, name]) => name as Partition.Partition),
          Option.map(Option.fromUndefinedOr(rows.at(-1)), ([id]) => id)
        ]
      )
    ),
    read: readPartition,
    write: (partition, entries) => queue.submit("write", () => Exit.succeed(contents.write(partition, entries)))
  })
}
