/**
 * Unpacks a request, calls the service, packs the answer.
 */
import { Effect } from "effect"
import { checkKeyFormat } from "../http/checkKeyFormat.ts"
import type { HandlersOf } from "../http/handlers.ts"
import { makeIdempotent } from "../http/idempotent.ts"
import { ifMatchIn, tagsIn, withETag } from "../http/parameters.ts"
import { explained } from "../http/problems.ts"
import { optional } from "../shared/optional.ts"
import type { ApiKeyCreate } from "./ApiKey.ts"
import { ApiKeys } from "./ApiKeys.ts"

const listed = (payload: ApiKeyCreate | ReadonlyArray<ApiKeyCreate>): ReadonlyArray<ApiKeyCreate> =>
  Array.isArray(payload) ? payload : [payload as ApiKeyCreate]

export const KeysHttp = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const idempotent = yield* makeIdempotent
  return {
    list: ({ params, query }) =>
      Effect.gen(function* () {
        yield* checkKeyFormat(query["key-format"])
        const { limit, offset } = query
        return yield* keys.list(params, params.consumerName, {
          limit,
          offset,
          ...optional({ keyFormat: query["key-format"] })
        })
      }).pipe(explained),
    create: ({ params, payload }) =>
      idempotent((idempotency) =>
        explained(Effect.map(keys.create(params, params.consumerName, payload, optional({ idempotency })), withETag))
      ),
    createMany: ({ params, payload }) =>
      idempotent((idempotency) =>
        explained(keys.createMany(params, params.consumerName, listed(payload), optional({ idempotency })))
      ),
    get: ({ params, query }) =>
      Effect.gen(function* () {
        yield* checkKeyFormat(query["key-format"])
        const options = optional({ guard: tagsIn(query), keyFormat: query["key-format"] })
        return withETag(yield* keys.get(params, params.consumerName, params.keyId, options))
      }).pipe(explained),
    update: ({ params, query, headers, payload }) =>
      Effect.gen(function* () {
        const conditions = optional({ guard: tagsIn(query), ifMatch: yield* ifMatchIn(headers["if-match"]) })
        return withETag(yield* keys.update(params, params.consumerName, params.keyId, payload, conditions))
      }).pipe(explained),
    remove: ({ params, query, headers }) =>
      Effect.gen(function* () {
        const conditions = optional({ guard: tagsIn(query), ifMatch: yield* ifMatchIn(headers["if-match"]) })
        yield* keys.remove(params, params.consumerName, params.keyId, conditions)
      }).pipe(explained),
    verify: ({ params, payload }) => explained(keys.verify(params, payload.key))
  } satisfies HandlersOf<"keys">
})
