/**
 * `@tollgate/store/internal`: what Tollgate's own packages and tests share. It may change in any release.
 */

export * as Base62 from "./crypto/Base62.ts"
export * as Ids from "./crypto/Id.ts"
export * as KeyFormat from "./crypto/KeyFormat.ts"
export { addChecksum, getSuffix, hasChecksum, KeyPrefix, keyPrefixForm, mask } from "./crypto/KeyFormat.ts"
export { DecryptionError, type KeyStorage, SecretBox, type SecretBoxOptions } from "./crypto/SecretBox.ts"
export { SecureRandom } from "./crypto/SecureRandom.ts"
export {
  addHidden,
  defineError,
  type ErrorDocumentation,
  encodeProblem,
  type ProblemJson
} from "./errors/defineError.ts"
export {
  InsufficientStorage,
  InternalError,
  PayloadTooLarge,
  RequestInProgress,
  RequestTimeout,
  ServerBusy,
  UnsupportedEncoding,
  UnsupportedMediaType
} from "./errors/requestErrors.ts"
export { isTollgateError, TollgateError, type TollgateErrorMembers } from "./errors/TollgateError.ts"
export * from "./index.ts"
export { abortablePromise } from "./runtime/abortablePromise.ts"
export { type BackgroundTasks, makeBackgroundTasks } from "./runtime/BackgroundTasks.ts"
export { BodyNotRestorableError, bodyErrorMessage } from "./runtime/BodyNotRestorableError.ts"
export { ChunkedSort } from "./runtime/ChunkedSort.ts"
export { checkNodeVersion } from "./runtime/checkNodeVersion.ts"
export { clonePlain, deepFreeze } from "./runtime/deepFreeze.ts"
export { FairQueue } from "./runtime/FairQueue.ts"
export { FairSemaphore } from "./runtime/FairSemaphore.ts"
export { makeDiskCheck } from "./runtime/freeSpace.ts"
export { getConnection } from "./runtime/getConnection.ts"
export { hostLogger, resolveLogger } from "./runtime/HostLogger.ts"
export { isPlainObject } from "./runtime/isPlainObject.ts"
export { makeKeyedLocks } from "./runtime/keyedLocks.ts"
export { makeBatches } from "./runtime/makeBatches.ts"
export { matchEffectEager } from "./runtime/matchEffectEager.ts"
export * as Options from "./runtime/Options.ts"
export { omitUndefined } from "./runtime/omitUndefined.ts"
export { onExitEager } from "./runtime/onExitEager.ts"
export { pauseAbove, RequestBatches } from "./runtime/RequestBatches.ts"
export { captureCaller, rejectIfThrows, run, runPossiblySync, throwFromCaller, withCallerStack } from "./runtime/run.ts"
export { runBestEffort } from "./runtime/runBestEffort.ts"
export { settleWithin } from "./runtime/settleWithin.ts"
export {
  fromWebRequest,
  fromWebResponse,
  readBody,
  type TransportRequest,
  type TransportResponse,
  toWebResponse
} from "./runtime/Transport.ts"
export { TrustedClock } from "./runtime/TrustedClock.ts"
export { forEachInPieces, nextTurn, WorkOwner } from "./runtime/turns.ts"
export { hasParentSpan, hasTracer, withSafeSpan } from "./runtime/withSafeSpan.ts"
export { type Decode, decodeParts, makeDecoder } from "./schema/decodeInput.ts"
export { Id } from "./schema/Id.ts"
export { InvalidInput, invalidBody, invalidParameter } from "./schema/InvalidInput.ts"
export { IpAllow, parseIpNetwork } from "./schema/IpAllow.ts"
export { isBaseUrl } from "./schema/isBaseUrl.ts"
export { ListedItem, type ListedItemJson } from "./schema/ListedItem.ts"
export { Metadata } from "./schema/Metadata.ts"
export {
  AccountName,
  KeyBucketName,
  MeterName,
  pathName,
  RateLimitName,
  recordByShortName,
  shortName
} from "./schema/Names.ts"
export { noDuplicates } from "./schema/noDuplicates.ts"
export { Cursor, cursorPattern, Limit, maxLimit, Offset, Page, type PageRequest, toPage } from "./schema/Page.ts"
export { applyPatch, clearableFields, optionalFields, type Patch } from "./schema/patch.ts"
export { findUnsafeJson, maxDepth, maxValues, tooManyValues } from "./schema/SafeJson.ts"
export {
  findMatchedField,
  normalizeSearch,
  type SearchField,
  SearchText,
  toSearchPrefix,
  toSearchTerms
} from "./schema/searchText.ts"
export { skipChecks } from "./schema/skipChecks.ts"
export { matchesTags, TagFilter, TagName, Tags, tagTerms } from "./schema/Tags.ts"
export { boundedText, hasAtMost, isMaxCharacters, LongText, ShortText } from "./schema/Text.ts"
export { formatTimestamp, Timestamp, timestampPattern } from "./schema/Timestamp.ts"
export { makeTimeIndex, type TimeIndex } from "./schema/timeIndex.ts"
export { checkVersion, VersionMismatch } from "./schema/VersionMismatch.ts"
export { BatchQueue } from "./store/BatchQueue.ts"
export type { Entry, EntryPage } from "./store/Collection.ts"
export { maxTimeUntilFull } from "./store/gcra.ts"
export { AllowedShare, measureGrowth } from "./store/growth.ts"
export { type HotPath, runInFiber } from "./store/HotPath.ts"
export {
  alwaysConflicts,
  type CommitOnce,
  CurrentIdempotency,
  type Idempotency,
  makeInProcessIdempotency,
  makeResultCodec,
  makeRunOnce,
  type Once,
  Replayed,
  type ResultCodec
} from "./store/Idempotency.ts"
export { type IdempotencyError, IdempotencyKeyReused, ReplayUnavailable } from "./store/IdempotencyError.ts"
export { accountsDirectory, eventsDirectory, forEvents, getEventsAccount, jobsDirectory } from "./store/Partition.ts"
export { isStale, liveClock, retryOnConflict } from "./store/retryOnConflict.ts"
export { type ErrorClass, makeRetryTransient, type RetryTransient } from "./store/retryTransient.ts"
export { getRevision, keepRevision } from "./store/revisions.ts"
export type { Take } from "./store/Store.ts"
export { StoreActivity } from "./store/StoreActivity.ts"
export { previewData } from "./store/StoreError.ts"
export {
  decodeFound,
  type Found,
  makeSearchPart,
  maxFound,
  maxSearchMatches,
  rankMatches,
  type SearchPart,
  searchParts,
  searchRecords
} from "./store/searchRecords.ts"
export { withCallerTime } from "./store/withCallerTime.ts"
