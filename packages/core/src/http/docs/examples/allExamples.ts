import * as deployments from "./deployments.ts"
import type { AllExamples } from "./Examples.ts"
import * as events from "./events.ts"
import * as keys from "./keys.ts"
import * as metering from "./metering.ts"

/** An example of each body of each operation, by group and operation. */
export const allExamples: AllExamples = {
  access: keys.access,
  accounts: keys.accounts,
  keyBuckets: keys.keyBuckets,
  consumers: keys.consumers,
  keys: keys.keys,
  buckets: metering.buckets,
  plans: metering.plans,
  subscriptions: metering.subscriptions,
  usage: metering.usage,
  projects: deployments.projects,
  deployments: deployments.deployments,
  uploads: deployments.uploads,
  events: events.events,
  webhooks: events.webhooks,
  system: { alive: { response: { status: "ok" } }, ready: { response: { status: "ok" } } }
}
