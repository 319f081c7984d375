/**
 * Limits how many deliveries one process attempts at a time: in all, of one account, and of one webhook. An endpoint that
 * hangs takes only its own slots, so it does not delay the others. Those of an account fit into its slots if all hang.
 */
const maxInAll = 500
const maxPerAccount = 40
/** Of an endpoint that has responded quickly. Such slots are soon free again. */
const maxPerFastWebhook = 10
const maxPerWebhook = 2

const addTo = (counts: Map<string, number>, key: string, amount: number): void => {
  const count = (counts.get(key) ?? 0) + amount
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

export const makeDeliverySlots = () => {
  const [accounts, webhooks] = [new Map<string, number>(), new Map<string, number>()]
  let inAll = 0
  const change = (accountName: string, webhookId: string, amount: number): void => {
    addTo(accounts, accountName, amount)
    addTo(webhooks, webhookId, amount)
    inAll += amount
  }
  return {
    /** How many deliveries of a webhook can start now. */
    countFree: (accountName: string, webhookId: string, isFast: boolean): number => {
      const taken = webhooks.get(webhookId) ?? 0
      return Math.min(
        maxInAll - inAll,
        maxPerAccount - (accounts.get(accountName) ?? 0),
        (isFast ? maxPerFastWebhook : maxPerWebhook) - taken
      )
    },
    take: (accountName: string, webhookId: string): void => change(accountName, webhookId, 1),
    release: (accountName: string, webhookId: string): void => change(accountName, webhookId, -1)
  }
}
