/**
 * Executes a request with an Idempotency-Key once. A retry gets the stored result of the first request. Results are
 * stored for 24 hours, encrypted, because they may contain key values.
 */
import { hash } from "node:crypto"
import { Context, Effect, Schema } from "effect"
import type { SecretBox } from "../crypto/SecretBox.ts"
import { type IdempotencyError, IdempotencyKeyReused, ReplayUnavailable } from "./IdempotencyError.ts"
import type { Partition } from "./Partition.ts"
import type { Change, CommitResult, StoreOperations } from "./Store.ts"
import type { StoreConflict, StoreUnavailable } from "./StoreError.ts"

/**
 * Identifies a request with an Idempotency-Key. `id` combines caller, operation and key; `fingerprint` represents the
 * content of the request. Tollgate stores only `IdempotencyDigests` of it.
 */
export interface Idempotency {
  readonly id: string
  readonly fingerprint: string
}

/** The idempotency of the running request. HTTP provides it; `api/implementOperations.ts` does for calls in process. */
export const CurrentIdempotency = Context.Reference<Idempotency | undefined>(
  "@tollgate/core/store/CurrentIdempotency",
  {
    defaultValue: () => undefined
  }
)

const digest = (parts: ReadonlyArray<unknown>): string => hash("sha256", JSON.stringify(parts), "base64url")

/** The idempotency of a call in process. Its id cannot collide with one from an HTTP request. */
export const makeInProcessIdempotency = (
  key: string,
  operation: ReadonlyArray<string>,
  input: ReadonlyArray<unknown>
): Idempotency => ({ id: digest(["in process", ...operation, key]), fingerprint: digest(input) })

/** An `Idempotency` hashed with one of the secrets, as it is stored: a request body may contain a key value. */
interface IdempotencyDigests {
  readonly idDigest: string
  readonly fingerprintDigest: string
}

const resultTtlMs = 24 * 60 * 60 * 1000

export interface IdempotentResult<A> extends CommitResult {
  /** The result of the first request, if this is a retry. */
  readonly previousResult?: A
}

/** Whether the store cannot be reached, or holds a record that cannot be read. */
const isUnavailableOrUnreadable = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  (error._tag === "StoreUnavailable" || error._tag === "RecordUnreadable")

/**
 * A precondition that never holds: it expects a version of a record that never exists. A commit with it succeeds only
 * as a replay, so it looks up a replay without writing.
 */
const alwaysConflicts: Change = { _tag: "Check", key: "no-such-record", expect: 1 }

