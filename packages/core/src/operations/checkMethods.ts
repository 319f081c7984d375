/**
 * Checks the documented interfaces of the promise API against the declarations. Nothing here exists at run time: a
 * missing method, a missing option, or a result of another type does not compile.
 */
import type { Brand, DateTime, Schema } from "effect"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { AccountsApi, AccountsMethods } from "../accounts/AccountsApi.ts"
import type { AccessApi, AccessMethods } from "../api/AccessApi.ts"
import type { OperationRequest, OperationResult } from "../api/Operations.ts"
import type { WithRateLimits } from "../api/withRateLimits.ts"
import type { ConsumersApi, ConsumersMethods } from "../consumers/ConsumersApi.ts"
import type { DeploymentsApi, DeploymentsMethods } from "../deployments/DeploymentsApi.ts"
import type { ProjectsApi, ProjectsMethods } from "../deployments/ProjectsApi.ts"
import type { EventsApi, EventsMethods } from "../events/EventsApi.ts"
import type { KeyBucketsApi, KeyBucketsMethods } from "../keys/KeyBucketsApi.ts"
import type { KeysApi, KeysMethods } from "../keys/KeysApi.ts"
import type { MeteringBucketsApi, MeteringBucketsMethods } from "../metering/buckets/MeteringBucketsApi.ts"
import type { PlansApi, PlansMethods } from "../metering/plans/PlansApi.ts"
import type {
  QuotaMethods,
  SubscriptionsApi,
  SubscriptionsMethods
} from "../metering/subscriptions/SubscriptionsApi.ts"
import type { UsageApi, UsageMethods } from "../metering/usage/UsageApi.ts"
import type { Entry } from "../store/Collection.ts"
import type { WebhooksApi, WebhooksMethods } from "../webhooks/WebhooksApi.ts"

/** What a value is as plain JSON. */
export type Plain<T> = [Schema.Json] extends [T] ? T : PlainEach<T>
type PlainEach<T> = T extends DateTime.DateTime
  ? string
  : T extends string & Brand.Brand<string>
    ? string
    : T extends ReadonlyArray<infer Item>
      ? ReadonlyArray<Plain<Item>>
      : T extends object
        ? { readonly [Key in keyof T]: Plain<T[Key]> }
        : T

type Result<E extends HttpApiEndpoint.Constraint> =
  OperationResult<E> extends Entry<infer Item>
    ? Plain<Item> & { readonly version: number }
    : OperationResult<E> extends WithRateLimits<infer Item>
      ? Plain<Item>
      : Plain<OperationResult<E>>

/** Parameters that a handle knows are not options. */
type HandleParameterName = "accountName" | "projectName"

type ParameterNames<Request, Part extends string> = Part extends keyof Request
  ? keyof NonNullable<Request[Part]>
  : never

type OptionNames<E extends HttpApiEndpoint.ConstraintRequest> =
  | Exclude<
      ParameterNames<OperationRequest<E>, "query"> | ParameterNames<OperationRequest<E>, "headers">,
      HandleParameterName
    >
  | "signal"

/** An option of every call that changes something. It is not a parameter of the operation. */
type CommonOptionName = "actor"

/** The options are the last argument. */
type LastArgument<Args extends ReadonlyArray<unknown>> =
  Required<Args> extends readonly [...infer _, infer Last] ? NonNullable<Last> : never

type AnyMethod = (...args: never) => PromiseLike<unknown>

/** `true`, or what is wrong. */
type CheckMethod<E extends HttpApiEndpoint.ConstraintRequest, M extends AnyMethod> =
  Exclude<OptionNames<E>, keyof LastArgument<Parameters<M>>> extends infer Missing
    ? [Missing] extends [never]
      ? [Exclude<keyof LastArgument<Parameters<M>>, OptionNames<E> | CommonOptionName>] extends [never]
        ? Result<E> extends Awaited<ReturnType<M>>
          ? true
          : { readonly resultShouldBe: Result<E> }
        : { readonly unknownOption: Exclude<keyof LastArgument<Parameters<M>>, OptionNames<E>> }
      : { readonly missingOption: Missing }
    : never

/** Methods that are written by hand, because they differ from the operation. */
type WrittenByHand = "verify" | "consume"

type CheckMethods<Group extends HttpApiGroup.Constraint, Methods> = {
  readonly [Id in Exclude<keyof Group["endpoints"], WrittenByHand>]: Id extends keyof Methods
    ? Group["endpoints"][Id] extends HttpApiEndpoint.ConstraintRequest
      ? Methods[Id] extends AnyMethod
        ? CheckMethod<Group["endpoints"][Id], Methods[Id]>
        : "not a method"
      : never
    : "missing method"
}

type Expect<T extends Readonly<Record<string, true>>> = T

/** Exported so that the compiler evaluates it. */
export type MethodChecks = [
  Expect<CheckMethods<typeof AccessApi, AccessMethods>>,
  Expect<CheckMethods<typeof AccountsApi, AccountsMethods>>,
  Expect<CheckMethods<typeof KeyBucketsApi, KeyBucketsMethods>>,
  Expect<CheckMethods<typeof ProjectsApi, ProjectsMethods>>,
  Expect<CheckMethods<typeof ConsumersApi, ConsumersMethods>>,
  Expect<CheckMethods<typeof KeysApi, KeysMethods>>,
  Expect<CheckMethods<typeof MeteringBucketsApi, MeteringBucketsMethods>>,
  Expect<CheckMethods<typeof PlansApi, PlansMethods>>,
  Expect<CheckMethods<typeof SubscriptionsApi, SubscriptionsMethods & Pick<QuotaMethods, "quotas">>>,
  Expect<CheckMethods<typeof UsageApi, UsageMethods>>,
  Expect<CheckMethods<typeof DeploymentsApi, DeploymentsMethods>>,
  Expect<CheckMethods<typeof EventsApi, EventsMethods>>,
  Expect<CheckMethods<typeof WebhooksApi, WebhooksMethods>>
]
