/**
 * Makes the handles of the promise API over any way to call operations.
 */
import { Effect, Schema } from "effect"
import type { AccountsMethods } from "../accounts/AccountsApi.ts"
import type { CallOptions, IdempotentCallOptions, WriteCallOptions } from "../api/Methods.ts"
import type { ConsumersMethods } from "../consumers/ConsumersApi.ts"
import type { DeploymentsMethods } from "../deployments/DeploymentsApi.ts"
import { UploadForbidden } from "../deployments/model/DeploymentError.ts"
import type { ProjectsMethods } from "../deployments/ProjectsApi.ts"
import type { SourceContent } from "../deployments/uploads/sourceStream.ts"
import type { SignedUploadUrl } from "../deployments/uploads/Uploads.ts"
import type { EventsMethods } from "../events/EventsApi.ts"
import type { KeyBucketsMethods } from "../keys/KeyBucketsApi.ts"
import type { KeysMethods } from "../keys/KeysApi.ts"
import type { VerificationJson } from "../keys/Verification.ts"
import type { MeteringBucketsMethods } from "../metering/buckets/MeteringBucketsApi.ts"
import type { Amounts, QuotasJson } from "../metering/model/Quota.ts"
import type { PlansMethods } from "../metering/plans/PlansApi.ts"
import type { QuotaMethods, SubscriptionsMethods } from "../metering/subscriptions/SubscriptionsApi.ts"
import type { UsageMethods } from "../metering/usage/UsageApi.ts"
import { descriptions } from "../operations/AllOperations.ts"
import type { CallerScope } from "../operations/checkOwner.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { makeDecoder } from "../schema/decodeInput.ts"
import { AccountName, KeyBucketName, ProjectName } from "../schema/Names.ts"
import type { WebhooksMethods } from "../webhooks/WebhooksApi.ts"
import { ensureMeteringBucket } from "./ensureMeteringBucket.ts"
import { followEvents } from "./followEvents.ts"
import type {
  AccountHandle,
  FollowOptions,
  KeyBucketHandle,
  MeteringBucketHandle,
  ProjectHandle,
  UploadedSource
} from "./handles.ts"
import { withLazyProperty } from "./lazyProperty.ts"
import { type CallOperation, makeMethods, parseOptions, parseWriteOptions } from "./makeMethods.ts"
import { addPlanDefaults, addSubscriptionDefaults } from "./meteringDefaults.ts"
import { parsePathSegment } from "./pathSegment.ts"
import { captureCaller, rejectIfThrows, run, withCallerStack } from "./run.ts"

type Verify = (input: { readonly key: string }) => Promise<VerificationJson>

/** What differs between a Tollgate in process and a client. */
export interface HandleImplementation<Handle extends KeyBucketHandle> {
  readonly call: CallOperation
  /** Why calls cannot name their actor, if they cannot. */
  readonly actorProblem?: string
  /** Adds to the handle of a key bucket. `verify` is the operation, without a fast path. */
  readonly makeKeyBucket: (methods: Omit<KeyBucketHandle, "verify">, names: KeyBucket, verify: Verify) => Handle
  /** Consumes meters without the checks of `usage.consume`; returns `undefined` if the input needs them. */
  readonly tryConsume?: (
    scope: { readonly accountName: AccountName; readonly bucketId: string },
    subscriptionId: string,
    meters: Amounts
  ) => Promise<QuotasJson> | undefined
  readonly upload: (url: SignedUploadUrl, source: SourceContent) => Effect.Effect<UploadedSource, unknown>
}

interface VerifyMethod {
  readonly verify: Verify
}

/** The operations on quotas as they are declared. */
interface DeclaredQuotaMethods extends Pick<QuotaMethods, "quotas"> {
  consume(
    subscriptionId: string,
    input: { readonly meters: Amounts },
    options?: IdempotentCallOptions
  ): Promise<QuotasJson>
}

const Names = Schema.Struct({
  accountName: Schema.optionalKey(AccountName),
  bucketName: Schema.optionalKey(KeyBucketName),
  projectName: Schema.optionalKey(ProjectName)
})
const decodeNames = makeDecoder(Names, "parameters")

/** Checks the name of a handle once. */
const parseName = <Key extends keyof typeof Names.Type>(key: Key, name: unknown) =>
  Effect.runSync(decodeNames({ [key]: name }))[key] as NonNullable<(typeof Names.Type)[Key]>

/** Parses the id, expiry and signature of an upload URL. */
const parseUploadUrl = (uploadUrl: string): Effect.Effect<SignedUploadUrl, UploadForbidden> => {
  const url = typeof uploadUrl === "string" && URL.canParse(uploadUrl) ? new URL(uploadUrl) : undefined
  const [, id] = /\/v1\/uploads\/([^/]+)\.tar\.gz$/.exec(url?.pathname ?? "") ?? []
  if (url === undefined || id === undefined) return Effect.fail(new UploadForbidden())
  const { searchParams } = url
  return Effect.succeed({
    id,
    expires: searchParams.get("expires") ?? "",
    signature: searchParams.get("signature") ?? ""
  })
}

