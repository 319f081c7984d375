/**
 * The handles of a Tollgate in process: the services, behind the same check of owners that HTTP callers pass.
 */

import { type BackgroundTasks, RequestBatches, runPossiblySync, type StoreOperations } from "@tollgate/store/internal"
import { Clock, Context, DateTime, Effect } from "effect"
import { checkOwner, type Owners } from "../api/checkOwner.ts"
import type { OperationDescription } from "../api/describeOperations.ts"
import { findOperation } from "../api/findOperation.ts"
import type { AuthorizeOptions } from "../authorize/AuthorizeOptions.ts"
import { type AuthorizingKeyBucket, type BucketDecisions, bucketDecisions } from "../authorize/BucketDecisions.ts"
import type { DecisionObserver } from "../authorize/DecisionObservers.ts"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import { hideReason, type KeyCheck, type VerificationJson } from "../keys/Verification.ts"
import type { MeteringBuckets } from "../metering/buckets/MeteringBuckets.ts"
import { MeteringBucketNotFound } from "../metering/model/MeteringBucketError.ts"
import { encodeQuotas, parseAmounts } from "../metering/model/Quota.ts"
import type { Reservations } from "../metering/reservations/Reservations.ts"
import type { ConsumedMeters } from "../metering/usage/ConsumeResult.ts"
import type { SubscriptionCountError, Usage } from "../metering/usage/Usage.ts"
import { LimitHomes } from "../rateLimits/LimitHomes.ts"
import { takeFromLimit } from "../rateLimits/takeFromLimit.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import type { HostContext } from "../telemetry/makeHostContext.ts"
import { makeHotPath, measureStore } from "../telemetry/measureStore.ts"
import type { TelemetryShape } from "../telemetry/Telemetry.ts"
import { type AuthorizeResultJson, encodeDecision, makeDecideFor } from "./authorize.ts"
import type { AccountHandle, KeyBucketHandle, VerifyOptions } from "./handles.ts"
import { type HandleProperty, makeAccountHandles, makeAccountsMethods } from "./makeHandles.ts"
import type { CallOperation } from "./makeMethods.ts"

/** A key bucket of a Tollgate in process. */
export interface LocalKeyBucketHandle extends KeyBucketHandle, AuthorizingKeyBucket {
  /**
   * Decides whether a request with this key is allowed, as one decision: the key, its scopes, the subscription,
   * rate limits and quotas. If anything refuses, nothing is taken or counted. Call it for every request that your
   * server protects, or use `requireApiKey`.
   *
   * @example
   * ```ts
   * const decision = await production.authorize(key, { metering: { meteringBucketId: billing.id, meters: { requests: 1 } } })
   * if (!decision.allowed) console.log(decision.reason)
   * ```
   */
  authorize(key: string | undefined, options?: AuthorizeOptions): Promise<AuthorizeResultJson>
}

/** An account, as `gate.account(name)` returns it: its key buckets can also authorize requests. */
export type LocalAccountHandle = AccountHandle<LocalKeyBucketHandle>

/** Encodes by hand: the schema encoder would take longer than the verification itself. */
const encodeVerification = (check: KeyCheck): VerificationJson => {
  if (!check.valid) return hideReason(check)
  const { expiresOn, ...rest } = check
  return expiresOn === undefined ? rest : { ...rest, expiresOn: DateTime.formatIso(expiresOn) }
}

/** The address that a caller gave. Options that throw when they are read give none, as they give no other option. */
const readIp = (options: VerifyOptions | undefined): string | undefined => {
  try {
    return options?.ip
  } catch {
    return undefined
  }
}

interface LocalServices {
  readonly store: StoreOperations
  /** The operations of all modules, what they are and by group. */
  readonly descriptions: ReadonlyArray<OperationDescription>
  readonly operations: Readonly<Record<string, object>>
  readonly owners: Owners
  /** What modules add to the handle of an account. */
  readonly added: Readonly<Record<string, HandleProperty>>
  readonly keys: ApiKeys["Service"]
  readonly meteringBuckets: MeteringBuckets["Service"]
  readonly usage: Usage["Service"]
  readonly reservations: Reservations["Service"]
  readonly telemetry: TelemetryShape
  readonly observers: ReadonlyArray<DecisionObserver>
  readonly tasks: BackgroundTasks
  readonly host: HostContext
}

