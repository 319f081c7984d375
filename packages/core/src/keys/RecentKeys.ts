/**
 * The keys that this process found valid within the last hour, for routes that stay open while the store cannot be
 * reached. Nothing is remembered until such a route exists.
 */

import { BoundedMap, type Partition, type SecretBox, type TrustedClock } from "@tollgate/store/internal"
import { type Clock, DateTime } from "effect"
import type { KeyBucket } from "../records/KeyBucket.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import type { IpSource, IsIpAllowed } from "./ipAddresses.ts"
import { findMissingScopes } from "./scopes.ts"
import type { FoundKey } from "./Verification.ts"

const maxAgeMs = 60 * 60_000
/** Room for 100,000 keys without scopes. */
const maxBytes = 35_000_000
/** The hash of a key, the name of its partition, and what a map needs for an entry. */
const entryBytes = 350

interface RecentKey {
  /** An hour after it was last found valid, or when it expires, if that is earlier. */
  readonly until: number
  readonly scopes: ReadonlyArray<string> | undefined
  readonly ipAllow: ReadonlyArray<string> | undefined
}

/** What limits the use of a valid key. */
type Restrictions = Pick<FoundKey, "expiresOn" | "scopes" | "ipAllow">

const noTexts: ReadonlyArray<string> = []

const weigh = ({ scopes = noTexts, ipAllow = noTexts }: RecentKey): number =>
  [...scopes, ...ipAllow].reduce((bytes, text) => bytes + 2 * text.length + 32, entryBytes)

const toEntryKey = (partition: Partition.Partition, hash: string): string => `${partition} ${hash}`

export class RecentKeys {
  readonly #secretBox: SecretBox["Service"]
  readonly #trustedClock: TrustedClock["Service"]
  readonly #isIpAllowed: IsIpAllowed
  #keys: BoundedMap<string, RecentKey> | undefined
  isEnabled = false

  constructor(secretBox: SecretBox["Service"], trustedClock: TrustedClock["Service"], isIpAllowed: IsIpAllowed) {
    this.#secretBox = secretBox
    this.#trustedClock = trustedClock
    this.#isIpAllowed = isIpAllowed
  }

  /** From now on, keys are remembered. */
  enable(): void {
    this.#keys ??= new BoundedMap(maxBytes, weigh)
    this.isEnabled = true
  }

  /** Notes what the store said of a key. `hash` is its hash under the primary secret. */
  note(partition: Partition.Partition, hash: string, verified: Restrictions | undefined, now: number): void {
    if (this.#keys === undefined) return
    const entryKey = toEntryKey(partition, hash)
    if (verified === undefined) {
      this.#keys.delete(entryKey)
      return
    }
    const { expiresOn, scopes, ipAllow } = verified
    const expiry = expiresOn === undefined ? Number.POSITIVE_INFINITY : DateTime.toEpochMillis(expiresOn)
    this.#keys.set(entryKey, { until: Math.min(now + maxAgeMs, expiry), scopes, ipAllow })
  }

  /** Whether a key was valid the last time that it was checked, within the last hour, and may be used so. */
  has(bucket: KeyBucket, key: string, scopes: ReadonlyArray<string>, clock: Clock.Clock, ip?: IpSource): boolean {
    const [hash = ""] = this.#secretBox.keyHashes(key)
    const recent = this.#keys?.get(toEntryKey(getKeyBucketPartition(bucket), hash))
    return (
      recent !== undefined &&
      this.#trustedClock.readMillis(clock) < recent.until &&
      (recent.ipAllow === undefined || this.#isIpAllowed(recent.ipAllow, ip)) &&
      findMissingScopes(recent.scopes, scopes).length === 0
    )
  }
}
