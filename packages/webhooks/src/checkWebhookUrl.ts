import { Effect } from "effect"
import { CurrentResolution } from "./resolutionTurns.ts"
import { resolveTarget } from "./resolveTarget.ts"
import { InvalidWebhookUrl } from "./WebhookError.ts"

/**
 * Checks the URL of a webhook when it is created or changed. A DNS that does not answer, or that nobody had time to ask,
 * is no error here, because every attempt to send checks the addresses again.
 */
export const checkWebhookUrl = (
  url: string,
  allowPrivateNetworks: boolean,
  accountName: string
): Effect.Effect<void, InvalidWebhookUrl> =>
  resolveTarget(url, allowPrivateNetworks).pipe(
    Effect.provideService(CurrentResolution, { accountName, purpose: "check" }),
    Effect.catchTags({
      TargetError: ({ isTemporary, problem }) => (isTemporary ? Effect.void : new InvalidWebhookUrl({ problem })),
      ResolverBusy: () => Effect.void
    }),
    Effect.asVoid
  )