export const makeLocalHandles = ({
  store,
  descriptions,
  operations,
  owners,
  added,
  keys,
  meteringBuckets: { getAccountName },
  usage,
  reservations,
  tasks,
  telemetry,
  observers,
  host
}: LocalServices) => {
  const enter = () => host.withActiveSpan(host.context)
  const limitHomes = new LimitHomes()
  const batches = new RequestBatches()
  const clock = Context.get(host.context, Clock.Clock)
  /** Without a tracer, a store that answers at once needs no fiber. */
  const hotPath = host.isTraced ? undefined : makeHotPath(store, clock, telemetry)
  const verify = (bucket: KeyBucket, key: string, ip: string | undefined) =>
    hotPath === undefined ? keys.verifyKey(bucket, key, ip) : keys.verifyOnHotPath(bucket, key, hotPath, ip)
  const measured = measureStore(store, telemetry)
  const decideFor = makeDecideFor({ store: measured, keys, usage, reservations }, telemetry, observers, host, hotPath)
  const call: CallOperation = Object.assign(
    (...[description, scope, request]: Parameters<CallOperation>) =>
      Effect.flatMap(
        checkOwner(owners, description, scope, request),
        (request) =>
          findOperation(operations, description)?.(request) ??
          Effect.die(`The operation ${description.id} has no implementation`)
      ),
    { enter }
  )
  const account = makeAccountHandles<LocalKeyBucketHandle>({
    descriptions,
    added,
    call,
    makeKeyBucket: (handle, bucket) => {
      const decisions: BucketDecisions = {
        decide: decideFor(bucket),
        context: host.context,
        tasks,
        batches,
        takeFromLimit: (policy, client) =>
          runPossiblySync(
            takeFromLimit(measured, getKeyBucketPartition(bucket), policy, client),
            enter(),
            (statuses) => statuses
          ),
        addLimits: (policies, meteringBucketId) => limitHomes.add(bucket, policies, meteringBucketId),
        rememberKeys: () => {
          keys.recentKeys.enable()
          return (key, scopes, ip) => keys.recentKeys.has(bucket, key, scopes, clock, ip)
        }
      }
      const methods = {
        verify: (key: string | undefined, options?: VerifyOptions) =>
          runPossiblySync(verify(bucket, key ?? "", readIp(options)), enter(), encodeVerification),
        // A value that is not a string is treated like any other malformed key.
        authorize: (key: string | undefined, options?: AuthorizeOptions) =>
          decisions.decide(typeof key === "string" ? key : "", options, encodeDecision, { ip: readIp(options) })
      }
      // Not enumerable, so that it is not shown with the methods.
      return Object.defineProperty(Object.assign(handle, methods), bucketDecisions, {
        value: decisions
      }) as LocalKeyBucketHandle
    },
    tryConsume: ({ accountName, bucketId }, subscriptionId, meters) => {
      const amounts = parseAmounts(meters)
      if (amounts === undefined || typeof subscriptionId !== "string") return undefined
      const consume = (): Effect.Effect<ConsumedMeters, SubscriptionCountError> =>
        hotPath === undefined
          ? usage.consumeMeters(bucketId, subscriptionId, amounts)
          : usage.consumeOnHotPath(bucketId, subscriptionId, amounts, hotPath)
      return runPossiblySync(
        Effect.flatMapEager(
          getAccountName(bucketId),
          (owner): Effect.Effect<ConsumedMeters, SubscriptionCountError> =>
            owner === accountName ? consume() : Effect.fail(new MeteringBucketNotFound({ bucketId }))
        ),
        enter(),
        ({ quotas }) => encodeQuotas(quotas)
      )
    }
  })
  return { account, accounts: makeAccountsMethods(descriptions, call) }
}
