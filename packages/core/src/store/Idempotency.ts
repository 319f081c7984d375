/**
 * Makes a request that is sent twice happen once. What it answered is remembered for a day, sealed, because it may
 * hold key values.
 */
import { Effect, Schema } from "effect"
import type { SecretBox } from "../crypto/SecretBox.ts"
import type { Partition } from "./Partition.ts"
import type { Change, CommitResult, StoreOperations } from "./Store.ts"
import type { StoreConflict, StoreUnavailable } from "./StoreError.ts"

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
export class ReplayUnavailable extends Schema.TaggedError<ReplayUnavailable>()("ReplayUnavailable", {}) {
  override get message(): string {
    return "This request was done before, and its answer is no longer known; read what it made"
  }
}

export type IdempotencyError = IdempotencyKeyReused | ReplayUnavailable

const day = 24 * 60 * 60 * 1000

export interface IdempotentResult<A> extends CommitResult {
  /** What was answered the first time, if this is a repetition. */
  readonly previousResult?: A
}

const isStoreError = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  (error._tag === "StoreUnavailable" || error._tag === "RecordUnreadable")

/** Looks a replay up: its condition never holds, so that the commit succeeds only as a replay and writes nothing. */
const alwaysConflicts: Change = { _tag: "Check", key: "never", expect: 1 }

/** Commits that remember their answer; a repetition gives what was answered before. */
export const idempotentCommit = <A, I>(
  store: StoreOperations,
  vault: SecretBox["Service"],
  schema: Schema.Codec<A, I>
) => {
  const json = Schema.fromJsonString(schema)
  const encode = Schema.encodeSync(json)
  const decode = Schema.decodeUnknownEffect(json)
  const associatedData = (partition: Partition, id: string) => `${partition} once ${id}`

  /** What a request is remembered under: by the newest secret first, and by those that are being replaced. */
  const keyed = ({ id, fingerprint }: Idempotency): ReadonlyArray<Idempotency> => {
    const fingerprints = vault.digests(`idempotent request ${fingerprint}`)
    return vault.digests(`idempotency key ${id}`).map((id, index) => ({ id, fingerprint: fingerprints[index] ?? "" }))
  }

  const decodeReplay = Effect.fnUntraced(function* (
    partition: Partition,
    { id, fingerprint }: Idempotency,
    committed: CommitResult
  ): Effect.fn.Return<IdempotentResult<A>, IdempotencyError> {
    if (committed.replayed === undefined) return committed
    if (committed.replayed.fingerprint !== fingerprint) return yield* new IdempotencyKeyReused()
    const opened = yield* Effect.mapError(
      vault.decrypt(committed.replayed.result, associatedData(partition, id)),
      () => new ReplayUnavailable()
    )
    const earlier = yield* Effect.mapError(decode(opened), () => new ReplayUnavailable())
    return { ...committed, previousResult: earlier }
  })

  const commitAs = Effect.fnUntraced(function* (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency,
    answer: A
  ): Effect.fn.Return<IdempotentResult<A>, StoreConflict | StoreUnavailable | IdempotencyError> {
    const { id, fingerprint } = idempotency
    const sealed = yield* vault.encrypt(encode(answer), associatedData(partition, id))
    const once = { id, fingerprint, result: sealed, ttl: day }
    return yield* decodeReplay(partition, idempotency, yield* store.commit(partition, changes, once))
  })

  const commitKeyed = Effect.fnUntraced(function* (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency,
    answer: A
  ): Effect.fn.Return<IdempotentResult<A>, StoreConflict | StoreUnavailable | IdempotencyError> {
    const [newest = idempotency, ...older] = keyed(idempotency)
    return (yield* lookUp(partition, older)) ?? (yield* commitAs(partition, changes, newest, answer))
  })

  const commit = (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency | undefined,
    answer: A
  ): Effect.Effect<IdempotentResult<A>, StoreConflict | StoreUnavailable | IdempotencyError> =>
    idempotency === undefined ? store.commit(partition, changes) : commitKeyed(partition, changes, idempotency, answer)

  /** What was answered to the request before, under one of these identities. */
  const lookUp = Effect.fnUntraced(function* (partition: Partition, identities: ReadonlyArray<Idempotency>) {
    for (const identity of identities) {
      const once = { id: identity.id, fingerprint: "", result: "", ttl: day }
      const committed = yield* Effect.catchTag(store.commit(partition, [alwaysConflicts], once), "StoreConflict", () =>
        Effect.succeed(undefined)
      )
      if (committed !== undefined) return yield* decodeReplay(partition, identity, committed)
    }
    return undefined
  })

  const lookUpRequest = (partition: Partition, idempotency: Idempotency) => lookUp(partition, keyed(idempotency))

  const findReplay = (
    partition: Partition,
    idempotency: Idempotency | undefined
  ): Effect.Effect<A | undefined, StoreUnavailable | IdempotencyError> =>
    idempotency === undefined
      ? Effect.succeed(undefined)
      : Effect.map(lookUpRequest(partition, idempotency), (committed) => committed?.previousResult)

  /** The same for a request that can no longer be done: its consumer is gone, its quota is used. */
  const orReplay = <B, E, R>(
    partition: Partition,
    idempotency: Idempotency | undefined,
    present: (earlier: A, committed: CommitResult) => B,
    attempt: Effect.Effect<B, E, R>
  ): Effect.Effect<B, E | IdempotencyError, R> =>
    idempotency === undefined
      ? attempt
      : Effect.catch(attempt, (error) =>
          isStoreError(error)
            ? Effect.fail(error)
            : lookUpRequest(partition, idempotency).pipe(
                Effect.catchTag("StoreUnavailable", () => Effect.succeed(undefined)),
                Effect.flatMap((committed) =>
                  committed?.previousResult === undefined
                    ? Effect.fail(error)
                    : Effect.succeed(present(committed.previousResult, committed))
                )
              )
        )

  return { commit, recall: findReplay, recalling: orReplay }
}
