/**
 * HTTP handlers of consumers: each passes the decoded request to the service and maps its errors to problems.
 */
import { Effect } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { parseIfMatch, withETag } from "../../api/etag.ts"
import { parseTagFilter } from "../../api/query.ts"
import { Consumers } from "../../consumers/Consumers.ts"
import { SecretBox } from "../../crypto/SecretBox.ts"
import type { KeyVisibility } from "../../records/ApiKey.ts"
import type { GroupHandlers } from "../GroupHandlers.ts"
import { mapErrorsToProblems } from "../mapErrorsToProblems.ts"
import { RequestContext } from "../RequestContext.ts"
import { checkCanSeeKeyValues } from "./checkCanSeeKeyValues.ts"
import { makeIdempotencyGuard } from "./idempotencyGuard.ts"

interface IncludeQuery {
  readonly "include-api-keys"?: boolean
  readonly "include-managers"?: boolean
  readonly "include-manager-invites"?: boolean
  readonly "key-format"?: KeyVisibility
}

const parseInclude = (query: IncludeQuery) => ({
  apiKeys: query["include-api-keys"],
  managers: query["include-managers"],
  managerInvites: query["include-manager-invites"],
  keyFormat: query["key-format"]
})

export const ConsumersHttp = Effect.gen(function* () {
  const consumers = yield* Consumers
  const runIdempotent = yield* makeIdempotencyGuard
  const { keyStorage } = yield* SecretBox
  return {
    list: ({ params, query }) =>
      Effect.gen(function* () {
        yield* checkCanSeeKeyValues(query["key-format"])
        const filter = { tags: parseTagFilter(query), managerEmail: query["manager-email"] }
        return yield* consumers.list(params, {
          limit: query.limit,
          offset: query.offset,
          ...filter,
          ...parseInclude(query)
        })
      }).pipe(mapErrorsToProblems),
    create: ({ params, query, payload }) =>
      runIdempotent((idempotency) =>
        mapErrorsToProblems(
          Effect.map(consumers.create(params, payload, { withApiKey: query["with-api-key"], idempotency }), withETag)
        )
      ),
    get: ({ params, query }) =>
      Effect.gen(function* () {
        yield* checkCanSeeKeyValues(query["key-format"])
        const options = { ...parseInclude(query), ifTags: parseTagFilter(query) }
        return withETag(yield* consumers.get(params, params.consumerName, options))
      }).pipe(mapErrorsToProblems),
    update: ({ params, query, headers, payload }) =>
      Effect.gen(function* () {
        const conditions = {
          ifTags: parseTagFilter(query),
          ifMatch: yield* parseIfMatch(headers["if-match"])
        }
        return withETag(yield* consumers.update(params, params.consumerName, payload, conditions))
      }).pipe(mapErrorsToProblems),
    remove: ({ params, query, headers }) =>
      Effect.gen(function* () {
        const conditions = {
          ifTags: parseTagFilter(query),
          ifMatch: yield* parseIfMatch(headers["if-match"])
        }
        yield* consumers.remove(params, params.consumerName, conditions)
      }).pipe(mapErrorsToProblems),
    rollKey: ({ params, query, payload }) =>
      runIdempotent((idempotency) =>
        Effect.gen(function* () {
          const { accountName, bucketName, consumerName } = params
          const options = { ifTags: parseTagFilter(query), idempotency }
          const key = yield* consumers.rollKey(params, consumerName, payload.expiresOn, options)
          const segments = [
            "accounts",
            accountName,
            "key-buckets",
            bucketName,
            "consumers",
            consumerName,
            "keys",
            key.id
          ]
          const { basePath } = yield* RequestContext
          const location = `${basePath}/v1/${segments.map(encodeURIComponent).join("/")}`
          const headers = { location }
          // Without stored key values, this response is the only chance to see the new key.
          return keyStorage === "hash-only"
            ? HttpApiSchema.withHeaders({ body: key, headers })
            : HttpApiSchema.withHeaders({ body: undefined, headers })
        }).pipe(mapErrorsToProblems)
      )
  } satisfies GroupHandlers<"consumers">
})
