/**
 * Unpacks a request, calls the service, packs the answer.
 */
import { Effect } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { checkKeyFormat } from "../http/checkKeyFormat.ts"
import type { HandlersOf } from "../http/handlers.ts"
import { Incoming } from "../http/Incoming.ts"
import { makeIdempotent } from "../http/idempotent.ts"
import { ifMatchIn, tagsIn, withETag } from "../http/parameters.ts"
import { explained } from "../http/problems.ts"
import type { KeyFormatParameter } from "../keys/ApiKey.ts"
import { KeyVault } from "../keys/KeyVault.ts"
import { optional } from "../shared/optional.ts"
import { Consumers } from "./Consumers.ts"

interface ViewQuery {
  readonly "include-api-keys"?: boolean
  readonly "include-managers"?: boolean
  readonly "include-manager-invites"?: boolean
  readonly "key-format"?: KeyFormatParameter
}

const viewIn = (query: ViewQuery) =>
  optional({
    apiKeys: query["include-api-keys"],
    managers: query["include-managers"],
    managerInvites: query["include-manager-invites"],
    keyFormat: query["key-format"]
  })

export const ConsumersHttp = Effect.gen(function* () {
  const consumers = yield* Consumers
  const idempotent = yield* makeIdempotent
  const { retention } = yield* KeyVault
  return {
    list: ({ params, query }) =>
      Effect.gen(function* () {
        yield* checkKeyFormat(query["key-format"])
        const filter = optional({ tags: tagsIn(query), managerEmail: query["manager-email"] })
        return yield* consumers.list(params, {
          limit: query.limit,
          offset: query.offset,
          ...filter,
          ...viewIn(query)
        })
      }).pipe(explained),
    create: ({ params, query, payload }) =>
      idempotent((idempotency) =>
        explained(
          Effect.map(
            consumers.create(params, payload, optional({ withApiKey: query["with-api-key"], idempotency })),
            withETag
          )
        )
      ),
    get: ({ params, query }) =>
      Effect.gen(function* () {
        yield* checkKeyFormat(query["key-format"])
        const options = { ...viewIn(query), ...optional({ guard: tagsIn(query) }) }
        return withETag(yield* consumers.get(params, params.consumerName, options))
      }).pipe(explained),
    update: ({ params, query, headers, payload }) =>
      Effect.gen(function* () {
        const conditions = optional({ guard: tagsIn(query), ifMatch: yield* ifMatchIn(headers["if-match"]) })
        return withETag(yield* consumers.update(params, params.consumerName, payload, conditions))
      }).pipe(explained),
    remove: ({ params, query, headers }) =>
      Effect.gen(function* () {
        const conditions = optional({ guard: tagsIn(query), ifMatch: yield* ifMatchIn(headers["if-match"]) })
        yield* consumers.remove(params, params.consumerName, conditions)
      }).pipe(explained),
    rollKey: ({ params, query, payload }) =>
      idempotent((idempotency) =>
        Effect.gen(function* () {
          const { accountName, bucketName, consumerName } = params
          const options = optional({ guard: tagsIn(query), idempotency })
          const key = yield* consumers.rollKey(params, consumerName, payload.expiresOn, options)
          const parts = ["accounts", accountName, "key-buckets", bucketName, "consumers", consumerName, "keys", key.id]
          const { base } = yield* Incoming
          const location = `${base}/v1/${parts.map(encodeURIComponent).join("/")}`
          const headers = { location }
          return retention === "hashed"
            ? HttpApiSchema.withHeaders({ body: key, headers })
            : HttpApiSchema.withHeaders({ body: undefined, headers })
        }).pipe(explained)
      )
  } satisfies HandlersOf<"consumers">
})
