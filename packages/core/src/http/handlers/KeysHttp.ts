/**
 * HTTP handlers of API keys: each passes the decoded request to the service and maps its errors to problems.
 */
import { Effect } from "effect"
import { parseIfMatch, parseTagFilter, withETag } from "../../api/parameters.ts"
import { ApiKeys } from "../../keys/ApiKeys.ts"
import type { ApiKeyCreate } from "../../records/ApiKey.ts"
import type { GroupHandlers } from "../GroupHandlers.ts"
import { toProblems } from "../toProblems.ts"
import { checkKeyFormat } from "./checkKeyFormat.ts"
import { makeIdempotentRunner } from "./idempotent.ts"

const toArray = (payload: ApiKeyCreate | ReadonlyArray<ApiKeyCreate>): ReadonlyArray<ApiKeyCreate> =>
  Array.isArray(payload) ? payload : [payload as ApiKeyCreate]

export const KeysHttp = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const idempotent = yield* makeIdempotentRunner
  return {
    list: ({ params, query }) =>
      Effect.gen(function* () {
        yield* checkKeyFormat(query["key-format"])
        const { limit, offset } = query
        return yield* keys.list(params, params.consumerName, {
          limit,
          offset,
          keyFormat: query["key-format"]
        })
      }).pipe(toProblems),
    create: ({ params, payload }) =>
      idempotent((idempotency) =>
        toProblems(Effect.map(keys.create(params, params.consumerName, payload, { idempotency }), withETag))
      ),
    createMany: ({ params, payload }) =>
      idempotent((idempotency) =>
        toProblems(keys.createMany(params, params.consumerName, toArray(payload), { idempotency }))
      ),
    get: ({ params, query }) =>
      Effect.gen(function* () {
        yield* checkKeyFormat(query["key-format"])
        const options = { ifTags: parseTagFilter(query), keyFormat: query["key-format"] }
        return withETag(yield* keys.get(params, params.consumerName, params.keyId, options))
      }).pipe(toProblems),
    update: ({ params, query, headers, payload }) =>
      Effect.gen(function* () {
        const conditions = {
          ifTags: parseTagFilter(query),
          ifMatch: yield* parseIfMatch(headers["if-match"])
        }
        return withETag(yield* keys.update(params, params.consumerName, params.keyId, payload, conditions))
      }).pipe(toProblems),
    remove: ({ params, query, headers }) =>
      Effect.gen(function* () {
        const conditions = {
          ifTags: parseTagFilter(query),
          ifMatch: yield* parseIfMatch(headers["if-match"])
        }
        yield* keys.remove(params, params.consumerName, params.keyId, conditions)
      }).pipe(toProblems),
    verify: ({ params, payload }) => toProblems(keys.verify(params, payload.key))
  } satisfies GroupHandlers<"keys">
})
