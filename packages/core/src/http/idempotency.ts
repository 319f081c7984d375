/**
 * Implements the Idempotency-Key header. Passes the key to the operation, whose commit the store applies once: a
 * repeated request gets the result of the first. Rejects a request with 409 while this process runs another with the
 * same key.
 */
import { hash } from "node:crypto"
import { CurrentIdempotency, type Idempotency, RequestInProgress } from "@tollgate/store/internal"
import { Effect } from "effect"
import { Principal } from "../access/Principal.ts"
import { RequestContext } from "./RequestContext.ts"

const digest = (...parts: ReadonlyArray<string>): string => hash("sha256", JSON.stringify(parts), "base64url")

/** The id depends on the caller, so that callers cannot read each other's results. */
const makeIdempotency = Effect.fnUntraced(function* (
  key: string
): Effect.fn.Return<Idempotency, never, Principal | RequestContext> {
  const { request, path, search, readBody } = yield* RequestContext
  const { id, idempotencyScope = id, account } = yield* Principal
  // The route has already read the body, and it is cached: this cannot fail here.
  const { text } = yield* Effect.orDie(readBody())
  return {
    // Decoded: one path can be percent-encoded in several ways.
    id: digest(idempotencyScope, account, request.method, ...path.split("/").map(decodeURIComponent), key),
    fingerprint: digest(search, text)
  }
})

/** Makes a function that runs an operation with an Idempotency-Key, and never twice at the same time. */
export const makeRunIdempotent = () => {
  /** Ids of the requests with an Idempotency-Key that are running in this process. */
  const running = new Set<string>()
  return <A, E, R>(key: string | undefined, operation: Effect.Effect<A, E, R>) =>
    key === undefined
      ? operation
      : Effect.gen(function* () {
          const idempotency = yield* makeIdempotency(key)
          const { id } = idempotency
          if (running.has(id)) return yield* new RequestInProgress()
          running.add(id)
          return yield* Effect.ensuring(
            Effect.provideService(operation, CurrentIdempotency, idempotency),
            Effect.sync(() => running.delete(id))
          )
        })
}
