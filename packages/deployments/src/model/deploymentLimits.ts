import { type LimitDescriptions, makeLimitReached } from "@tollgate/core/module"

export const deploymentLimits = {
  projectsPerAccount: { default: 1_000, owner: "An account", items: "projects", remedy: "Remove one first" },
  deploymentsPerAccount: { default: 1_000, owner: "An account", items: "deployments", remedy: "Remove one first" },
  openUploadsPerAccount: {
    default: 100,
    owner: "An account",
    items: "unused upload URLs",
    remedy: "Use one or let one expire first"
  },
  concurrentUploadsPerAccount: {
    default: 32,
    owner: "An account",
    items: "uploads at a time",
    remedy: "Wait for one to finish"
  },
  deploymentBytesPerAccount: {
    default: 10 * 1024 ** 3,
    owner: "An account",
    items: "bytes of sources and releases",
    remedy: "Remove a deployment first"
  }
} satisfies LimitDescriptions

/** The error of a limit that was reached. */
export const limitReached = makeLimitReached(deploymentLimits)
