import { type LimitDescriptions, makeLimitReached } from "@tollgate/core/module"

export const webhookLimits = {
  webhooksPerAccount: { default: 20, owner: "An account", items: "webhooks", remedy: "Remove one first" }
} satisfies LimitDescriptions

/** The error of a limit that was reached. */
export const limitReached = makeLimitReached(webhookLimits)
