/** Makes the request body of an active subscription to a plan, with defaults for all other fields. */
export const makeSubscription = <Fields extends object>(planId: string, planExternalId: string, fields: Fields) => ({
  planIds: [planId],
  planExternalIds: [planExternalId],
  status: "active" as const,
  type: "periodic" as const,
  renewalStrategy: "monthly" as const,
  region: "us-east1" as const,
  customerKey: "alice",
  subscriptionExternalId: "s",
  customerExternalId: "c",
  ...fields
})
