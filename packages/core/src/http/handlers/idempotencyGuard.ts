/**
 * Implements the Idempotency-Key header. Passes the key to the operation, whose commit the store applies once: a
 * repeated request gets the result of the first. Rejects a request with 409 while this process runs another with the
 * same key.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Principal } from "../../access/Principal.ts"
import { RequestInProgressProblem } from "../../api/problems.ts"
import { InvalidInput } from "../../schema/InvalidInput.ts"
import type { Idempotency } from "../../store/Idempotency.ts"
import { mapErrorsToProblems } from "../mapErrorsToProblems.ts"
import { RequestContext } from "../RequestContext.ts"
import { RequestId } from "../RequestId.ts"

const digest = (...parts: ReadonlyArray<string>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url")

/** Parses the header into the id and the fingerprint that the service stores with the result. */
const parseIdempotency = Effect.fnUntraced(function* () {
  const { request, path, search, body } = yield* RequestContext
  const key = request.headers["idempotency-key"]
  if (key === undefined) return undefined
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    return yield* new InvalidInput({
      errors: [{ parameter: "Idempotency-Key", detail: "must be 1 to 255 visible ASCII characters" }]
    })
  }
  const principal = yield* Principal
  // The route has already read the body, and `body` is cached: it cannot fail here.
  const { text } = yield* Effect.orDie(body)
  return {
    id: digest(principal.id, principal.account, request.method, path, key),
    fingerprint: digest(search, text)
  } satisfies Idempotency
})

/** Makes a function that runs an operation with the request's idempotency id, and never twice at the same time. */
export const makeIdempotencyGuard = Effect.sync(() => {
  /** Ids of the requests with an Idempotency-Key that are running in this process. */
  const running = new Set<string>()
  return <A, E, R>(run: (idempotency: Idempotency | undefined) => Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const idempotency = yield* mapErrorsToProblems(parseIdempotency())
      if (idempotency === undefined) return yield* run(undefined)
      const { id } = idempotency
      if (running.has(id)) {
        return yield* new RequestInProgressProblem({
          detail: "A request with this Idempotency-Key is still running. Wait for its response, or try again later.",
          instance: yield* RequestId
        })
      }
      running.add(id)
      return yield* Effect.ensuring(
        run(idempotency),
        Effect.sync(() => running.delete(id))
      )
    })
})
