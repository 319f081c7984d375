/**
 * Unpacks a request, calls the service, packs the answer.
 */
import { Effect } from "effect"
import { Forbidden, mayActFor, Principal } from "../access/Principal.ts"
import type { HandlersOf } from "../http/handlers.ts"
import { makeIdempotent } from "../http/idempotent.ts"
import { ifMatchIn, withETag } from "../http/parameters.ts"
import { explained } from "../http/problems.ts"
import { invalidBody } from "../shared/InvalidInput.ts"
import type { AccountName } from "../shared/Names.ts"
import { optional } from "../shared/optional.ts"
import { BucketNotFound } from "./Bucket.ts"
import { Buckets } from "./Buckets.ts"

/** The bucket, if it is the caller's; another account's is not told from one that does not exist. */
export const ownBucket = Effect.fnUntraced(function* (buckets: Buckets["Service"], bucketId: string) {
  const principal = yield* Principal
  const entry = yield* buckets.get(bucketId)
  return mayActFor(principal, entry.value.accountName) ? entry : yield* new BucketNotFound({ bucketId })
})

/** The account that a request names, or the caller's; `*` for a caller for all accounts who names none. */
const accountFor = Effect.fnUntraced(function* (named: AccountName | undefined) {
  const principal = yield* Principal
  if (named === undefined) return principal.account
  return mayActFor(principal, named)
    ? named
    : yield* new Forbidden({ problem: "This credential is for another account" })
})

export const BucketsHttp = Effect.gen(function* () {
  const buckets = yield* Buckets
  const idempotent = yield* makeIdempotent
  return {
    list: ({ query: { accountName, ...page } }) =>
      explained(Effect.flatMap(accountFor(accountName), (account) => buckets.list(account, page))),
    create: ({ payload }) =>
      idempotent((idempotency) =>
        Effect.gen(function* () {
          const account = yield* accountFor(payload.accountName)
          if (account === "*") return yield* invalidBody("/accountName", "a caller for all accounts names one")
          return withETag(yield* buckets.create(account, optional({ idempotency })))
        }).pipe(explained)
      ),
    get: ({ params }) => explained(Effect.map(ownBucket(buckets, params.bucketId), withETag)),
    remove: ({ params, headers }) =>
      Effect.gen(function* () {
        const { bucketId } = params
        if (!mayActFor(yield* Principal, yield* buckets.owner(bucketId))) return yield* new BucketNotFound({ bucketId })
        yield* buckets.remove(params.bucketId, optional({ ifMatch: yield* ifMatchIn(headers["if-match"]) }))
      }).pipe(explained)
  } satisfies HandlersOf<"buckets">
})
