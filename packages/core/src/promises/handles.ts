/**
 * The handles of the promise API: an account, and what belongs to it. `createTollgate` and `createClient` have the same
 * handles; a key bucket in process can also authorize requests.
 */
import type { CallOptions, WriteCallOptions } from "../api/Methods.ts"
import type { ConsumersMethods } from "../consumers/ConsumersApi.ts"
import type { DeploymentsMethods } from "../deployments/DeploymentsApi.ts"
import type { ProjectsMethods } from "../deployments/ProjectsApi.ts"
import type { SourceContent } from "../deployments/uploads/sourceStream.ts"
import type { EventsMethods } from "../events/EventsApi.ts"
import type { KeyBucketsMethods } from "../keys/KeyBucketsApi.ts"
import type { KeysMethods } from "../keys/KeysApi.ts"
import type { VerificationJson } from "../keys/Verification.ts"
import type { MeteringBucketsMethods } from "../metering/buckets/MeteringBucketsApi.ts"
import type { PlansMethods } from "../metering/plans/PlansApi.ts"
import type { SubscriptionsMethods } from "../metering/subscriptions/SubscriptionsApi.ts"
import type { UsageMethods } from "../metering/usage/UsageApi.ts"
import type { EventJson } from "../outbox/Event.ts"
import type { WebhooksMethods } from "../webhooks/WebhooksApi.ts"

/** A key bucket: consumers and their API keys. */
export interface KeyBucketHandle {
  readonly accountName: string
  readonly bucketName: string
  readonly consumers: ConsumersMethods
  readonly keys: KeysMethods
  /** Checks whether a key is valid, and returns the consumer that it belongs to. No key is an invalid key. */
  verify(key: string | undefined): Promise<VerificationJson>
}

/** A metering bucket: plans, subscriptions and usage. */
export interface MeteringBucketHandle {
  readonly accountName: string
  /** The id of the metering bucket, for `metering: { meteringBucketId }`. */
  readonly id: string
  readonly plans: PlansMethods
  readonly subscriptions: SubscriptionsMethods
  readonly usage: UsageMethods
}

/** The metering buckets of an account. */
export interface MeteringBucketsHandle extends MeteringBucketsMethods {
  /**
   * Returns the metering bucket with this name, and creates it if it does not exist. Safe to call at every start, and in
   * several processes at once.
   */
  ensure(name: string, options?: WriteCallOptions): Promise<MeteringBucketHandle>
}

/** The result of an upload. */
export interface UploadedSource {
  /** The id of the deployment status. */
  readonly id: string
  /** The SHA-256 of the source, in hexadecimal. */
  readonly digest: string
  readonly bytes: number
}

/** A project: branches that are deployed. */
export interface ProjectHandle {
  readonly accountName: string
  readonly projectName: string
  readonly deployments: DeploymentsMethods & {
    /** Uploads a source archive (gzip tar) to a signed upload URL, which authorizes it, and starts the deployment. */
    upload(uploadUrl: string, source: SourceContent, options?: CallOptions): Promise<UploadedSource>
  }
}

export interface FollowOptions extends CallOptions {
  /** Start after the event with this id. Default: with the next event. */
  readonly after?: string | undefined
}

/** The event log of an account: lists and follows what was changed, when, and by whom. */
export interface EventsHandle extends EventsMethods {
  /**
   * Follows the log: returns events as they arrive, oldest first, until you leave the loop or abort `signal`. Remember
   * the id of the last event that you have handled, and pass it as `after` to go on there.
   *
   * @example
   * ```ts
   * const { events } = gate.account("acme")
   * for await (const event of events.follow()) console.log(event.type, event.subject.id)
   * ```
   */
  follow(options?: FollowOptions): AsyncIterable<EventJson>
}

/** An account. Its handles reach what belongs to the account, and nothing else. */
export interface AccountHandle<KeyBucket extends KeyBucketHandle = KeyBucketHandle> {
  readonly accountName: string
  readonly keyBuckets: KeyBucketsMethods
  /** A key bucket of the account. It exists as soon as it has a consumer. Throws if the name is invalid. */
  keyBucket(name: string): KeyBucket
  readonly meteringBuckets: MeteringBucketsHandle
  /** A metering bucket of the account, by its id. */
  meteringBucket(id: string): MeteringBucketHandle
  readonly projects: ProjectsMethods
  /** A project of the account. It exists as soon as it has a deployment. Throws if the name is invalid. */
  project(name: string): ProjectHandle
  /** Who changed what in the account, and when. */
  readonly events: EventsHandle
  /** Endpoints to which the events of the account are sent. */
  readonly webhooks: WebhooksMethods
}
