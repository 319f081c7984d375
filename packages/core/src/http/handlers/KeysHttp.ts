/**
 * HTTP handlers of API keys: each passes the decoded request to the service and maps its errors to problems.
 */
import { Effect } from "effect"
import { parseIfMatch, withETag } from "../../api/etag.ts"
import { parseTagFilter } from "../../api/query.ts"
import { ApiKeys } from "../../keys/ApiKeys.ts"
import type { ApiKeyCreate } from "../../records/ApiKey.ts"
import type { GroupHandlers } from "../GroupHandlers.ts"
import { mapErrorsToProblems } from "../mapErrorsToProblems.ts"
import { checkCanSeeKeyValues } from "./checkCanSeeKeyValues.ts"
import { makeIdempotencyGuard } from "./idempotencyGuard.ts"

const toArray = (payload: ApiKeyCreate | ReadonlyArray<ApiKeyCreate>): ReadonlyArray<ApiKeyCreate> =>
  Array.isArray(payload) ? payload : [payload as ApiKeyCreate]

export const KeysHttp = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const runIdempotent = yield* makeIdempotencyGuard
  return {
    list: ({ params, query }) =>
      Effect.gen(function* () {
        yield* checkCanSeeKeyValues(query["key-format"])
        const { limit, offset } = query
        return yield* keys.list(params, params.consumerName, {
          limit,
          offset,
          keyFormat: query["key-format"]
        })
      }).pipe(mapErrorsToProblems),
    create: ({ params, payload }) =>
      runIdempotent((idempotency) =>
        mapErrorsToProblems(Effect.map(keys.create(params, params.consumerName, payload, { idempotency }), withETag))
      ),
    createMany: ({ params, payload }) =>
      runIdempotent((idempotency) =>
        mapErrorsToProblems(keys.createMany(params, params.consumerName, toArray(payload), { idempotency }))
      ),
    get: ({ params, query }) =>
      Effect.gen(function* () {
        yield* checkCanSeeKeyValues(query["key-format"])
        const options = { ifTags: parseTagFilter(query), keyFormat: query["key-format"] }
        return withETag(yield* keys.get(params, params.consumerName, params.keyId, options))
      }).pipe(mapErrorsToProblems),
    update: ({ params, query, headers, payload }) =>
      Effect.gen(function* () {
        const conditions = {
          ifTags: parseTagFilter(query),
          ifMatch: yield* parseIfMatch(headers["if-match"])
        }
        return withETag(yield* keys.update(params, params.consumerName, params.keyId, payload, conditions))
      }).pipe(mapErrorsToProblems),
    remove: ({ params, query, headers }) =>
      Effect.gen(function* () {
        const conditions = {
          ifTags: parseTagFilter(query),
          ifMatch: yield* parseIfMatch(headers["if-match"])
        }
        yield* keys.remove(params, params.consumerName, params.keyId, conditions)
      }).pipe(mapErrorsToProblems),
    verify: ({ params, payload }) => mapErrorsToProblems(keys.verify(params, payload.key))
  } satisfies GroupHandlers<"keys">
})
