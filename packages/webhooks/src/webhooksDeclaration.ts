import type { AccountName, ClientModule, HandleTools } from "@tollgate/core/module"
import { makeWebhooksApi, type WebhooksMethods } from "./WebhooksApi.ts"
import { webhookEvents } from "./webhookEvents.ts"

declare module "@tollgate/core/module" {
  interface EventTypes {
    "webhook.created": true
    "webhook.updated": true
    "webhook.deleted": true
    "webhook.disabled": true
  }
}

/** What webhooks add to the handle of an account. */
export interface WebhooksOfAccount {
  /** Endpoints to which the events of the account are sent. */
  readonly webhooks: WebhooksMethods
}

/** What webhooks declare, for a Tollgate in process and for a client. */
export const webhooksClient = {
  name: "webhooks",
  groups: (eventTypes: ReadonlyArray<string>) => [makeWebhooksApi(eventTypes)],
  events: webhookEvents,
  account: {
    webhooks: ({ methods }: HandleTools, accountName: AccountName) =>
      methods<WebhooksMethods>("webhooks", { accountName })
  }
} satisfies ClientModule as ClientModule<WebhooksOfAccount>
