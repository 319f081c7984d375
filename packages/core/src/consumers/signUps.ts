/**
 * Creates a consumer together with its subscription: an intent, then the subscription, then the consumer with its keys, whose
 * commit removes the intent. So no key exists without its subscription. A call that died or failed is undone: first the
 * intent says so, so that the consumer cannot be created any more, and then the subscription is removed.
 */

import {
  AllowedShare,
  type Change,
  Ids,
  Partition,
  retryOnConflict,
  Store,
  type StoreConflict,
  StoreUnavailable,
  TrustedClock
} from "@tollgate/store/internal"
import { DateTime, Effect, Option, Schema } from "effect"
import { DueWork } from "../jobs/DueWork.ts"
import { MeteringBuckets } from "../metering/buckets/MeteringBuckets.ts"
import { isLikeId, MeteringBucketName } from "../metering/model/MeteringBucket.ts"
import { MeteringBucketNotFound } from "../metering/model/MeteringBucketError.ts"
import {
  type NewSubscription,
  type Subscription,
  SubscriptionId,
  subscriptionDefaults
} from "../metering/model/Subscription.ts"
import { SubscriptionExternalIdTaken } from "../metering/model/SubscriptionError.ts"
import { Subscriptions } from "../metering/subscriptions/Subscriptions.ts"
import { asSystem } from "../outbox/CurrentActor.ts"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import type { CreatedConsumer, SignUpSubscription } from "./ConsumerCreate.ts"
import {
  assertNotUndone,
  isOfSignUp,
  isUndoneConflict,
  markUndone,
  readFirstIntents,
  type SignUpIntent,
  signUpIntents,
  signUpLifetime
} from "./signUpIntents.ts"

const signUpsJob = { name: "sign-ups" }

const isOld = ({ startedOn, isUndone }: SignUpIntent, now: DateTime.Utc): boolean =>
  isUndone === true || DateTime.isLessThanOrEqualTo(DateTime.addDuration(startedOn, signUpLifetime), now)

/** The error of a call that took so long that its sign-up was undone. */
export const toSignUpUndone = (conflict: StoreConflict): StoreUnavailable | undefined =>
  isUndoneConflict(conflict)
    ? new StoreUnavailable({
        outcome: "not-applied",
        problem: "the sign-up took too long",
        detail: "The sign-up took longer than 60 seconds and was undone. Nothing is left of it: try again."
      })
    : undefined

const toCreated = ({ id, customerKey, planExternalIds, status }: Subscription, meteringBucketId: string) => ({
  id,
  meteringBucketId,
  customerKey,
  planExternalIds,
  status
})

const toPending = ({ subscriptionExternalId }: SubscriptionExternalIdTaken): SubscriptionExternalIdTaken =>
  new SubscriptionExternalIdTaken({
    subscriptionExternalId,
    detail:
      `A sign-up on the way has the subscriptionExternalId "${subscriptionExternalId}". If its call has died, it is undone ` +
      "60 seconds after it began: try again then."
  })

/** The consumer of a sign-up, without its subscription. */
interface SignUp {
  readonly bucket: KeyBucket
  readonly customerKey: string
  readonly subscription: SignUpSubscription
}

type CreatedSubscription = NonNullable<CreatedConsumer["subscription"]>

