/**
 * How often a customer changes something. Each change is an event, and the log of the account has a limited length: without
 * a limit, one customer could push out of it what the others, and the host's own people, have done.
 */
import {
  getKeyBucketPartition,
  type KeyBucket,
  Principal,
  retryOnConflict,
  type Store,
  takeFromLimit,
  toPolicy
} from "@tollgate/core/module"
import { Effect, Option } from "effect"

/** So many changes at once, and then one a minute. */
const changes = toPolicy("portal-changes", { limit: 60, per: "hour", burst: 30 })

/** Runs a change, if the consumer has one left. Callers with permissions of their own are not limited. */
export const makeLimitChange =
  (store: Store["Service"]) =>
  <A, E, R>(params: KeyBucket & { readonly consumerName: string }, change: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const caller = Option.getOrUndefined(yield* Effect.serviceOption(Principal))
      if (caller?.portal !== undefined) {
        yield* retryOnConflict(takeFromLimit(store, getKeyBucketPartition(params), changes, params.consumerName))
      }
      return yield* change
    })
