/**
 * Unpacks a request, calls the service, packs the answer.
 */
import { Effect } from "effect"
import { canAccessAccount, Forbidden, Principal } from "../../access/Principal.ts"
import { parseIfMatch, withETag } from "../../api/parameters.ts"
import { MeteringBucketNotFound } from "../../metering/MeteringBucket.ts"
import { MeteringBuckets } from "../../metering/MeteringBuckets.ts"
import { invalidBody } from "../../schema/InvalidInput.ts"
import type { AccountName } from "../../schema/Names.ts"
import type { HandlersOf } from "../HandlersOf.ts"
import { toProblems } from "../toProblems.ts"
import { makeIdempotentRunner } from "./idempotent.ts"

/** The bucket, if it is the caller's; another account's is not told from one that does not exist. */
export const findOwnBucket = Effect.fnUntraced(function* (buckets: MeteringBuckets["Service"], bucketId: string) {
  const principal = yield* Principal
  const entry = yield* buckets.get(bucketId)
  return canAccessAccount(principal, entry.value.accountName) ? entry : yield* new MeteringBucketNotFound({ bucketId })
})

/** The account that a request names, or the caller's; `*` for a caller for all accounts who names none. */
const accountFor = Effect.fnUntraced(function* (named: AccountName | undefined) {
  const principal = yield* Principal
  if (named === undefined) return principal.account
  return canAccessAccount(principal, named)
    ? named
    : yield* new Forbidden({ problem: "This credential is for another account" })
})

export const MeteringBucketsHttp = Effect.gen(function* () {
  const buckets = yield* MeteringBuckets
  const idempotent = yield* makeIdempotentRunner
  return {
    list: ({ query: { accountName, ...page } }) =>
      toProblems(Effect.flatMap(accountFor(accountName), (account) => buckets.list(account, page))),
    create: ({ payload }) =>
      idempotent((idempotency) =>
        Effect.gen(function* () {
          const account = yield* accountFor(payload.accountName)
          if (account === "*") return yield* invalidBody("/accountName", "a caller for all accounts names one")
          return withETag(yield* buckets.create(account, { idempotency }))
        }).pipe(toProblems)
      ),
    get: ({ params }) => toProblems(Effect.map(findOwnBucket(buckets, params.bucketId), withETag)),
    remove: ({ params, headers }) =>
      Effect.gen(function* () {
        const { bucketId } = params
        if (!canAccessAccount(yield* Principal, yield* buckets.owner(bucketId)))
          return yield* new MeteringBucketNotFound({ bucketId })
        yield* buckets.remove(params.bucketId, { ifMatch: yield* parseIfMatch(headers["if-match"]) })
      }).pipe(toProblems)
  } satisfies HandlersOf<"buckets">
})
