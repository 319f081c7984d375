/**
 * `@tollgate/store`: what adapters implement and use, that is stores, source stores and deployment targets.
 */

export { BoundedMap } from "./runtime/BoundedMap.ts"
export { ConfigurationError } from "./runtime/ConfigurationError.ts"
export type { HostLogger } from "./runtime/HostLogger.ts"
export * as Collection from "./store/Collection.ts"
export { type ClockSource, MicrosecondClock } from "./store/MicrosecondClock.ts"
export * as Partition from "./store/Partition.ts"
export * as Preconditions from "./store/Preconditions.ts"
export { type Piece, postingsInPiece, type ReadPiece, readInPieces } from "./store/readInPieces.ts"
export {
  Change,
  type ClosableStore,
  type Commit,
  type CommitResult,
  type CounterChange,
  type GetByUniqueKey,
  type IdempotencyRecord,
  isCounterChange,
  type RecordWithParent,
  type SearchMatch,
  type SearchQuery,
  Store,
  type StoreDescription,
  type StoreOperations,
  type StorePage,
  type StoreQuery,
  type StoreRecord,
  type StoreWithContents
} from "./store/Store.ts"
export { StoreContents, type StoreContentsOperations } from "./store/StoreContents.ts"
export {
  type CounterEntry,
  type Replay,
  type ReplayEntry,
  type ReplayNumbers,
  StoreEntry,
  toReplayedResult
} from "./store/StoreEntry.ts"
export {
  isOutcomeUnknown,
  RecordUnreadable,
  StoreConflict,
  type StoreError,
  StoreOpenError,
  StoreUnavailable
} from "./store/StoreError.ts"
export { StoreMisuse } from "./store/StoreMisuse.ts"
export { compareCodePoints, getSearchRange } from "./store/searchRange.ts"
export { maxBatchSize, streamBatches, takeBatch } from "./store/takeBatch.ts"
export { maxPageBytes, takePage } from "./store/takePage.ts"
export { withNow } from "./store/withNow.ts"
