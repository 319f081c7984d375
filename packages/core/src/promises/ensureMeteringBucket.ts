import type { WriteCallOptions } from "../api/Methods.ts"
import type { MeteringBucketsMethods } from "../metering/buckets/MeteringBucketsApi.ts"
import { MeteringBucketNameTaken } from "../metering/model/MeteringBucketError.ts"
import { parsePathSegment } from "./pathSegment.ts"

/**
 * Returns the id of the metering bucket with a name, and creates the bucket if it does not exist. If another process
 * creates it at the same time, or its removal is not complete, looks it up again.
 */
export const ensureMeteringBucket = async (
  meteringBuckets: MeteringBucketsMethods,
  name: string,
  { actor, ...options }: WriteCallOptions
): Promise<string> => {
  parsePathSegment("name", name)
  for (let attempt = 1; ; attempt++) {
    const { data } = await meteringBuckets.list({ ...options, name, limit: 1 })
    if (data[0] !== undefined) return data[0].id
    try {
      return (await meteringBuckets.create({ name }, { actor, ...options })).id
    } catch (error) {
      if (!(error instanceof MeteringBucketNameTaken) || attempt === 3) throw error
    }
  }
}
