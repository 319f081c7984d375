/**
 * Makes the handles of the promise API over any way to call operations.
 */

import { AccountName, KeyBucketName, makeDecoder, rejectIfThrows, throwFromCaller } from "@tollgate/store/internal"
import { Effect, Schema } from "effect"
import type { AccountsMethods } from "../accounts/AccountsApi.ts"
import type { OperationDescription } from "../api/describeOperations.ts"
import type { CallOptions, IdempotentCallOptions, WriteCallOptions } from "../api/Methods.ts"
import type { DecisionsMethods } from "../authorize/DecisionsApi.ts"
import type { ConsumersMethods } from "../consumers/ConsumersApi.ts"
import type { EventsMethods } from "../events/EventsApi.ts"
import type { KeyBucketsMethods } from "../keys/KeyBucketsApi.ts"
import type { KeysMethods } from "../keys/KeysApi.ts"
import type { VerificationJson } from "../keys/Verification.ts"
import type { AlertsMethods } from "../metering/alerts/AlertsApi.ts"
import type { MeteringBucketsMethods } from "../metering/buckets/MeteringBucketsApi.ts"
import type { GrantsMethods } from "../metering/credits/GrantsApi.ts"
import type { CustomerMethods, CustomersMethods } from "../metering/customers/CustomersApi.ts"
import type { Amounts, QuotasJson } from "../metering/model/Quota.ts"
import type { PlanCreateInput, PlansMethods } from "../metering/plans/PlansApi.ts"
import type { QuotaMethods, SubscriptionsMethods } from "../metering/subscriptions/SubscriptionsApi.ts"
import type { UsageMethods } from "../metering/usage/UsageApi.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import type { SearchMethods } from "../search/SearchApi.ts"
import { ensureMeteringBucket } from "./ensureMeteringBucket.ts"
import { makeFindBucketId, withId } from "./findBucketId.ts"
import { followEvents } from "./followEvents.ts"
import type { AccountHandle, FollowOptions, KeyBucketHandle, MeteringBucketHandle } from "./handles.ts"
import { withLazyProperty } from "./lazyProperty.ts"
import { type CallOperation, type GetMethods, makeMethods, parseWriteOptions } from "./makeMethods.ts"
import { addPlanDefaults, addSubscriptionDefaults } from "./meteringDefaults.ts"
import { parsePathSegment } from "./pathSegment.ts"

type Verify = (input: { readonly key: string; readonly ip?: string }) => Promise<VerificationJson>

/** The operations on a key that a handle offers in its own way. */
interface KeyBucketOperations extends DecisionsMethods {
  readonly verify: Verify
}

/** What differs between a Tollgate in process and a client. */
export interface HandleImplementation<Handle extends KeyBucketHandle> {
  /** The operations of all modules. */
  readonly descriptions: ReadonlyArray<OperationDescription>
  /** What modules add to the handle of an account. */
  readonly added: Readonly<Record<string, HandleProperty>>
  readonly call: CallOperation
  /** Why calls cannot name their actor, if they cannot. */
  readonly actorProblem?: string
  /** Adds to the handle of a key bucket. `operations` have no fast path. */
  readonly makeKeyBucket: (
    methods: Omit<KeyBucketHandle, "verify">,
    names: KeyBucket,
    operations: KeyBucketOperations
  ) => Handle
  /** Consumes meters without the checks of `usage.consume`; returns `undefined` if the input needs them. */
  readonly tryConsume?: (
    scope: { readonly accountName: AccountName; readonly bucketId: string },
    subscriptionId: string,
    meters: Amounts
  ) => Promise<QuotasJson> | undefined
}

/** What modules make their handles with. */
export interface HandleTools {
  /** The operations of all modules. */
  readonly descriptions: ReadonlyArray<OperationDescription>
  readonly call: CallOperation
  readonly methods: GetMethods
}

/** Makes a property of the handle of an account, on its first use. */
export type HandleProperty = (tools: HandleTools, accountName: AccountName) => unknown

interface VerifyMethod {
  readonly verify: Verify
}

/** The operations on a customer as they are declared. */
interface DeclaredCustomerMethods extends Omit<CustomerMethods, "consume"> {
  consume(input: { readonly meters: Amounts }, options?: IdempotentCallOptions): Promise<QuotasJson>
}

/** The operations on plans as they are declared. */
interface DeclaredPlansMethods extends Omit<PlansMethods, "ensure"> {
  ensure(
    input: { readonly plans: ReadonlyArray<PlanCreateInput> },
    options?: WriteCallOptions
  ): ReturnType<PlansMethods["ensure"]>
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
  bucketName: Schema.optionalKey(KeyBucketName)
})
const decodeNames = makeDecoder(Names, "parameters")

/** Checks the name of a handle once. */
const parseName = <Key extends keyof typeof Names.Type>(key: Key, name: unknown) =>
  Effect.runSync(decodeNames({ [key]: name }))[key] as NonNullable<(typeof Names.Type)[Key]>

/** Makes the methods of all accounts. */
export const makeAccountsMethods = (
  descriptions: ReadonlyArray<OperationDescription>,
  call: CallOperation
): AccountsMethods => makeMethods(descriptions, call)("accounts", {})

