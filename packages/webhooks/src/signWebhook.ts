/**
 * Signatures of Standard Webhooks 1.0 (https://www.standardwebhooks.com): HMAC-SHA-256 over the id, the time and the
 * body of a message.
 */

import { createHmac } from "node:crypto"
import { SecureRandom } from "@tollgate/core/module"
import { Effect } from "effect"

const secretPrefix = "whsec_"
const secretBytes = 32

export const generateWebhookSecret: Effect.Effect<string> = Effect.map(
  SecureRandom,
  ({ bytes }) => secretPrefix + Buffer.from(bytes(secretBytes)).toString("base64")
)

/**
 * The value of the header `webhook-signature`: one signature for each secret, so that receivers accept the message
 * before and after they replace their secret.
 */
export const signWebhook = (
  secrets: ReadonlyArray<string>,
  id: string,
  timestampSeconds: number,
  body: string
): string =>
  secrets
    .map((secret) => Buffer.from(secret.slice(secretPrefix.length), "base64"))
    .map((key) => createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`).digest("base64"))
    .map((signature) => `v1,${signature}`)
    .join(" ")
