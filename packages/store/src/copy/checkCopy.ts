/**
 * Compares the contents of two stores by their hashes.
 */
import { createHash } from "node:crypto"
import { Clock, Effect, Stream } from "effect"
import type * as Partition from "../store/Partition.ts"
import type { StoreEntry } from "../store/StoreEntry.ts"
import { listPartitions, type OnProgress, type Side, visitBatches } from "./copySteps.ts"
import { PartitionHash } from "./PartitionHash.ts"
import { StoreCopyError } from "./StoreCopyError.ts"

/** Entries that expire in the next 10 minutes are copied, but not checked: they may expire in between. */
const uncheckedMs = 10 * 60 * 1000

const hashPartition = (
  { read }: Side,
  partition: Partition.Partition,
  earliestExpiry: number,
  report: (entries: ReadonlyArray<StoreEntry>) => Effect.Effect<void>
): Effect.Effect<string | undefined, StoreCopyError> =>
  Effect.suspend(() => {
    const partitionHash = new PartitionHash()
    return Stream.runForEach(read(partition), (entries) => {
      for (const entry of entries) {
        if (!("expiresAt" in entry) || entry.expiresAt > earliestExpiry) partitionHash.add(entry)
      }
      return report(entries)
    }).pipe(Effect.map(() => partitionHash.digest()))
  })

/** Reads both stores again, and fails unless their contents are equal. */
export const checkCopy = Effect.fnUntraced(function* (source: Side, target: Side, onProgress: OnProgress | undefined) {
  const hash = createHash("sha256")
  let partitions = 0
  yield* visitBatches("check", yield* listPartitions(source, target), onProgress, (partition, report) =>
    Effect.gen(function* () {
      const earliestExpiry = (yield* Clock.currentTimeMillis) + uncheckedMs
      const [expected, actual] = yield* Effect.all(
        [
          hashPartition(source, partition, earliestExpiry, report),
          hashPartition(target, partition, earliestExpiry, () => Effect.yieldNow)
        ],
        { concurrency: 2 }
      )
      if (expected !== actual) {
        return yield* new StoreCopyError({
          reason: "contents-differ",
          problem: `the partition ${partition} of the source is not the same as that of the target`
        })
      }
      if (expected === undefined) return
      partitions++
      hash.update(`${JSON.stringify([partition, expected])}\n`)
    })
  )
  return { partitions, hash: hash.digest("hex") }
})