/** Makes the function that returns the handle of an account. */
export const makeAccountHandles = <Handle extends KeyBucketHandle>({
  descriptions,
  added,
  call,
  actorProblem,
  makeKeyBucket,
  tryConsume
}: HandleImplementation<Handle>): ((accountName: string) => AccountHandle<Handle>) => {
  const methods = makeMethods(descriptions, call, actorProblem)

  const findBucketId = makeFindBucketId((accountName) => methods<MeteringBucketsMethods>("buckets", { accountName }))

  const makeMeteringBucket = (accountName: AccountName, nameOrId: string): MeteringBucketHandle => {
    const { getId, resolveScope } = findBucketId(accountName, nameOrId)
    // The id of a bucket that is known by its name is resolved when a method is called.
    const scope = { accountName, bucketId: getId() ?? "" }
    const plans = methods<DeclaredPlansMethods>("plans", scope, resolveScope)
    const { quotas, consume, ...subscriptions } = methods<SubscriptionsMethods & DeclaredQuotaMethods>(
      "subscriptions",
      scope,
      resolveScope
    )
    const tryConsumeById = (subscriptionId: string, meters: Amounts) => {
      const bucketId = getId()
      return bucketId === undefined ? undefined : tryConsume?.({ accountName, bucketId }, subscriptionId, meters)
    }
    const handle = {
      accountName,
      plans: {
        ...plans,
        create: async (input, options) => plans.create(addPlanDefaults(input), options),
        ensure: async (inputs, options) =>
          plans.ensure({ plans: Array.isArray(inputs) ? inputs.map(addPlanDefaults) : inputs }, options)
      },
      subscriptions: {
        ...subscriptions,
        create: async (input, options) => {
          // Before the plans are read.
          const { signal, values } = parseWriteOptions(options, actorProblem)
          return subscriptions.create(await addSubscriptionDefaults(plans, input, values, signal), options)
        }
      },
      customers: { list: methods<CustomersMethods>("customers", { ...scope, customerKey: "" }, resolveScope).list },
      customer: (key) => {
        const customerKey = parsePathSegment("customerKey", key)
        const { consume, ...customer } = methods<DeclaredCustomerMethods>(
          "customers",
          { ...scope, customerKey },
          resolveScope
        )
        const { get, reserve, settle, adjust, changePlan, cancel, withdrawPendingChange, series } = customer
        return {
          customerKey,
          ...{ get, reserve, settle, adjust, changePlan, cancel, withdrawPendingChange, series },
          consume: (meters, options) => consume({ meters }, options),
          grants: methods<GrantsMethods>("grants", { ...scope, customerKey }, resolveScope),
          alerts: methods<AlertsMethods>("alerts", { ...scope, customerKey }, resolveScope)
        }
      },
      usage: {
        ...methods<Omit<UsageMethods, keyof QuotaMethods>>("usage", scope, resolveScope),
        quotas,
        consume: (subscriptionId, meters, options) =>
          rejectIfThrows(
            () =>
              (options === undefined ? tryConsumeById(subscriptionId, meters) : undefined) ??
              consume(subscriptionId, { meters }, options)
          )
      }
    } satisfies Omit<MeteringBucketHandle, "id">
    return withId(handle, nameOrId, getId)
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
    return makeKeyBucket(withKeys, scope, {
      verify: (input) => getKeys().verify(input),
      authorize: (input, options) => methods<DecisionsMethods>("decisions", scope).authorize(input, options)
    })
  }

  const getAccount = (name: string): AccountHandle<Handle> => {
    const accountName = throwFromCaller(getAccount, () => parseName("accountName", name))
    const keyBucket = (name: string): Handle =>
      makeKeyBucketHandle(
        accountName,
        throwFromCaller(keyBucket, () => parseName("bucketName", name))
      )
    const meteringBucket = (nameOrId: string): ReturnType<typeof makeMeteringBucket> =>
      throwFromCaller(meteringBucket, () => makeMeteringBucket(accountName, nameOrId))
    const account = {
      accountName,
      search: (text: string, options?: CallOptions) =>
        methods<SearchMethods>("search", { accountName }).find({ ...options, q: text }),
      keyBucket,
      meteringBucket
    }
    const withMeteringBuckets = withLazyProperty(account, "meteringBuckets", () =>
      makeMeteringBuckets(accountName, meteringBucket)
    )
    const withKeyBuckets = withLazyProperty(withMeteringBuckets, "keyBuckets", () =>
      methods<KeyBucketsMethods>("keyBuckets", { accountName })
    )
    const withEvents = withLazyProperty(withKeyBuckets, "events", () => {
      const events = methods<EventsMethods>("events", { accountName })
      return { ...events, follow: (options?: FollowOptions) => followEvents(events, options) }
    })
    const tools = { descriptions, call, methods }
    for (const [property, make] of Object.entries(added)) {
      withLazyProperty(withEvents, property, () => make(tools, accountName))
    }
    return withEvents
  }
  return getAccount
}
