/**
 * Finds the method of an operation among the handles.
 */
import type { OperationDescription } from "../src/api/describeOperations.ts"

/** The names in the paths of operations that handles know. */
export interface Names {
  readonly accountName: string
  readonly bucketName: string
  readonly bucketId: string
  readonly projectName: string
}

const names: Names = { accountName: "acme", bucketName: "production", bucketId: "bckt_x", projectName: "web" }

/** The method of a customer, with its key as the first argument. */
// biome-ignore lint/suspicious/noExplicitAny: the tests look for methods by name
const getCustomerMethods = (metering: any, name: string, group?: "grants" | "alerts") => ({
  [name]: (customerKey: string, ...args: ReadonlyArray<unknown>) => {
    const customer = metering.customer(customerKey)
    return (group === undefined ? customer : customer[group])[name](...args)
  }
})

/** The handle that has the methods of a group. */
export const getMethods = (
  // biome-ignore lint/suspicious/noExplicitAny: the tests look for methods by name
  gate: any,
  { group, name }: Pick<OperationDescription, "group" | "name">,
  { accountName, bucketName, bucketId, projectName }: Names = names
): Record<string, unknown> => {
  const account = gate.account(accountName)
  const bucket = account.keyBucket(bucketName)
  const metering = account.meteringBucket(bucketId)
  if (name === "verify" || name === "authorize") return bucket
  if (group === "subscriptions" && (name === "quotas" || name === "consume")) return metering.usage
  if (group === "grants" || group === "alerts") return getCustomerMethods(metering, name, group)
  if (group === "customers" && name !== "list") return getCustomerMethods(metering, name)
  return {
    access: gate,
    accounts: gate.accounts,
    keyBuckets: account.keyBuckets,
    search: { find: ({ q } = { q: "only-acme" }) => account.search(q) },
    projects: account.projects,
    consumers: bucket.consumers,
    keys: bucket.keys,
    buckets: account.meteringBuckets,
    plans: metering.plans,
    subscriptions: metering.subscriptions,
    customers: metering.customers,
    usage: metering.usage,
    decisionLog: account.decisions,
    deployments: account.project(projectName).deployments,
    events: account.events,
    portal: account.portal,
    portalSessions: account.portalSessions,
    tokens: account.tokens,
    sessions: account.sessions,
    webhooks: account.webhooks
  }[group] as Record<string, unknown>
}
