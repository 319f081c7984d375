/**
 * `authorize` for callers outside Effect.
 */
import { DateTime, Effect, Schema } from "effect"
import type { ApiKeys } from "../keys/ApiKeys.ts"
import type { Verified } from "../keys/Verification.ts"
import { KeyBucket } from "../shared/KeyBucket.ts"
import { optional } from "../shared/optional.ts"
import * as Promises from "../shared/Promises.ts"
import { type Authorization, makeAuthorize } from "./Authorize.ts"
import type { QuotasJson } from "./MeteringPromise.ts"
import { Consumption, Quotas } from "./Quota.ts"
import type { Usage } from "./Usage.ts"

export interface AuthorizeInput {
  readonly account: string
  readonly bucket: string
  readonly key: string
  /** What to count, and where; without it, the key is verified and nothing more. */
  readonly metering?: { readonly bucketId: string; readonly meters: Readonly<Record<string, number>> }
}

type Consumer = (typeof Verified.Encoded)["consumer"]

export type AuthorizationJson =
  | { readonly allowed: true; readonly consumer: Consumer; readonly keyId: string; readonly quotas?: QuotasJson }
  | { readonly allowed: false; readonly reason: "invalid-key" }
  | {
      readonly allowed: false
      readonly reason: "no-subscription" | "subscription-not-active"
      readonly consumer: Consumer
    }
  | {
      readonly allowed: false
      readonly reason: "over-quota"
      readonly consumer: Consumer
      readonly meter: string
      readonly max: number
      readonly resetsOn: string
    }

const bucketOf = Promises.parameters(KeyBucket)
const consumption = Promises.body(Consumption)
const encodeQuotas = Schema.encodeSync(Quotas)

const encode = (authorization: Authorization): AuthorizationJson => {
  if (authorization.allowed) {
    const { quotas, ...rest } = authorization
    return { ...rest, ...optional({ quotas: quotas === undefined ? undefined : encodeQuotas(quotas) }) }
  }
  return authorization.reason === "over-quota"
    ? { ...authorization, resetsOn: DateTime.formatIso(authorization.resetsOn) }
    : authorization
}

export const authorizePromise = (keys: ApiKeys["Service"], usage: Usage["Service"]) => {
  const authorize = makeAuthorize(keys, usage)
  return ({ account, bucket, key, metering }: AuthorizeInput): Promise<AuthorizationJson> =>
    Promises.run(
      Effect.gen(function* () {
        const address = yield* bucketOf({ accountName: account, bucketName: bucket })
        const asked = metering === undefined ? undefined : yield* consumption({ meters: metering.meters })
        const counted = asked && metering ? { bucketId: metering.bucketId, meters: asked.meters } : undefined
        return encode(yield* authorize({ bucket: address, key, ...optional({ metering: counted }) }))
      })
    )
}
