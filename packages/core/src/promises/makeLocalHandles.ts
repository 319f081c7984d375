/**
 * The handles of a Tollgate in process: the services, behind the same check of owners that HTTP callers pass.
 */
import { Clock, Context, DateTime, Effect } from "effect"
import type { AuthorizeOptions } from "../authorize/AuthorizeOptions.ts"
import { type AuthorizingKeyBucket, type BucketDecisions, bucketDecisions } from "../authorize/BucketDecisions.ts"
import { toSourceStream } from "../deployments/uploads/sourceStream.ts"
import type { Uploads } from "../deployments/uploads/Uploads.ts"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import { type KeyCheck, notVerified, type VerificationJson } from "../keys/Verification.ts"
import { MeteringBucketNotFound } from "../metering/model/MeteringBucketError.ts"
import { encodeQuotas, parseAmounts } from "../metering/model/Quota.ts"
import type { Reservations } from "../metering/reservations/Reservations.ts"
import type { ConsumedMeters } from "../metering/usage/ConsumeResult.ts"
import type { SubscriptionCountError, Usage } from "../metering/usage/Usage.ts"
import type { AllOperations } from "../operations/AllOperations.ts"
import { checkOwner, type Owners } from "../operations/checkOwner.ts"
import { findOperation } from "../operations/findOperation.ts"
import { LimitHomes } from "../rateLimits/LimitHomes.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import type { BackgroundTasks } from "../runtime/BackgroundTasks.ts"
import { makeImmediate } from "../store/HotPath.ts"
import type { StoreOperations } from "../store/Store.ts"
import type { HostContext } from "../telemetry/makeHostContext.ts"
import type { TelemetryShape } from "../telemetry/Telemetry.ts"
import { type AuthorizeResultJson, encodeDecision, makeDecideFor } from "./authorize.ts"
import type { AccountHandle, KeyBucketHandle } from "./handles.ts"
import { makeAccountHandles, makeAccountsMethods } from "./makeHandles.ts"
import type { CallOperation } from "./makeMethods.ts"
import { runPossiblySync } from "./run.ts"

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
  if (!check.valid) return notVerified
  const { expiresOn, ...rest } = check
  return expiresOn === undefined ? rest : { ...rest, expiresOn: DateTime.formatIso(expiresOn) }
}

interface LocalServices {
  readonly store: StoreOperations
  readonly operations: AllOperations
  readonly owners: Owners
  readonly keys: ApiKeys["Service"]
  readonly usage: Usage["Service"]
  readonly reservations: Reservations["Service"]
  readonly uploads: Uploads["Service"]
  readonly telemetry: TelemetryShape
  readonly tasks: BackgroundTasks
  readonly host: HostContext
}

export const makeLocalHandles = ({
  store,
  operations,
  owners,
  keys,
  usage,
  reservations,
  uploads,
  tasks,
  telemetry,
  host
}: LocalServices) => {
  const enter = () => host.withActiveSpan(host.context)
  const limitHomes = new LimitHomes()
  const clock = Context.get(host.context, Clock.Clock)
  /** Without a tracer, a store that answers at once needs no fiber. */
  const immediate = host.isTraced ? undefined : makeImmediate(store, clock)
  const verify = (bucket: KeyBucket, key: string) =>
    immediate === undefined ? keys.verifyKey(bucket, key) : keys.checkKey(bucket, key, immediate)
  const decideFor = makeDecideFor({ store, keys, usage, reservations }, telemetry, enter, immediate)
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
    call,
    makeKeyBucket: (handle, bucket) => {
      const decisions: BucketDecisions = {
        decide: decideFor(bucket),
        context: host.context,
        tasks,
        addLimits: (policies, meteringBucketId) => limitHomes.add(bucket, policies, meteringBucketId),
        rememberKeys: () => {
          keys.recentKeys.enable()
          return (key, scopes) => keys.recentKeys.has(bucket, key, scopes, clock)
        }
      }
      const methods = {
        verify: (key: string | undefined) =>
          runPossiblySync(() => verify(bucket, key ?? ""), enter(), encodeVerification),
        // A value that is not a string is treated like any other malformed key.
        authorize: (key: string | undefined, options?: AuthorizeOptions) =>
          decisions.decide(typeof key === "string" ? key : "", options, encodeDecision)
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
        immediate === undefined
          ? usage.consumeMeters(bucketId, subscriptionId, amounts)
          : usage.consumeOnHotPath(bucketId, subscriptionId, amounts, immediate)
      return runPossiblySync(
        () =>
          Effect.flatMapEager(
            owners.meteringBucket(bucketId),
            (owner): Effect.Effect<ConsumedMeters, SubscriptionCountError> =>
              owner.accountName === accountName ? consume() : Effect.fail(new MeteringBucketNotFound({ bucketId }))
          ),
        enter(),
        ({ quotas }) => encodeQuotas(quotas)
      )
    },
    upload: (url, source) => uploads.receive(url, toSourceStream(source), { transferOwnership: true })
  })
  return { account, accounts: makeAccountsMethods(call) }
}
