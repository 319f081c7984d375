/**
 * Where the rate limits of routes are counted. A limit that is counted in two buckets would allow twice as much.
 */

import { BoundedMap, ConfigurationError } from "@tollgate/store/internal"
import type { KeyBucket } from "../records/KeyBucket.ts"
import type { RateLimitPolicy } from "./RateLimit.ts"

/** How many limits are remembered. */
const maxRemembered = 10_000

const keyBucketHome = "the key bucket"

/** The limits of all routes of a Tollgate. Those of different key buckets have different consumers. */
export class LimitHomes {
  readonly #homes = new BoundedMap<string, string>(maxRemembered)

  /** Remembers where a route counts its limits. Throws a `ConfigurationError` if another route counts one elsewhere. */
  add(
    { accountName, bucketName }: KeyBucket,
    policies: ReadonlyArray<RateLimitPolicy>,
    meteringBucketId: string | undefined
  ): void {
    const home = meteringBucketId === undefined ? keyBucketHome : `the metering bucket ${meteringBucketId}`
    for (const { name, limit, per, burst } of policies) {
      const key = JSON.stringify([accountName, bucketName, name, limit, per, burst])
      const other = this.#homes.get(key) ?? home
      if (other !== home) {
        const problem =
          `the limit "${name}" of this route is counted in ${home}, and that of another route in ${other}, so both ` +
          "together would allow more than the limit. To count it once, set limitsIn on the route without metering to " +
          "the id of the metering bucket. To have two limits, give them different names."
        throw new ConfigurationError({ option: "limitsIn", problem })
      }
      this.#homes.set(key, home)
    }
  }
}
