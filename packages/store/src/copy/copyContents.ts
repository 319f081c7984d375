/**
 * Copies everything from one store into another, empty one, and checks the copy.
 */

import { Effect, Option, Stream } from "effect"
import type { StoreContentsOperations } from "../store/StoreContents.ts"
import { checkCopy } from "./checkCopy.ts"
import { type CopyCounts, listPartitions, makeSide, type OnProgress, type Side, visitBatches } from "./copySteps.ts"
import { StoreCopyError } from "./StoreCopyError.ts"

/** The options of `copyStore` and `copyContents`. */
export interface CopyOptions {
  /** Called after each batch, with what has been copied or checked so far. */
  readonly onProgress?: OnProgress | undefined
}

/** What was copied, after the check found no difference. */
export interface CopyResult extends CopyCounts {
  readonly partitions: number
  /** The hash of the contents, which was the same in both stores. */
  readonly hash: string
}

const refuseUnlessEmpty = Effect.fnUntraced(function* ({ partitions, read }: Side) {
  const first = yield* Stream.runHead(Stream.flatMap(partitions, read))
  if (Option.isNone(first)) return
  return yield* new StoreCopyError({ reason: "target-not-empty", problem: "the target is not empty" })
})

/**
 * Copies everything from one store into another, empty one, and checks the copy. Nothing may write to either store
 * meanwhile. Use it in Effect programs, with the service `StoreContents` of each store; otherwise use `copyStore`.
 */
export const copyContents = Effect.fn("copyContents")(function* (
  from: StoreContentsOperations,
  to: StoreContentsOperations,
  { onProgress }: CopyOptions = {}
): Effect.fn.Return<CopyResult, StoreCopyError> {
  if (from === to) {
    return yield* new StoreCopyError({ reason: "same-store", problem: "source and target are the same store" })
  }
  const [source, target] = [makeSide("source", from), makeSide("target", to)]
  yield* refuseUnlessEmpty(target)
  const counts = yield* visitBatches("copy", yield* listPartitions(source), onProgress, (partition, report) =>
    Stream.runForEach(source.read(partition), (entries) =>
      Effect.andThen(target.write(partition, entries), report(entries))
    )
  )
  return { ...counts, ...(yield* checkCopy(source, target, onProgress)) }
})
