/**
 * Makes a request that is sent twice happen once. What it answered is remembered for a day, sealed, because it may
 * hold key values.
 */
import { Effect, Schema } from "effect"
import type { KeyVault } from "../keys/KeyVault.ts"
import type { Partition } from "../store/Partition.ts"
import type { Change, Committed, StoreOperations } from "../store/Store.ts"
import type { StoreConflict, StoreUnavailable } from "../store/StoreError.ts"

/**
 * A request with an Idempotency-Key: what names it (caller, operation and key), and what it says. Neither is stored as it
 * is, since a body may hold a key value: only keyed digests of both are.
 */
export interface Idempotency {
  readonly id: string
  readonly fingerprint: string
}

/** The same key was used for another request. */
export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()("IdempotencyKeyReused", {}) {
  override get message(): string {
    return "This Idempotency-Key was used for another request; use a new one"
  }
}

/** The request was done, but its answer can no longer be read: the secret is gone, or another release wrote it. */
export class AnswerForgotten extends Schema.TaggedError<AnswerForgotten>()("AnswerForgotten", {}) {
  override get message(): string {
    return "This request was done before, and its answer is no longer known; read what it made"
  }
}

export type OnceError = IdempotencyKeyReused | AnswerForgotten

const day = 24 * 60 * 60 * 1000

export interface OnceCommitted<A> extends Committed {
  /** What was answered the first time, if this is a repetition. */
  readonly earlier?: A
}

const isStoreFault = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  (error._tag === "StoreUnavailable" || error._tag === "RecordUnreadable")

/** Looks a replay up: its condition never holds, so that the commit succeeds only as a replay and writes nothing. */
const never: Change = { _tag: "Check", key: "never", expect: 1 }

/** Commits that remember their answer; a repetition gives what was answered before. */
export const commitOnce = <A, I>(store: StoreOperations, vault: KeyVault["Service"], schema: Schema.Codec<A, I>) => {
  const json = Schema.fromJsonString(schema)
  const encode = Schema.encodeSync(json)
  const decode = Schema.decodeUnknownEffect(json)
  const identityOf = (partition: Partition, id: string) => `${partition} once ${id}`

  /** What a request is remembered under: by the newest secret first, and by those that are being replaced. */
  const keyed = ({ id, fingerprint }: Idempotency): ReadonlyArray<Idempotency> => {
    const fingerprints = vault.identify(`idempotent request ${fingerprint}`)
    return vault.identify(`idempotency key ${id}`).map((id, index) => ({ id, fingerprint: fingerprints[index] ?? "" }))
  }

  const reopened = Effect.fnUntraced(function* (
    partition: Partition,
    { id, fingerprint }: Idempotency,
    committed: Committed
  ): Effect.fn.Return<OnceCommitted<A>, OnceError> {
    if (committed.replayed === undefined) return committed
    if (committed.replayed.fingerprint !== fingerprint) return yield* new IdempotencyKeyReused()
    const opened = yield* Effect.mapError(
      vault.open(committed.replayed.answer, identityOf(partition, id)),
      () => new AnswerForgotten()
    )
    const earlier = yield* Effect.mapError(decode(opened), () => new AnswerForgotten())
    return { ...committed, earlier }
  })

  const commitAs = Effect.fnUntraced(function* (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency,
    answer: A
  ): Effect.fn.Return<OnceCommitted<A>, StoreConflict | StoreUnavailable | OnceError> {
    const { id, fingerprint } = idempotency
    const sealed = yield* vault.seal(encode(answer), identityOf(partition, id))
    const once = { id, fingerprint, answer: sealed, ttl: day }
    return yield* reopened(partition, idempotency, yield* store.commit(partition, changes, once))
  })

  const commitKeyed = Effect.fnUntraced(function* (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency,
    answer: A
  ): Effect.fn.Return<OnceCommitted<A>, StoreConflict | StoreUnavailable | OnceError> {
    const [newest = idempotency, ...older] = keyed(idempotency)
    return (yield* lookUp(partition, older)) ?? (yield* commitAs(partition, changes, newest, answer))
  })

  const commit = (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency | undefined,
    answer: A
  ): Effect.Effect<OnceCommitted<A>, StoreConflict | StoreUnavailable | OnceError> =>
    idempotency === undefined ? store.commit(partition, changes) : commitKeyed(partition, changes, idempotency, answer)

  /** What was answered to the request before, under one of these identities. */
  const lookUp = Effect.fnUntraced(function* (partition: Partition, identities: ReadonlyArray<Idempotency>) {
    for (const identity of identities) {
      const once = { id: identity.id, fingerprint: "", answer: "", ttl: day }
      const committed = yield* Effect.catchTag(store.commit(partition, [never], once), "StoreConflict", () =>
        Effect.succeed(undefined)
      )
      if (committed !== undefined) return yield* reopened(partition, identity, committed)
    }
    return undefined
  })

  const asked = (partition: Partition, idempotency: Idempotency) => lookUp(partition, keyed(idempotency))

  const recall = (
    partition: Partition,
    idempotency: Idempotency | undefined
  ): Effect.Effect<A | undefined, StoreUnavailable | OnceError> =>
    idempotency === undefined
      ? Effect.succeed(undefined)
      : Effect.map(asked(partition, idempotency), (committed) => committed?.earlier)

  /** The same for a request that can no longer be done: its consumer is gone, its quota is used. */
  const recalling = <B, E, R>(
    partition: Partition,
    idempotency: Idempotency | undefined,
    present: (earlier: A, committed: Committed) => B,
    attempt: Effect.Effect<B, E, R>
  ): Effect.Effect<B, E | OnceError, R> =>
    idempotency === undefined
      ? attempt
      : Effect.catch(attempt, (error) =>
          isStoreFault(error)
            ? Effect.fail(error)
            : asked(partition, idempotency).pipe(
                Effect.catchTag("StoreUnavailable", () => Effect.succeed(undefined)),
                Effect.flatMap((committed) =>
                  committed?.earlier === undefined
                    ? Effect.fail(error)
                    : Effect.succeed(present(committed.earlier, committed))
                )
              )
        )

  return { commit, recall, recalling }
}
