/**
 * The handles of the promise API: an account, and what belongs to it. `createTollgate` and `createClient` have the same
 * handles; a key bucket in process can also authorize requests.
 */
import type { CallOptions, WriteCallOptions } from "../api/Methods.ts"
import type { ConsumersMethods } from "../consumers/ConsumersApi.ts"
import type { EventsMethods } from "../events/EventsApi.ts"
import type { KeyBucketsMethods } from "../keys/KeyBucketsApi.ts"
import type { KeysMethods } from "../keys/KeysApi.ts"
import type { VerificationJson } from "../keys/Verification.ts"
import type { AlertsMethods } from "../metering/alerts/AlertsApi.ts"
import type { MeteringBucketsMethods } from "../metering/buckets/MeteringBucketsApi.ts"
import type { GrantsMethods } from "../metering/credits/GrantsApi.ts"
import type { CustomerMethods, CustomersMethods } from "../metering/customers/CustomersApi.ts"
import type { PlansMethods } from "../metering/plans/PlansApi.ts"
import type { SubscriptionsMethods } from "../metering/subscriptions/SubscriptionsApi.ts"
import type { UsageMethods } from "../metering/usage/UsageApi.ts"
import type { EventJson } from "../outbox/Event.ts"
import type { SearchResultsJson } from "../search/SearchApi.ts"

/** The options of `verify`. */
export interface VerifyOptions {
  /** The IP address of the client that sent the key, for keys with `ipAllow`. Without it, they do not pass. */
  readonly ip?: string | undefined
}

/** A key bucket: consumers and their API keys. */
export interface KeyBucketHandle {
  readonly accountName: string
  readonly bucketName: string
  readonly consumers: ConsumersMethods
  readonly keys: KeysMethods
  /** Checks whether a key is valid, and returns the consumer that it belongs to. No key is an invalid key. */
  verify(key: string | undefined, options?: VerifyOptions): Promise<VerificationJson>
}

/** A customer: a `customerKey` with subscriptions. */
export interface CustomerHandle extends CustomerMethods {
  readonly customerKey: string
  /** What the customer gets beyond the allowance of its plans. */
  readonly grants: GrantsMethods
  /** When the customer uses an amount of a meter, or has little left. */
  readonly alerts: AlertsMethods
}

/** A metering bucket: plans, subscriptions, customers and usage. */
export interface MeteringBucketHandle {
  readonly accountName: string
  /**
   * The id of the metering bucket, for `metering: { meteringBucketId }`. A handle by name knows it after its first call: until
   * then, reading it throws.
   */
  readonly id: string
  readonly customers: CustomersMethods
  /**
   * A customer of the metering bucket, by its `customerKey`.
   *
   * @example
   * ```ts
   * await billing.customer("alice").consume({ requests: 1 })
   * ```
   */
  customer(customerKey: string): CustomerHandle
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

/** An account. Its handles reach what belongs to the account, and nothing else. Modules add to it. */
export interface AccountHandle<KeyBucket extends KeyBucketHandle = KeyBucketHandle> {
  readonly accountName: string
  readonly keyBuckets: KeyBucketsMethods
  /**
   * Finds consumers, keys, customers, subscriptions, plans and what modules have by a text of 2 to 32 characters: at most 20,
   * the best first.
   *
   * @example
   * ```ts
   * const { data } = await gate.account("acme").search("jane@")
   * ```
   */
  search(text: string, options?: CallOptions): Promise<SearchResultsJson>
  /** A key bucket of the account. It exists as soon as it has a consumer. Throws if the name is invalid. */
  keyBucket(name: string): KeyBucket
  readonly meteringBuckets: MeteringBucketsHandle
  /**
   * A metering bucket of the account, by its name or its id. A name is looked up by the first call, which creates the metering
   * bucket if it does not exist. Throws if the name is invalid.
   */
  meteringBucket(nameOrId: string): MeteringBucketHandle
  /** Who changed what in the account, and when. */
  readonly events: EventsHandle
}
