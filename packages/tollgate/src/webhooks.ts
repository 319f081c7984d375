/**
 * `tollgate/webhooks`: webhooks, as a module of `createTollgate`.
 */

export { type WebhookOptions, type WebhooksModule, webhooks } from "@tollgate/webhooks"
export * from "@tollgate/webhooks/client"
