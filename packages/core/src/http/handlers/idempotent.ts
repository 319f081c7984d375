/**
 * Honours an Idempotency-Key: the same request again gives the first answer, and one that is still running is not
 * started again beside itself.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Principal } from "../../access/Principal.ts"
import { RequestInProgressProblem } from "../../api/problems.ts"
import { InvalidInput } from "../../schema/InvalidInput.ts"
import type { Idempotency } from "../../store/Idempotency.ts"
import { RequestContext } from "../RequestContext.ts"
import { RequestId } from "../RequestId.ts"
import { toProblems } from "../toProblems.ts"

const digest = (...parts: ReadonlyArray<string>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url")

/** Reads the header, and gives what the service is to remember the request by. */
const parseIdempotency = Effect.fnUntraced(function* () {
  const { request: asked, path, search, body } = yield* RequestContext
  const key = asked.headers["idempotency-key"]
  if (key === undefined) return undefined
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    return yield* new InvalidInput({
      errors: [{ parameter: "Idempotency-Key", detail: "give 1 to 255 visible ASCII characters" }]
    })
  }
  const principal = yield* Principal
  const { text } = yield* Effect.orDie(body)
  return {
    id: digest(principal.id, principal.account, asked.method, path, key),
    fingerprint: digest(search, text)
  } satisfies Idempotency
})

/** Runs what makes something, once for each Idempotency-Key. */
export const makeIdempotentRunner = Effect.sync(() => {
  /** The requests that are running under an Idempotency-Key, in this process. */
  const running = new Set<string>()
  return <A, E, R>(run: (idempotency: Idempotency | undefined) => Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const idempotency = yield* toProblems(parseIdempotency())
      if (idempotency === undefined) return yield* run(undefined)
      const { id } = idempotency
      if (running.has(id)) {
        return yield* new RequestInProgressProblem({
          detail: "Wait for the answer to the first one, or ask again later",
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