/** Commits that store their result under an idempotency id. A retry returns the stored result. */
export const makeIdempotentCommits = <A, I>(
  store: StoreOperations,
  secretBox: SecretBox["Service"],
  schema: Schema.Codec<A, I>
) => {
  const json = Schema.fromJsonString(schema)
  const encode = Schema.encodeSync(json)
  const decode = Schema.decodeUnknownEffect(json)
  /** Binds a stored result to its request. `once` is part of the stored format and cannot change. */
  const associatedData = (partition: Partition, idDigest: string) => `${partition} once ${idDigest}`

  /**
   * The digests under which a request may be stored: one for each secret, the primary secret first. They depend on the
   * texts `idempotent request` and `idempotency key`, which therefore cannot change.
   */
  const toDigests = ({ id, fingerprint }: Idempotency): ReadonlyArray<IdempotencyDigests> => {
    const fingerprintDigests = secretBox.idempotencyDigests(`idempotent request ${fingerprint}`)
    return secretBox
      .idempotencyDigests(`idempotency key ${id}`)
      .map((idDigest, index) => ({ idDigest, fingerprintDigest: fingerprintDigests[index] ?? "" }))
  }

  /** Adds the decrypted result of the first request, if the store reports the commit as a replay. */
  const decodeReplay = Effect.fnUntraced(function* (
    partition: Partition,
    { idDigest, fingerprintDigest }: IdempotencyDigests,
    commitResult: CommitResult
  ): Effect.fn.Return<IdempotentResult<A>, IdempotencyError> {
    if (commitResult.replayed === undefined) return commitResult
    if (commitResult.replayed.fingerprint !== fingerprintDigest) return yield* new IdempotencyKeyReused()
    const plaintext = yield* Effect.mapError(
      secretBox.decrypt(commitResult.replayed.result, associatedData(partition, idDigest)),
      () => new ReplayUnavailable()
    )
    const previousResult = yield* Effect.mapError(decode(plaintext), () => new ReplayUnavailable())
    return { ...commitResult, previousResult }
  })

  const commitWithDigests = Effect.fnUntraced(function* (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    digests: IdempotencyDigests,
    result: A
  ): Effect.fn.Return<IdempotentResult<A>, StoreConflict | StoreUnavailable | IdempotencyError> {
    const { idDigest, fingerprintDigest } = digests
    const encrypted = yield* secretBox.encrypt(encode(result), associatedData(partition, idDigest))
    const record = { id: idDigest, fingerprint: fingerprintDigest, result: encrypted, ttl: resultTtlMs }
    return yield* decodeReplay(partition, digests, yield* store.commit(partition, changes, record))
  })

  const commitIdempotently = Effect.fnUntraced(function* (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency,
    result: A
  ): Effect.fn.Return<IdempotentResult<A>, StoreConflict | StoreUnavailable | IdempotencyError> {
    // A commit has one idempotency id, so a result that was stored under another secret is looked up first.
    const [primary, ...others] = toDigests(idempotency)
    if (primary === undefined) return yield* Effect.die("No secret is configured")
    return (
      (yield* lookUpByDigests(partition, others)) ?? (yield* commitWithDigests(partition, changes, primary, result))
    )
  })

  /** Commits `changes`. With `idempotency`, stores `result` for replays; `previousResult` is set if this is a retry. */
  const commit = (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency | undefined,
    result: A
  ): Effect.Effect<IdempotentResult<A>, StoreConflict | StoreUnavailable | IdempotencyError> =>
    idempotency === undefined
      ? store.commit(partition, changes)
      : commitIdempotently(partition, changes, idempotency, result)

  /** Looks up the first commit of a request under each of these digests. Writes nothing. */
  const lookUpByDigests = Effect.fnUntraced(function* (
    partition: Partition,
    candidates: ReadonlyArray<IdempotencyDigests>
  ) {
    for (const digests of candidates) {
      const record = { id: digests.idDigest, fingerprint: "", result: "", ttl: resultTtlMs }
      const commitResult = yield* Effect.catchTag(
        store.commit(partition, [alwaysConflicts], record),
        "StoreConflict",
        () => Effect.succeed(undefined)
      )
      if (commitResult !== undefined) return yield* decodeReplay(partition, digests, commitResult)
    }
    return undefined
  })

  /** Looks up the first commit of a request under all secrets. */
  const lookUpFirstCommit = (partition: Partition, idempotency: Idempotency) =>
    lookUpByDigests(partition, toDigests(idempotency))

  /** The result of the first request, if this is a retry. */
  const findPreviousResult = (
    partition: Partition,
    idempotency: Idempotency | undefined
  ): Effect.Effect<A | undefined, StoreUnavailable | IdempotencyError> =>
    idempotency === undefined
      ? Effect.succeed(undefined)
      : Effect.map(lookUpFirstCommit(partition, idempotency), (commitResult) => commitResult?.previousResult)

  /**
   * Runs `attempt`. If it fails, returns the result of the first request, if there is one: a retry can fail for reasons
   * that the first request did not have, such as a quota that is used up by now. `StoreUnavailable` and
   * `RecordUnreadable` are passed on.
   */
  const replayIfFailed = <B, E, R>(
    partition: Partition,
    idempotency: Idempotency | undefined,
    toResult: (previousResult: A, commitResult: CommitResult) => B,
    attempt: Effect.Effect<B, E, R>
  ): Effect.Effect<B, E | IdempotencyError, R> =>
    idempotency === undefined
      ? attempt
      : Effect.catch(attempt, (error) =>
          isUnavailableOrUnreadable(error)
            ? Effect.fail(error)
            : lookUpFirstCommit(partition, idempotency).pipe(
                Effect.catchTag("StoreUnavailable", () => Effect.succeed(undefined)),
                Effect.flatMap((commitResult) =>
                  commitResult?.previousResult === undefined
                    ? Effect.fail(error)
                    : Effect.succeed(toResult(commitResult.previousResult, commitResult))
                )
              )
        )

  return { commit, findPreviousResult, replayIfFailed }
}
