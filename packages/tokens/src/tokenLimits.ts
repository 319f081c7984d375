import { type LimitDescriptions, makeLimitReached } from "@tollgate/core/module"

export const tokenLimits = {
  tokensPerAccount: { default: 100, owner: "An account", items: "tokens", remedy: "Remove one first" },
  sessionsPerAccount: { default: 10_000, owner: "An account", items: "sessions", remedy: "Revoke some first" },
  customerSessionsPerAccount: {
    default: 100_000,
    owner: "An account",
    items: "sessions of customers",
    remedy: "Revoke some first"
  }
} satisfies LimitDescriptions

/** The error of a limit that was reached. */
export const limitReached = makeLimitReached(tokenLimits)
