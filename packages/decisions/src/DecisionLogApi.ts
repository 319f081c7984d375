/**
 * Declares the operations on decisions. `DecisionLog.ts` implements them.
 */
import {
  AccountName,
  Area,
  Authenticated,
  type CallOptions,
  type CheckMethods,
  ConsumerName,
  ConsumerNotFound,
  type Expect,
  InvalidInput,
  KeyBucketName,
  Owner,
  optional,
  Page,
  type PageOptions,
  type PagePromise,
  pageNewestFirst,
  parameters,
  ShortText,
  Timestamp
} from "@tollgate/core/module"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Outcomes, type OutcomesJson, OutcomesStep } from "./Outcomes.ts"
import { Refusal, type RefusalJson, RefusalReason } from "./Refusal.ts"

const bucketParams = { accountName: AccountName, bucketName: KeyBucketName }
const bucketPath = "/accounts/:accountName/key-buckets/:bucketName"

const reason = optional(RefusalReason, { description: "List only refusals for this reason." })

const RefusalPage = Schema.Struct({
  ...Page(Refusal).fields,
  /** `since` is the time from which on nothing is missing, if all processes have written what they knew. */
  kept: Schema.Struct({ since: Timestamp })
})

const lateness = "Tollgate writes them up to 10 seconds late."

export class DecisionLogApi extends HttpApiGroup.make("decisionLog")
  .add(
    HttpApiEndpoint.get("list", `${bucketPath}/decisions`, {
      params: bucketParams,
      query: parameters({
        ...pageNewestFirst,
        reason,
        requestId: optional(ShortText, { description: "List only the refusal of the request with this id." })
      }),
      success: RefusalPage
    })
      .annotate(OpenApi.Summary, "List refused requests of a key bucket")
      .annotate(
        OpenApi.Description,
        "Returns why requests were refused, newest first. Refusals of one minute with the same key, reason, limit or meter, and " +
          `route are one item with their number, and the ids of the first five and the last five requests. ${lateness} They are kept for 7 days: the last 100 of each consumer, ` +
          "and 1,000 of keys that belong to no consumer, at most 50 of them from one address."
      ),
    HttpApiEndpoint.get("listOfConsumer", `${bucketPath}/consumers/:consumerName/decisions`, {
      params: { ...bucketParams, consumerName: ConsumerName },
      query: parameters({
        ...pageNewestFirst,
        reason,
        keyId: optional(ShortText, { description: "List only refusals of the key with this id." })
      }),
      success: RefusalPage,
      error: [ConsumerNotFound]
    })
      .annotate(OpenApi.Summary, "List refused requests of a consumer")
      .annotate(
        OpenApi.Description,
        `Returns why requests with keys of the consumer were refused, newest first: the last 100 items of 7 days. ${lateness}`
      ),
    HttpApiEndpoint.get("outcomes", `${bucketPath}/outcomes`, {
      params: bucketParams,
      query: parameters({
        step: optional(OutcomesStep, { description: "The length of a step, in UTC. Default: `day`." }),
        from: optional(Timestamp, { description: "Where the series starts. By default it has 30 steps." }),
        to: optional(Timestamp, {
          description: "Where the series ends, exclusive. Default: the end of the present step."
        }),
        consumer: optional(ConsumerName, { description: "Count only requests of this consumer, by day." })
      }),
      success: Outcomes,
      error: [InvalidInput, ConsumerNotFound]
    })
      .annotate(OpenApi.Summary, "Get how many requests were allowed and refused")
      .annotate(
        OpenApi.Description,
        "Returns whole clock hours or days in UTC, oldest first and with zeros in the gaps. By default these are the last 30 " +
          "steps; more than 1,000 get 400. Hours are kept for 8 days, days for 400; of a consumer there are only days. " +
          "Every decision counts, with and without metering, up to 10 seconds late."
      )
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "decisions")
  .annotate(Owner, "account")
  .annotateMerge(
    OpenApi.annotations({
      title: "Decision log",
      description: "Why requests were refused, and how many were allowed and refused."
    })
  ) {}

/** The options of the lists of refusals. */
interface RefusalOptions extends PageOptions {
  /** List only refusals for this reason. */
  readonly reason?: RefusalReason | undefined
}

/** A page of refusals, and since when none is missing. */
export type RefusalPageJson = typeof RefusalPage.Encoded

/** Why requests were refused, and how many were allowed and refused. */
export interface DecisionLogMethods {
  /** Returns a page of the refusals of a key bucket, newest first. Iterate over it to get all pages. */
  list(
    bucketName: string,
    options?: RefusalOptions & {
      /** List only the refusal of the request with this id. */
      readonly requestId?: string | undefined
    }
  ): PagePromise<RefusalJson>
  /** Returns a page of the refusals of a consumer, newest first. Iterate over it to get all pages. */
  listOfConsumer(
    bucketName: string,
    consumerName: string,
    options?: RefusalOptions & {
      /** List only refusals of the key with this id. */
      readonly keyId?: string | undefined
    }
  ): PagePromise<RefusalJson>
  /** Returns how many requests were allowed and refused, by hour or day. */
  outcomes(
    bucketName: string,
    options?: CallOptions & {
      readonly step?: OutcomesStep | undefined
      readonly from?: string | Date | undefined
      readonly to?: string | Date | undefined
      /** Count only requests of this consumer, by day. */
      readonly consumer?: string | undefined
    }
  ): Promise<OutcomesJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof DecisionLogApi, DecisionLogMethods>>
