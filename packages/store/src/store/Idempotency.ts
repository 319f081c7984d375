/**
 * Executes a request with an Idempotency-Key once. A retry gets the stored result of the first request. Results are
 * stored for 24 hours, encrypted, because they may contain key values.
 */
import { hash } from "node:crypto"
import { Context, Effect, Schema } from "effect"
import type { SecretBox } from "../crypto/SecretBox.ts"
import type { Entry } from "./Collection.ts"
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
export const CurrentIdempotency = Context.Reference<Idempotency | undefined>("@tollgate/store/CurrentIdempotency", {
  defaultValue: () => undefined
})

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

/** Encodes and decodes what is stored of a result. */
export interface ResultCodec<S> {
  readonly encode: (result: S) => string
  readonly decode: (text: string) => Effect.Effect<S, unknown>
}

/** Makes a codec for the result of an operation, which is kept for repetitions of the request. */
export const makeResultCodec = <S, I>(schema: Schema.Codec<S, I>): ResultCodec<S> => {
  const json = Schema.fromJsonString(schema)
  return { encode: Schema.encodeSync(json), decode: Schema.decodeUnknownEffect(json) }
}

/** Ends an operation whose request was applied before, with the result of the first request. */
export class Replayed {
  readonly _tag = "Replayed"
  readonly result: unknown

  constructor(result: unknown) {
    this.result = result
  }
}

/** Commits `changes`, and stores `result` for retries. Fails with `Replayed` if the request was applied before. */
export type CommitOnce<S> = (
  changes: ReadonlyArray<Change>,
  result: S
) => Effect.Effect<CommitResult, StoreConflict | StoreUnavailable | IdempotencyError | Replayed>

/** The body of a response: a result without its version. */
type Body<A> = A extends Entry<infer Value> ? Value : A

/**
 * Prepares the only commit of an operation, which is applied once for each Idempotency-Key. The body of the response is
 * stored for retries, and `toResult` adds what only the commit tells. Another codec stores something else.
 *
 * An operation calls it first: if it fails afterwards, and its request was applied before, it returns the result of the
 * first request instead of the error.
 */
export interface Once<A> {
  (partition: Partition): CommitOnce<A>
  (partition: Partition, toResult: (body: Body<A>, commitResult: CommitResult) => A): CommitOnce<Body<A>>
  <S>(
    partition: Partition,
    toResult: (stored: S, commitResult: CommitResult) => A,
    codec: ResultCodec<S>
  ): CommitOnce<S>
}

/** Where the result of a request is stored, and how it becomes the result of a retry. */
interface Place {
  readonly partition: Partition
  readonly toResult: (stored: unknown, commitResult: CommitResult) => unknown
  readonly codec: ResultCodec<unknown>
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
export const alwaysConflicts: Change = { _tag: "Check", key: "no-such-record", expect: 1 }

/** A replay usually has the same result. */
const keepResult = (result: unknown): unknown => result

const unknownCodec = makeResultCodec(Schema.Unknown)

/** Binds a stored result to its request. `once` is part of the stored format and cannot change. */
const toAssociatedData = (partition: Partition, idDigest: string) => `${partition} once ${idDigest}`

/** Makes the function that runs the operation of a request once. */
export const makeRunOnce = (store: StoreOperations, secretBox: SecretBox["Service"]) => {
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

  /** The result of the first request, if the store reports the commit as a replay. */
  const decodeReplay = Effect.fnUntraced(function* (
    { partition, codec, toResult }: Place,
    { idDigest, fingerprintDigest }: IdempotencyDigests,
    commitResult: CommitResult
  ): Effect.fn.Return<Replayed | undefined, IdempotencyError> {
    const { replayed } = commitResult
    if (replayed === undefined) return undefined
    if (replayed.fingerprint !== fingerprintDigest) return yield* new IdempotencyKeyReused()
    const stored = yield* secretBox.decrypt(replayed.result, toAssociatedData(partition, idDigest)).pipe(
      Effect.flatMap(codec.decode),
      Effect.mapError(() => new ReplayUnavailable())
    )
    return new Replayed(toResult(stored, commitResult))
  })

  /** Looks up the first commit of a request under each of these digests. Writes nothing. */
  const lookUp = Effect.fnUntraced(function* (place: Place, candidates: ReadonlyArray<IdempotencyDigests>) {
    for (const digests of candidates) {
      const record = { id: digests.idDigest, fingerprint: "", result: "", ttl: resultTtlMs }
      const commitResult = yield* Effect.catchTag(
        store.commit(place.partition, [alwaysConflicts], record),
        "StoreConflict",
        () => Effect.succeed(undefined)
      )
      if (commitResult !== undefined) return yield* decodeReplay(place, digests, commitResult)
    }
    return undefined
  })

  const commitOnce = Effect.fnUntraced(function* (
    place: Place,
    [primary, ...others]: ReadonlyArray<IdempotencyDigests>,
    changes: ReadonlyArray<Change>,
    result: unknown
  ) {
    if (primary === undefined) return yield* Effect.die("No secret is configured")
    // A commit has one idempotency id, so a result that was stored under another secret is looked up first.
    const earlier = yield* lookUp(place, others)
    if (earlier !== undefined) return yield* Effect.fail(earlier)
    const { partition, codec } = place
    const { idDigest, fingerprintDigest } = primary
    const encrypted = yield* secretBox.encrypt(codec.encode(result), toAssociatedData(partition, idDigest))
    const record = { id: idDigest, fingerprint: fingerprintDigest, result: encrypted, ttl: resultTtlMs }
    const commitResult = yield* store.commit(partition, changes, record)
    const replayed = yield* decodeReplay(place, primary, commitResult)
    return replayed === undefined ? commitResult : yield* Effect.fail(replayed)
  })

  /**
   * Runs an operation. With `idempotency`, a retry returns the result of the first request, also if it fails: for reasons
   * that the first request did not have, such as a quota that is used up by now. `StoreUnavailable` and
   * `RecordUnreadable` are passed on. `bodyCodec` is that of the body of the response.
   */
  return <A, E, R>(
    idempotency: Idempotency | undefined,
    operation: (once: Once<A>) => Effect.Effect<A, E | Replayed, R>,
    bodyCodec: ResultCodec<unknown> = unknownCodec
  ): Effect.Effect<A, E | IdempotencyError, R> => {
    if (idempotency === undefined) {
      const once = (partition: Partition) => (changes: ReadonlyArray<Change>) => store.commit(partition, changes)
      return operation(once) as Effect.Effect<A, E, R>
    }
    return Effect.suspend(() => {
      const digests = toDigests(idempotency)
      let place: Place | undefined
      const once = (partition: Partition, toResult: Place["toResult"] = keepResult, codec = bodyCodec) => {
        const current = { partition, toResult, codec }
        place = current
        return (changes: ReadonlyArray<Change>, result: unknown) => commitOnce(current, digests, changes, result)
      }
      return Effect.catch(operation(once as Once<A>), (error): Effect.Effect<A, E | IdempotencyError> => {
        // A replay has the type of the operation's results.
        if (error instanceof Replayed) return Effect.succeed(error.result as A)
        if (place === undefined || isUnavailableOrUnreadable(error)) return Effect.fail(error)
        return lookUp(place, digests).pipe(
          Effect.catchTag("StoreUnavailable", () => Effect.succeed(undefined)),
          Effect.flatMap((replayed) =>
            replayed === undefined ? Effect.fail(error) : Effect.succeed(replayed.result as A)
          )
        )
      })
    })
  }
}
