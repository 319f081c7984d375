/**
 * Executes a request with an Idempotency-Key once. A retry gets the stored result of the first request. Results are stored
 * for 24 hours, encrypted, because they may contain key values.
 */
import { Effect, Schema } from "effect"
import type { SecretBox } from "../crypto/SecretBox.ts"
import type { Partition } from "./Partition.ts"
import type { Change, CommitResult, StoreOperations } from "./Store.ts"
import type { StoreConflict, StoreUnavailable } from "./StoreError.ts"

/**
 * Identifies a request with an Idempotency-Key. `id` combines caller, operation and key; `fingerprint` represents the
 * content of the request. Tollgate stores only keyed digests of both, because a body may contain a key value.
 */
export interface Idempotency {
  readonly id: string
  readonly fingerprint: string
}

export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()("IdempotencyKeyReused", {}) {
  override get message(): string {
    return "This Idempotency-Key was already used for a different request. Use a new key."
  }
}

/** The first request succeeded, but its stored result cannot be decrypted or decoded: the secret or the format changed. */
export class ReplayUnavailable extends Schema.TaggedError<ReplayUnavailable>()("ReplayUnavailable", {}) {
  override get message(): string {
    return "This request already succeeded, but its result can no longer be read. Read the resource that it created or changed."
  }
}

export type IdempotencyError = IdempotencyKeyReused | ReplayUnavailable

const resultTtlMs = 24 * 60 * 60 * 1000

export interface IdempotentResult<A> extends CommitResult {
  /** The result of the first request, if this is a retry. */
  readonly previousResult?: A
}

const isStoreError = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  (error._tag === "StoreUnavailable" || error._tag === "RecordUnreadable")

/** A precondition that never holds: a commit with it succeeds only as a replay, so it looks up a replay without writing. */
const alwaysConflicts: Change = { _tag: "Check", key: "never", expect: 1 }

/** Commits that store their result under an idempotency id. A retry returns the stored result. */
export const makeIdempotentCommits = <A, I>(
  store: StoreOperations,
  secretBox: SecretBox["Service"],
  schema: Schema.Codec<A, I>
) => {
  const json = Schema.fromJsonString(schema)
  const encode = Schema.encodeSync(json)
  const decode = Schema.decodeUnknownEffect(json)
  const associatedData = (partition: Partition, id: string) => `${partition} once ${id}`

  /** The digests under which a request is stored: one for each secret, newest first. */
  const toDigests = ({ id, fingerprint }: Idempotency): ReadonlyArray<Idempotency> => {
    const fingerprints = secretBox.idempotencyDigests(`idempotent request ${fingerprint}`)
    return secretBox
      .idempotencyDigests(`idempotency key ${id}`)
      .map((id, index) => ({ id, fingerprint: fingerprints[index] ?? "" }))
  }

  const decodeReplay = Effect.fnUntraced(function* (
    partition: Partition,
    { id, fingerprint }: Idempotency,
    committed: CommitResult
  ): Effect.fn.Return<IdempotentResult<A>, IdempotencyError> {
    if (committed.replayed === undefined) return committed
    if (committed.replayed.fingerprint !== fingerprint) return yield* new IdempotencyKeyReused()
    const plaintext = yield* Effect.mapError(
      secretBox.decrypt(committed.replayed.result, associatedData(partition, id)),
      () => new ReplayUnavailable()
    )
    const previousResult = yield* Effect.mapError(decode(plaintext), () => new ReplayUnavailable())
    return { ...committed, previousResult }
  })

  const commitWithDigest = Effect.fnUntraced(function* (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency,
    result: A
  ): Effect.fn.Return<IdempotentResult<A>, StoreConflict | StoreUnavailable | IdempotencyError> {
    const { id, fingerprint } = idempotency
    const encrypted = yield* secretBox.encrypt(encode(result), associatedData(partition, id))
    const record = { id, fingerprint, result: encrypted, ttl: resultTtlMs }
    return yield* decodeReplay(partition, idempotency, yield* store.commit(partition, changes, record))
  })

  const commitIdempotently = Effect.fnUntraced(function* (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency,
    result: A
  ): Effect.fn.Return<IdempotentResult<A>, StoreConflict | StoreUnavailable | IdempotencyError> {
    // A commit has one idempotency id, so a result that was stored under an older secret is looked up first.
    const [newest = idempotency, ...older] = toDigests(idempotency)
    return (yield* findByDigests(partition, older)) ?? (yield* commitWithDigest(partition, changes, newest, result))
  })

  const commit = (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency | undefined,
    result: A
  ): Effect.Effect<IdempotentResult<A>, StoreConflict | StoreUnavailable | IdempotencyError> =>
    idempotency === undefined
      ? store.commit(partition, changes)
      : commitIdempotently(partition, changes, idempotency, result)

  /** Looks up the stored result of a request under each of these digests. */
  const findByDigests = Effect.fnUntraced(function* (partition: Partition, digests: ReadonlyArray<Idempotency>) {
    for (const digest of digests) {
      const record = { id: digest.id, fingerprint: "", result: "", ttl: resultTtlMs }
      const committed = yield* Effect.catchTag(
        store.commit(partition, [alwaysConflicts], record),
        "StoreConflict",
        () => Effect.succeed(undefined)
      )
      if (committed !== undefined) return yield* decodeReplay(partition, digest, committed)
    }
    return undefined
  })

  const findByRequest = (partition: Partition, idempotency: Idempotency) =>
    findByDigests(partition, toDigests(idempotency))

  const findReplay = (
    partition: Partition,
    idempotency: Idempotency | undefined
  ): Effect.Effect<A | undefined, StoreUnavailable | IdempotencyError> =>
    idempotency === undefined
      ? Effect.succeed(undefined)
      : Effect.map(findByRequest(partition, idempotency), (committed) => committed?.previousResult)

  /**
   * Runs `attempt`. If it fails, returns the result of the first request, if there is one: a retry can fail for reasons that
   * the first request did not have, such as a quota that is used up by now.
   */
  const replayIfFailed = <B, E, R>(
    partition: Partition,
    idempotency: Idempotency | undefined,
    toResult: (previousResult: A, committed: CommitResult) => B,
    attempt: Effect.Effect<B, E, R>
  ): Effect.Effect<B, E | IdempotencyError, R> =>
    idempotency === undefined
      ? attempt
      : Effect.catch(attempt, (error) =>
          isStoreError(error)
            ? Effect.fail(error)
            : findByRequest(partition, idempotency).pipe(
                Effect.catchTag("StoreUnavailable", () => Effect.succeed(undefined)),
                Effect.flatMap((committed) =>
                  committed?.previousResult === undefined
                    ? Effect.fail(error)
                    : Effect.succeed(toResult(committed.previousResult, committed))
                )
              )
        )

  return { commit, findReplay: findReplay, orReplay: replayIfFailed }
}
