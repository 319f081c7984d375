import type { SystemApi } from "../../../api/SystemApi.ts"
import type { GroupExamples } from "./Examples.ts"
import { events } from "./events.ts"
import { access, accounts, consumers, decisions, keyBuckets, keys, search } from "./keys.ts"
import { alerts, buckets, customers, grants, plans, subscriptions, usage } from "./metering.ts"

const system: GroupExamples<typeof SystemApi> = {
  alive: { response: { status: "ok" } },
  ready: { response: { status: "ok" } }
}

/** What modules tell about an account is in its example, too. */
export const makeAccountExamples = (details: ReadonlyArray<object>): typeof accounts => ({
  ...accounts,
  get: { response: Object.assign({}, accounts.get.response, ...details) }
})

/** An example of each body of each operation of core, by group and operation. */
export const coreExamples = {
  access,
  accounts,
  search,
  keyBuckets,
  consumers,
  keys,
  decisions,
  buckets,
  plans,
  subscriptions,
  customers,
  grants,
  alerts,
  usage,
  events,
  system
}
