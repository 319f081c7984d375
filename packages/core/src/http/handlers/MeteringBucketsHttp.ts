/**
 * HTTP handlers of metering buckets: each passes the decoded request to the service and maps its errors to problems.
 */
import { Effect } from "effect"
import { canAccessAccount, Forbidden, Principal } from "../../access/Principal.ts"
import { parseIfMatch, withETag } from "../../api/etag.ts"
import { MeteringBucketNotFound } from "../../metering/MeteringBucket.ts"
import { MeteringBuckets } from "../../metering/MeteringBuckets.ts"
import { invalidBody } from "../../schema/InvalidInput.ts"
import type { AccountName } from "../../schema/Names.ts"
import type { GroupHandlers } from "../GroupHandlers.ts"
import { mapErrorsToProblems } from "../mapErrorsToProblems.ts"
import { makeIdempotencyGuard } from "./idempotencyGuard.ts"

/**
 * Gets a metering bucket of the caller's account. Those of other accounts are not found, so that IDs cannot be probed.
 */
export const findOwnMeteringBucket = Effect.fnUntraced(function* (
  meteringBuckets: MeteringBuckets["Service"],
  bucketId: string
) {
  const principal = yield* Principal
  const entry = yield* meteringBuckets.get(bucketId)
  return canAccessAccount(principal, entry.value.accountName) ? entry : yield* new MeteringBucketNotFound({ bucketId })
})

/** The requested account if the caller has access to it; by default the caller's account, which may be `*`. */
const resolveAccount = Effect.fnUntraced(function* (requested: AccountName | undefined) {
  const principal = yield* Principal
  if (requested === undefined) return principal.account
  return canAccessAccount(principal, requested)
    ? requested
    : yield* new Forbidden({ problem: "This credential is for another account" })
})

export const MeteringBucketsHttp = Effect.gen(function* () {
  const meteringBuckets = yield* MeteringBuckets
  const runIdempotent = yield* makeIdempotencyGuard
  return {
    list: ({ query: { accountName, ...page } }) =>
      mapErrorsToProblems(
        Effect.flatMap(resolveAccount(accountName), (account) => meteringBuckets.list(account, page))
      ),
    create: ({ payload }) =>
      runIdempotent((idempotency) =>
        Effect.gen(function* () {
          const account = yield* resolveAccount(payload.accountName)
          if (account === "*")
            return yield* invalidBody("/accountName", "is required, because this credential is for all accounts")
          return withETag(yield* meteringBuckets.create(account, { idempotency }))
        }).pipe(mapErrorsToProblems)
      ),
    get: ({ params }) =>
      mapErrorsToProblems(Effect.map(findOwnMeteringBucket(meteringBuckets, params.bucketId), withETag)),
    remove: ({ params, headers }) =>
      Effect.gen(function* () {
        const { bucketId } = params
        if (!canAccessAccount(yield* Principal, yield* meteringBuckets.getAccountName(bucketId)))
          return yield* new MeteringBucketNotFound({ bucketId })
        yield* meteringBuckets.remove(params.bucketId, { ifMatch: yield* parseIfMatch(headers["if-match"]) })
      }).pipe(mapErrorsToProblems)
  } satisfies GroupHandlers<"buckets">
})
