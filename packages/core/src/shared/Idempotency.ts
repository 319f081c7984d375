/**
 * Makes a request that is sent twice happen once. What it answered is remembered for a day, sealed, because it may
 * hold key values.
 */
import { Effect, Schema } from "effect"
import type { KeyVault } from "../keys/KeyVault.ts"
import type { Partition } from "../store/Partition.ts"
import type { Change, Committed, StoreOperations } from "../store/Store.ts"
import type { StoreConflict, StoreUnavailable } from "../store/StoreError.ts"

/** The request: who asked for what under which key, and what exactly was asked. */
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

const day = 24 * 60 * 60 * 1000

export interface OnceCommitted<A> extends Committed {
  /** What was answered the first time, if this is a repetition. */
  readonly earlier?: A
}

/** Commits, and remembers the answer; a repetition gives what was answered before. */
export const commitOnce = <A, I>(store: StoreOperations, vault: KeyVault["Service"], schema: Schema.Codec<A, I>) => {
  const json = Schema.fromJsonString(schema)
  const encode = Schema.encodeSync(json)
  const decode = Schema.decodeUnknownEffect(json)

  return Effect.fnUntraced(function* (
    partition: Partition,
    changes: ReadonlyArray<Change>,
    idempotency: Idempotency | undefined,
    answer: A
  ): Effect.fn.Return<OnceCommitted<A>, StoreConflict | StoreUnavailable | IdempotencyKeyReused> {
    if (idempotency === undefined) return yield* store.commit(partition, changes)
    const { id, fingerprint } = idempotency
    const identity = `${partition} once ${id}`
    const sealed = yield* vault.seal(encode(answer), identity)
    const committed = yield* store.commit(partition, changes, { id, fingerprint, answer: sealed, ttl: day })
    if (committed.replayed === undefined) return committed
    if (committed.replayed.fingerprint !== fingerprint) return yield* new IdempotencyKeyReused()
    const opened = yield* Effect.orDie(vault.open(committed.replayed.answer, identity))
    return { ...committed, earlier: yield* Effect.orDie(decode(opened)) }
  })
}
