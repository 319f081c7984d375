import { Schema } from "effect"
import { defineError } from "../../errors/defineError.ts"
import { type LimitName, limitNames } from "./Limits.ts"

interface LimitMessage {
  readonly owner: "An account" | "A key bucket" | "A metering bucket"
  readonly items: string
  readonly remedy: string
}

const limitMessages: Readonly<Record<LimitName, LimitMessage>> = {
  consumersPerKeyBucket: { owner: "A key bucket", items: "consumers", remedy: "Remove one first" },
  keyBucketsPerAccount: { owner: "An account", items: "key buckets", remedy: "Use an existing one" },
  meteringBucketsPerAccount: { owner: "An account", items: "metering buckets", remedy: "Remove one first" },
  metersPerMeteringBucket: {
    owner: "A metering bucket",
    items: "names of meters in all plans that it ever had",
    remedy: "Use an existing name"
  },
  plansPerMeteringBucket: { owner: "A metering bucket", items: "plans", remedy: "Remove one first" },
  subscriptionsPerMeteringBucket: { owner: "A metering bucket", items: "subscriptions", remedy: "Remove one first" },
  projectsPerAccount: { owner: "An account", items: "projects", remedy: "Remove one first" },
  deploymentsPerAccount: { owner: "An account", items: "deployments", remedy: "Remove one first" },
  webhooksPerAccount: { owner: "An account", items: "webhooks", remedy: "Remove one first" },
  openUploadsPerAccount: {
    owner: "An account",
    items: "unused upload URLs",
    remedy: "Use one or let one expire first"
  },
  concurrentUploadsPerAccount: {
    owner: "An account",
    items: "uploads at a time",
    remedy: "Wait for one to finish"
  },
  recordBytesPerAccount: {
    owner: "An account",
    items: "bytes of records and recorded responses",
    remedy: "Remove records first, or wait two days for responses to be forgotten,"
  },
  deploymentBytesPerAccount: {
    owner: "An account",
    items: "bytes of sources and releases",
    remedy: "Remove a deployment first"
  }
}

/** The new record would exceed a limit. */
export class LimitReached extends defineError<LimitReached>()(
  "LimitReached",
  {
    code: "limit-reached",
    status: 409,
    title: "Limit reached",
    meaning: "A new record would exceed one of the limits of the account, the key bucket or the metering bucket.",
    remedy:
      "Do what `detail` says: remove a record, use an existing key bucket or meter, or wait for uploads. Or the operator " +
      "raises the limit: `limit` is its name in the option `limits`.",
    detail: ({ limit, max }) => {
      const { owner, items, remedy } = limitMessages[limit]
      return `${owner} may have at most ${max.toLocaleString("en-US")} ${items}. ${remedy} or raise limits.${limit}.`
    }
  },
  {
    limit: Schema.Literals(limitNames).annotate({ description: "The limit, named as in the option `limits`." }),
    max: Schema.Int.annotate({ description: "The value of the limit." })
  }
) {}
