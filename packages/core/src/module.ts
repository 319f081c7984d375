/**
 * `@tollgate/core/module`: what modules are made of.
 */

export {
  AccountName,
  abortablePromise,
  addChecksum,
  addHidden,
  applyPatch,
  Base62,
  BoundedMap,
  bodyErrorMessage,
  boundedText,
  Change,
  Collection,
  type CommitOnce,
  type CommitResult,
  ConfigurationError,
  captureCaller,
  checkVersion,
  clearableFields,
  type DecryptionError,
  defineError,
  type Entry,
  type EntryPage,
  type ErrorDocumentation,
  FairQueue,
  FairSemaphore,
  forEachInPieces,
  formatTimestamp,
  fromWebResponse,
  getRevision,
  hasAtMost,
  hasChecksum,
  Id,
  Ids,
  invalidBody,
  invalidParameter,
  isBaseUrl,
  isOutcomeUnknown,
  KeyBucketName,
  type KeyStorage,
  keepRevision,
  ListedItem,
  type ListedItemJson,
  LongText,
  makeBatches,
  makeDecoder,
  makeKeyedLocks,
  makeResultCodec,
  makeTimeIndex,
  Options,
  omitUndefined,
  optionalFields,
  Page,
  type PageRequest,
  Partition,
  pathName,
  retryOnConflict,
  run,
  runBestEffort,
  type SearchField,
  SecretBox,
  SecureRandom,
  ShortText,
  Store,
  type StoreError,
  searchRecords,
  skipChecks,
  type TimeIndex,
  Timestamp,
  type TollgateErrorMembers,
  type TransportRequest,
  type TransportResponse,
  TrustedClock,
  toPage,
  toSearchTerms,
  withCallerStack,
  withSafeSpan
} from "@tollgate/store/internal"
export type { Authenticator } from "./access/Authenticator.ts"
export { acceptBearer } from "./access/acceptBearer.ts"
export { accountOption, permissionsOption } from "./access/BearerToken.ts"
export { type CallerShape, Permissions, Principal, PrincipalShape, toGrant } from "./access/Principal.ts"
export { parseBearerToken } from "./access/parseBearerToken.ts"
export { canGrant, findUnknown, hasPermission } from "./access/permissions.ts"
export { Accounts } from "./accounts/Accounts.ts"
export { Bytes } from "./accounts/AccountsApi.ts"
export { addBytes, type ByteCounter } from "./accounts/accountBytes.ts"
export { accountRecords } from "./accounts/accountRecords.ts"
export { makeLimitReached } from "./accounts/limits/LimitReached.ts"
export { type LimitDescriptions, Limits, type LimitsShape } from "./accounts/limits/Limits.ts"
export * from "./allErrors.ts"
export type { AnyRequest } from "./api/AnyRequest.ts"
export { Authenticated } from "./api/Authenticated.ts"
export type { CheckMethods, Expect } from "./api/checkMethods.ts"
export { bodyErrors, commonErrors, idempotencyErrors } from "./api/errors.ts"
export { idempotencyKeyHeader, ifMatchHeader } from "./api/headers.ts"
export { implementOperations } from "./api/implementOperations.ts"
export type {
  CallOptions,
  ConditionalCallOptions,
  IdempotentCallOptions,
  Input,
  PageOptions,
  PagePromise,
  Versioned,
  WriteCallOptions
} from "./api/Methods.ts"
export type { Operations } from "./api/Operations.ts"
export {
  Area,
  FurtherPermissions,
  NarrowPermissions,
  Owner,
  PathParameters,
  Permission,
  Portal,
  shortBody
} from "./api/Owner.ts"
export { optional, parameters } from "./api/parameters.ts"
export { noQuery, page, pageNewestFirst } from "./api/query.ts"
export { ignoreUnknown } from "./api/unknownFields.ts"
export { withCsv } from "./api/withCsv.ts"
export { lastEventIdHeader, withEventStream } from "./api/withEventStream.ts"
export { withVersion } from "./api/withVersion.ts"
export { type AppFile, appFilesOption } from "./apps/AppFile.ts"
export { addSettings } from "./apps/addSettings.ts"
export { makeAppRoutes } from "./apps/appRoutes.ts"
export { Brand, isOwnPath } from "./apps/brand.ts"
export { listAllPermissions } from "./assembly/listAllPermissions.ts"
export { type DecisionObserver, DecisionObservers, type ObservedDecision } from "./authorize/DecisionObservers.ts"
export { RefusalReason } from "./authorize/DecisionsApi.ts"
export { acceptsGzip } from "./http/acceptsGzip.ts"
export type { RouteHandler } from "./http/buildRoutes.ts"
export { type Cacheable, makeETag, respondCacheable } from "./http/cacheable.ts"
export { isCrossSite } from "./http/crossSite.ts"
export { Docs, type DocsOption } from "./http/Docs.ts"
export {
  created,
  exampleDigest,
  exampleId,
  generatedDates,
  otherExampleId,
  pageOf,
  updated
} from "./http/docs/examples/common.ts"
export type { GroupExamples } from "./http/docs/examples/Examples.ts"
export { RequestContext } from "./http/RequestContext.ts"
export { RouteNotFound } from "./http/routeErrors.ts"
export type { HostRoutes, ServedRoute } from "./http/routes.ts"
export { Background } from "./jobs/Background.ts"
export { DueWork } from "./jobs/DueWork.ts"
export { HeldWork } from "./jobs/HeldWork.ts"
export { Processes } from "./jobs/Processes.ts"
export { readFirst, removeDue } from "./jobs/removeDue.ts"
export { makeWriteBehind } from "./jobs/writeBehind.ts"
export { KeyBuckets } from "./keys/KeyBuckets.ts"
export { KeyUse } from "./keys/KeyUse.ts"
export { days, hours, resolveRange } from "./metering/history/seriesRange.ts"
export { readCounters } from "./metering/ledger/readUsage.ts"
export { dayMs, hourMs } from "./metering/model/clockSteps.ts"
export { toLines as toCsvLines } from "./metering/model/csv.ts"
export { isLikeId } from "./metering/model/MeteringBucket.ts"
export { toCsv as toUsageCsv } from "./metering/model/UsageSeries.ts"
export { keptDays, keptHours } from "./metering/model/usageCounters.ts"
export {
  type ClientModule,
  defineModule,
  type Module,
  type ModuleParts,
  type ReencryptOutcome
} from "./modules/Module.ts"
export { PublicUrl } from "./modules/PublicUrl.ts"
export { Actor, asSystem, CurrentActor } from "./outbox/CurrentActor.ts"
export { planDrops } from "./outbox/dropOldEvents.ts"
export {
  Event,
  type EventCatalog,
  EventId,
  type EventType,
  type EventTypePattern,
  type EventTypes,
  toPatterns
} from "./outbox/Event.ts"
export { EventRetention } from "./outbox/EventRetention.ts"
export { eventRecords } from "./outbox/eventRecords.ts"
export { makeEvent, recordEvent } from "./outbox/recordEvent.ts"
export type { HandleTools } from "./promises/makeHandles.ts"
export { parseOptions } from "./promises/makeMethods.ts"
export { toPolicy } from "./rateLimits/RateLimit.ts"
export { takeFromLimit } from "./rateLimits/takeFromLimit.ts"
export { ConsumerName } from "./records/Consumer.ts"
export { findConsumer } from "./records/findConsumer.ts"
export type { KeyBucket } from "./records/KeyBucket.ts"
export { getKeyBucketPartition } from "./records/keyBucketPartition.ts"
export { Scopes } from "./records/Scope.ts"
export type { SearchItem, SearchRequest, SearchSource } from "./search/SearchSource.ts"
export type { MeterBridge, TelemetryBridge } from "./telemetry/HostTelemetry.ts"
export { type Attributes, type Instrument, requestSeconds } from "./telemetry/instruments.ts"
export { observeScoped, Telemetry, type TelemetryShape } from "./telemetry/Telemetry.ts"
