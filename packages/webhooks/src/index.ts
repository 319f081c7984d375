/**
 * `@tollgate/webhooks`: webhooks as a module of `createTollgate`, their services, schemas and errors.
 */

export { Delivery, DeliveryId, type DeliveryJson } from "./Delivery.ts"
export { DeliveryWorker } from "./DeliveryWorker.ts"
export {
  makeWebhookInputs,
  Webhook,
  type WebhookCreate,
  WebhookId,
  type WebhookJson,
  type WebhookUpdate,
  WebhookWithSecret
} from "./Webhook.ts"
export { WebhookConfig, type WebhookOptions } from "./WebhookConfig.ts"
export * from "./WebhookError.ts"
export { Webhooks } from "./Webhooks.ts"
export type { WebhooksMethods } from "./WebhooksApi.ts"
export type { WebhooksOfAccount } from "./webhooksDeclaration.ts"
export { type WebhooksModule, webhooks } from "./webhooksModule.ts"
