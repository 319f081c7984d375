/**
 * `@tollgate/webhooks/client`: webhooks for `createClient`.
 */

export type { DeliveryJson } from "./Delivery.ts"
export type { WebhookJson } from "./Webhook.ts"
export * from "./WebhookError.ts"
export type { WebhooksMethods } from "./WebhooksApi.ts"
export { type WebhooksOfAccount, webhooksClient } from "./webhooksDeclaration.ts"
