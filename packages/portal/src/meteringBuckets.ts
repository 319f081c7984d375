/**
 * Finds the metering bucket of an account by its id or its name.
 */

import { MeteringBucketName, type MeteringBuckets } from "@tollgate/core/effect"
import { type AccountName, isLikeId, MeteringBucketNotFound } from "@tollgate/core/module"
import { Effect, Schema } from "effect"

const isName = Schema.is(MeteringBucketName)

/** Fails for a metering bucket of another account, as if it did not exist. */
export const findMeteringBucketId = Effect.fnUntraced(function* (
  { list, getAccountName }: MeteringBuckets["Service"],
  accountName: AccountName,
  nameOrId: string
) {
  const notFound = new MeteringBucketNotFound({
    bucketId: nameOrId,
    detail: `This account has no metering bucket "${nameOrId}"`
  })
  if (isLikeId(nameOrId)) return (yield* getAccountName(nameOrId)) === accountName ? nameOrId : yield* notFound
  if (!isName(nameOrId)) return yield* notFound
  const { data } = yield* list({ query: { accountName, name: nameOrId, limit: 1, offset: 0 } })
  return data[0]?.id ?? (yield* notFound)
})
