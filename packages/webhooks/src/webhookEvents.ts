import type { EventCatalog } from "@tollgate/core/module"
import { Webhook } from "./Webhook.ts"

/** The events of webhooks. */
export const webhookEvents = {
  "webhook.created": { description: "A webhook was created.", data: Webhook },
  "webhook.updated": { description: "A webhook or its secret was changed.", data: Webhook },
  "webhook.deleted": { description: "A webhook was deleted.", data: Webhook },
  "webhook.disabled": { description: "A webhook was disabled, because its endpoint failed.", data: Webhook }
} satisfies EventCatalog
