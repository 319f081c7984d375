/**
 * The secrets that sign the requests of a webhook, encrypted at rest.
 */
import type { SecretBox } from "@tollgate/core/module"
import { DateTime, Effect, Option } from "effect"
import { generateWebhookSecret } from "./signWebhook.ts"
import type { StoredWebhook } from "./Webhook.ts"

/** How long the previous secret signs too after a rotation. */
const overlap = { hours: 24 }
/** How many secrets sign at once, if the secret is rotated again and again. */
const maxSecrets = 4

type Secrets = StoredWebhook["secrets"]
type Owner = Pick<StoredWebhook, "accountName" | "id">

/** Binds a stored secret to its webhook. */
const toAssociatedData = ({ accountName, id }: Owner): string => `webhook ${accountName} ${id}`

const isCurrent =
  (now: DateTime.Utc) =>
  ({ expiresOn }: Secrets[number]): boolean =>
    expiresOn === undefined || DateTime.isGreaterThan(expiresOn, now)

/** A new secret, and the secrets with it. The previous one expires after the overlap. */
export const rotateSecrets = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  owner: Owner,
  secrets: Secrets,
  now: DateTime.Utc
) {
  const secret = yield* generateWebhookSecret
  const encrypted = yield* secretBox.encrypt(secret, toAssociatedData(owner))
  const previous = secrets
    .filter(isCurrent(now))
    .map(({ expiresOn = DateTime.add(now, overlap), ...rest }) => ({ ...rest, expiresOn }))
  return { secret, secrets: [{ encrypted }, ...previous].slice(0, maxSecrets) }
})

/** The secrets that sign now. A secret that cannot be decrypted is left out. */
export const decryptSecrets = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  webhook: StoredWebhook,
  now: DateTime.Utc
) {
  const decrypted = yield* Effect.forEach(webhook.secrets.filter(isCurrent(now)), ({ encrypted }) =>
    Effect.option(secretBox.decrypt(encrypted, toAssociatedData(webhook)))
  )
  return decrypted.flatMap(Option.toArray)
})

/**
 * The secrets that sign now, under the primary secret of the store, or `undefined` if they already are. Fails if one
 * cannot be decrypted.
 */
export const reencryptSecrets = Effect.fnUntraced(function* (
  secretBox: SecretBox["Service"],
  webhook: StoredWebhook,
  now: DateTime.Utc
) {
  const current = webhook.secrets.filter(isCurrent(now))
  if (current.every(({ encrypted }) => secretBox.isUnderPrimarySecret(encrypted))) return undefined
  return yield* Effect.forEach(current, ({ encrypted, ...rest }) =>
    secretBox.decrypt(encrypted, toAssociatedData(webhook)).pipe(
      Effect.flatMap((secret) => secretBox.encrypt(secret, toAssociatedData(webhook))),
      Effect.map((encrypted) => ({ ...rest, encrypted }))
    )
  )
})