/** Makes the methods of all accounts. */
export const makeAccountsMethods = (call: CallOperation): AccountsMethods =>
  makeMethods(descriptions, "accounts", call, {})

/** Makes the function that returns the handle of an account. */
export const makeAccountHandles = <Handle extends KeyBucketHandle>({
  call,
  actorProblem,
  makeKeyBucket,
  tryConsume,
  upload
}: HandleImplementation<Handle>): ((accountName: string) => AccountHandle<Handle>) => {
  const methods = <Methods>(group: string, scope: CallerScope & Readonly<Record<string, string>>): Methods =>
    makeMethods(descriptions, group, call, scope, actorProblem)

  const makeMeteringBucket = (accountName: AccountName, id: string): MeteringBucketHandle => {
    const scope = { accountName, bucketId: id }
    const plans = methods<PlansMethods>("plans", scope)
    const { quotas, consume, ...subscriptions } = methods<SubscriptionsMethods & DeclaredQuotaMethods>(
      "subscriptions",
      scope
    )
    return {
      accountName,
      id,
      plans: { ...plans, create: async (input, options) => plans.create(addPlanDefaults(input), options) },
      subscriptions: {
        ...subscriptions,
        create: async (input, options) => {
          // Before the plans are read.
          const { signal, values } = parseWriteOptions(options, actorProblem)
          return subscriptions.create(await addSubscriptionDefaults(plans, input, values, signal), options)
        }
      },
      usage: {
        ...methods<Omit<UsageMethods, keyof QuotaMethods>>("usage", scope),
        quotas,
        consume: (subscriptionId, meters, options) =>
          rejectIfThrows(
            () =>
              (options === undefined ? tryConsume?.(scope, subscriptionId, meters) : undefined) ??
              consume(subscriptionId, { meters }, options)
          )
      }
    }
  }

  const makeProject = (accountName: AccountName, projectName: ProjectName): ProjectHandle => {
    const uploadSource = (uploadUrl: string, source: SourceContent, options?: CallOptions) => {
      const start = async () => {
        const { signal } = parseOptions(options)
        return run(
          Effect.flatMap(parseUploadUrl(uploadUrl), (url) => upload(url, source)),
          signal,
          call.enter?.()
        )
      }
      return withCallerStack(start(), captureCaller(uploadSource))
    }
    return {
      accountName,
      projectName,
      deployments: { ...methods<DeploymentsMethods>("deployments", { accountName, projectName }), upload: uploadSource }
    }
  }

  const makeMeteringBuckets = (accountName: AccountName, getHandle: (id: string) => MeteringBucketHandle) => {
    const meteringBuckets = methods<MeteringBucketsMethods>("buckets", { accountName })
    return {
      ...meteringBuckets,
      ensure: async (name: string, options?: WriteCallOptions) => {
        // Before the buckets are read.
        const { values, ...rest } = parseWriteOptions(options, actorProblem)
        return getHandle(await ensureMeteringBucket(meteringBuckets, name, { ...values, ...rest }))
      }
    }
  }

  const makeKeyBucketHandle = (accountName: AccountName, bucketName: KeyBucketName): Handle => {
    const scope = { accountName, bucketName }
    const getKeys = () => methods<KeysMethods & VerifyMethod>("keys", scope)
    const withConsumers = withLazyProperty({ ...scope }, "consumers", () =>
      methods<ConsumersMethods>("consumers", scope)
    )
    const withKeys = withLazyProperty(withConsumers, "keys", () => {
      const { verify: _, ...keys } = getKeys()
      return keys
    })
    return makeKeyBucket(withKeys, scope, (input) => getKeys().verify(input))
  }

  return (name) => {
    const accountName = parseName("accountName", name)
    const meteringBucket = (id: string) => makeMeteringBucket(accountName, parsePathSegment("meteringBucketId", id))
    const account = {
      accountName,
      keyBucket: (name: string) => makeKeyBucketHandle(accountName, parseName("bucketName", name)),
      meteringBucket,
      project: (name: string) => makeProject(accountName, parseName("projectName", name))
    }
    const withMeteringBuckets = withLazyProperty(account, "meteringBuckets", () =>
      makeMeteringBuckets(accountName, meteringBucket)
    )
    const withKeyBuckets = withLazyProperty(withMeteringBuckets, "keyBuckets", () =>
      methods<KeyBucketsMethods>("keyBuckets", { accountName })
    )
    const withProjects = withLazyProperty(withKeyBuckets, "projects", () =>
      methods<ProjectsMethods>("projects", { accountName })
    )
    const withWebhooks = withLazyProperty(withProjects, "webhooks", () =>
      methods<WebhooksMethods>("webhooks", { accountName })
    )
    return withLazyProperty(withWebhooks, "events", () => {
      const events = methods<EventsMethods>("events", { accountName })
      return { ...events, follow: (options?: FollowOptions) => followEvents(events, options) }
    })
  }
}