/** Registers the work that undoes sign-ups of calls that died. */
export const makeSignUps = Effect.gen(function* () {
  const store = yield* Store
  const dueWork = yield* DueWork
  const trustedClock = yield* TrustedClock
  const subscriptions = yield* Subscriptions
  const meteringBuckets = yield* MeteringBuckets

  const removeSubscription = (subscriptionId: SubscriptionId, bucketId: string) =>
    retryOnConflict(
      Effect.gen(function* () {
        yield* store.commit(Partition.forMeteringBucket(bucketId), yield* markUndone(subscriptionId, bucketId))
        yield* asSystem(subscriptions.remove({ params: { bucketId, subscriptionId } }))
      })
    ).pipe(Effect.catchTags({ SubscriptionNotFound: () => Effect.void, MeteringBucketNotFound: () => Effect.void }))

  /** Undoes a sign-up, unless its consumer was created. Each step can be repeated by another process. */
  const undo = (partition: Partition.Partition, subscriptionId: SubscriptionId) =>
    retryOnConflict(
      Effect.gen(function* () {
        const found = yield* signUpIntents.get(partition, subscriptionId)
        if (Option.isNone(found)) return
        let entry = found.value
        if (entry.value.isUndone !== true) {
          const value = { ...entry.value, isUndone: true }
          const commitResult = yield* store.commit(partition, [signUpIntents.replace(entry, value)])
          entry = { value, version: signUpIntents.getVersion(commitResult, subscriptionId) }
        }
        yield* removeSubscription(subscriptionId, entry.value.meteringBucketId)
        yield* store.commit(partition, [signUpIntents.remove(entry)])
      })
    ).pipe(Effect.provideService(AllowedShare, Number.POSITIVE_INFINITY), Effect.provideService(Store, store))

  /** Undoes the sign-ups of a key bucket whose calls have died. Returns when the next one may have. */
  const undoOld = Effect.fnUntraced(function* (partition: Partition.Partition) {
    for (;;) {
      const now = yield* trustedClock.now
      const intents = (yield* readFirstIntents(partition)).map(({ value }) => value)
      const old = intents.filter((intent) => isOld(intent, now))
      if (old.length === 0) {
        const [first, ...others] = intents.map(({ startedOn }) => DateTime.addDuration(startedOn, signUpLifetime))
        return first && others.reduce(DateTime.min, first)
      }
      // One that cannot be undone does not keep the others.
      const exits = yield* Effect.forEach(old, ({ subscriptionId }) => Effect.exit(undo(partition, subscriptionId)))
      yield* Effect.all(exits)
    }
  })
  yield* dueWork.register({
    ...signUpsJob,
    run: (partition) => Effect.provideService(undoOld(partition), Store, store)
  })

  /** The id of a metering bucket of the account. */
  const findBucketId = Effect.fnUntraced(function* (accountName: KeyBucket["accountName"], nameOrId: string) {
    const notFound = new MeteringBucketNotFound({
      bucketId: nameOrId,
      detail: `The account has no metering bucket with the name or the id "${nameOrId}"`
    })
    if (isLikeId(nameOrId)) {
      const owner = yield* meteringBuckets.getAccountName(nameOrId)
      return owner === accountName ? nameOrId : yield* notFound
    }
    if (!Schema.is(MeteringBucketName)(nameOrId)) return yield* notFound
    const { data } = yield* meteringBuckets.list({ query: { accountName, name: nameOrId, limit: 1, offset: 0 } })
    return data[0]?.id ?? (yield* notFound)
  })

  /**
   * Creates the subscription of a new consumer, and then the consumer: `commit` does so, with a change that removes the intent
   * of the sign-up. `check` fails if the consumer cannot be created, before anything is written.
   */
  const signUp = Effect.fnUntraced(function* <A, E extends { readonly _tag: string }, CheckError, R>(
    { bucket, customerKey, subscription: { meteringBucket, ...fields } }: SignUp,
    check: Effect.Effect<void, CheckError, R>,
    commit: (removeIntent: Change, subscription: CreatedSubscription) => Effect.Effect<A, E, R>
  ) {
    const partition = getKeyBucketPartition(bucket)
    const bucketId = yield* findBucketId(bucket.accountName, meteringBucket)
    const id = SubscriptionId.make(yield* Ids.generate("sbsc"))
    const input: NewSubscription = {
      ...subscriptionDefaults,
      customerExternalId: customerKey,
      subscriptionExternalId: id,
      ...fields,
      customerKey
    }
    yield* Effect.catchTag(subscriptions.checkNew(bucketId, input), "SubscriptionExternalIdTaken", (error) =>
      Effect.flatMap(isOfSignUp(partition, bucketId, input.subscriptionExternalId), (isPending) =>
        Effect.fail(isPending ? toPending(error) : error)
      )
    )
    yield* check
    const startedOn = yield* trustedClock.now
    const dueOn = DateTime.addDuration(startedOn, signUpLifetime)
    yield* dueWork.ensure(signUpsJob, partition, Effect.succeed(bucket.accountName), dueOn)
    const { subscriptionExternalId } = input
    const intent: SignUpIntent = { subscriptionId: id, meteringBucketId: bucketId, subscriptionExternalId, startedOn }
    const commitResult = yield* store.commit(partition, [signUpIntents.insert(intent)])
    const removeIntent = signUpIntents.remove({
      value: intent,
      version: signUpIntents.getVersion(commitResult, id)
    })
    const guards = [assertNotUndone(id)]
    return yield* subscriptions.createWith(bucketId, input, { id, guards }).pipe(
      Effect.catchTag("StoreConflict", (conflict) => Effect.fail(toSignUpUndone(conflict) ?? conflict)),
      Effect.flatMap(({ value }) => commit(removeIntent, toCreated(value, bucketId))),
      // If the commit may have been applied, or the store is still away, the background work does so.
      Effect.tapError((error) =>
        error instanceof StoreUnavailable && error.outcome === "unknown"
          ? Effect.void
          : Effect.ignore(undo(partition, id))
      )
    )
  })

  return { signUp }
})
