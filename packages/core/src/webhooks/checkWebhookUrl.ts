import { Effect } from "effect"
import { resolveTarget } from "./resolveTarget.ts"
import { InvalidWebhookUrl } from "./WebhookError.ts"

/**
 * Checks the URL of a webhook when it is created or changed. A DNS that does not answer is no error here, because every
 * attempt to send checks the addresses again.
 */
export const checkWebhookUrl = (url: string, allowPrivateNetworks: boolean): Effect.Effect<void, InvalidWebhookUrl> =>
  resolveTarget(url, allowPrivateNetworks).pipe(
    Effect.catch(({ isTemporary, problem }) => (isTemporary ? Effect.void : new InvalidWebhookUrl({ problem }))),
    Effect.asVoid
  )
