/** The types of events, by the kind of resource. */
export const eventGroups: Readonly<Record<string, ReadonlyArray<string>>> = {
  consumer: ["created", "updated", "deleted", "key_rolled"],
  key: ["created", "updated", "deleted", "expiring", "revealed"],
  metering_bucket: ["created", "deleted"],
  plan: ["created", "updated", "deleted"],
  subscription: ["created", "updated", "deleted", "status_changed"],
  usage: ["adjusted"],
  alert: ["created", "deleted", "triggered"],
  period: ["closed", "corrected"],
  grant: ["created", "depleted", "expired", "voided"],
  quota: ["threshold_reached"],
  deployment: ["created", "succeeded", "failed", "rolled_back", "promoted", "deleted"],
  token: ["created", "updated", "deleted"],
  webhook: ["created", "updated", "deleted", "disabled"]
}

/** Each group, such as `consumer.*`, with its types after it. */
export const eventPatterns: ReadonlyArray<string> = Object.entries(eventGroups).flatMap(([group, names]) => [
  `${group}.*`,
  ...names.map((name) => `${group}.${name}`)
])
