/**
 * Metering buckets that an application knows by their names: the id of one is looked up on first use, and the bucket created
 * if it does not exist. Ids begin with `bckt_`, which no name does.
 */

import { type AccountName, BoundedMap, makeDecoder } from "@tollgate/store/internal"
import { Effect, Schema } from "effect"
import type { MeteringBucketsMethods } from "../metering/buckets/MeteringBucketsApi.ts"
import { isLikeId, MeteringBucketName } from "../metering/model/MeteringBucket.ts"
import { ensureMeteringBucket } from "./ensureMeteringBucket.ts"
import type { MeteringBucketHandle } from "./handles.ts"
import type { ResolveScope } from "./makeMethods.ts"
import { parsePathSegment } from "./pathSegment.ts"

/** How many names a process remembers. */
const maxNames = 10_000

const decodeName = makeDecoder(Schema.Struct({ meteringBucketName: MeteringBucketName }), "parameters")

interface FoundBucket {
  /** The id, as far as it is known. */
  readonly getId: () => string | undefined
  /** Finds the id. `undefined` if the id was given. */
  readonly resolveScope?: ResolveScope
}

/** Makes the function that finds metering buckets by name or id. All handles share what it has found. */
export const makeFindBucketId = (getMethods: (accountName: AccountName) => MeteringBucketsMethods) => {
  const ids = new BoundedMap<string, string>(maxNames)
  return (accountName: AccountName, nameOrId: string): FoundBucket => {
    parsePathSegment("meteringBucketId", nameOrId)
    if (isLikeId(nameOrId)) return { getId: () => nameOrId }
    const { meteringBucketName } = Effect.runSync(decodeName({ meteringBucketName: nameOrId }))
    const cacheKey = `${accountName} ${meteringBucketName}`
    return {
      getId: () => ids.get(cacheKey),
      resolveScope: async (isOutdated) => {
        const known = isOutdated ? undefined : ids.get(cacheKey)
        const bucketId = known ?? (await ensureMeteringBucket(getMethods(accountName), meteringBucketName, {}))
        ids.set(cacheKey, bucketId)
        return { bucketId }
      }
    }
  }
}

/** Adds the id to a handle. */
export const withId = (
  handle: Omit<MeteringBucketHandle, "id">,
  nameOrId: string,
  getId: () => string | undefined
): MeteringBucketHandle =>
  Object.defineProperty(handle, "id", {
    // A handle whose id is not known yet can be printed and compared.
    enumerable: getId() !== undefined,
    get: () => {
      const id = getId()
      if (id !== undefined) return id
      throw new Error(
        `The id of the metering bucket "${nameOrId}" is not known yet. Get the handle with ` +
          `await meteringBuckets.ensure("${nameOrId}"), or read the id after the first call.`
      )
    }
  }) as MeteringBucketHandle
