import { defineModule, type Module, Options } from "@tollgate/core/module"
import { Effect, Layer } from "effect"
import { DeliveryWorker } from "./DeliveryWorker.ts"
import { planDeliveries } from "./planDeliveries.ts"
import { resolveWebhookOptions, WebhookConfig, type WebhookOptions, webhookOptions } from "./WebhookConfig.ts"
import { Webhooks } from "./Webhooks.ts"
import { webhookExamples } from "./webhookExamples.ts"
import { webhookLimits } from "./webhookLimits.ts"
import { readWebhooks } from "./webhookRecords.ts"
import { type WebhooksOfAccount, webhooksClient } from "./webhooksDeclaration.ts"

// Here, because declarations of the package refer to this file.
declare module "@tollgate/core/module" {
  interface LimitsShape {
    readonly webhooksPerAccount: number
  }
}

/** Webhooks, as a module: what `webhooks` returns. */
export type WebhooksModule = Module<WebhooksOfAccount, object, Webhooks | DeliveryWorker>

const makeModule = (options: WebhookOptions): WebhooksModule =>
  defineModule({
    ...webhooksClient,
    limits: webhookLimits,
    layer: Layer.provideMerge(
      Layer.merge(Webhooks.layer, DeliveryWorker.layer),
      Layer.succeed(WebhookConfig, resolveWebhookOptions(options))
    ),
    operations: Effect.map(Webhooks, (webhooks) => ({ webhooks })),
    examples: { webhooks: webhookExamples },
    eventSink: Effect.map(DeliveryWorker, ({ deliver }) => ({
      prepare: (accountName: string) =>
        Effect.map(readWebhooks(accountName), (webhooks) => ({
          recordsPerEvent: webhooks.length,
          plan: (events) => planDeliveries(events, webhooks)
        })),
      run: deliver
    })),
    // Deliveries that can be attempted at once, and those that a process attempts.
    work: { newKeys: ["webhook/"], newTerms: ["delivery/new:"], heldTerms: ["delivery/retrying:"] },
    reencrypt: Effect.flatMap(Webhooks, ({ reencrypt }) => reencrypt)
  })

/**
 * Sends the events of accounts to endpoints of tenants.
 *
 * @example
 * ```ts
 * const gate = await createTollgate({ store, secret, modules: [webhooks()] })
 * ```
 */
export const webhooks = (options: WebhookOptions = {}): WebhooksModule =>
  makeModule(Options.decodeSync(webhookOptions, options, "webhooks"))
